// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/input/unified_streams.hpp"
#include "flowcache/input/worker_share.hpp"
#include "parsers/packet.hpp"
#include "parsers/unified_header.hpp"

namespace tributary {

/// A queue's clock, made of the times in records. A clock that moves on while no packet comes has
/// begin_burst() and end_empty_burst() too.
template <class C>
concept RecordClock = requires(C clock, std::span<PacketView> packets) {
    { clock.stamp(packets) } noexcept -> std::same_as<PacketMask>;  // as PacketTimes does
    { clock.now() } noexcept -> std::same_as<Timestamp>;
};

/// The input path of unified headers. Each frame of the source holds many records; a burst of
/// frames is kept until its last record is read. A refused frame counts as one packet, ignored by
/// name.
///
/// Packets have the times of their records. Values that a record lacks are absent in their fields,
/// and they have no captured bytes.
template <PacketSource Source, RecordClock Clock>
class UnifiedHeaderReader final : public PacketReader {
public:
    /// @param source  outlives the reader; yields every frame to every worker
    /// @param share   of the packets that this reader hands on
    /// @param clock   what the clock is made of
    template <class... ClockArguments>
    explicit UnifiedHeaderReader(Source& source, WorkerShare share,
                                 const ClockArguments&... clock) noexcept
        : source_(source), clock_(clock...), share_(share) {}

    /// At most kBurstPackets packets, of at most one burst of frames. Its FrameBurst has these
    /// packets, without octets. A frame that is refused is in none.
    [[nodiscard]] ParsedBurst read_burst(KeyedBurst& keyed) noexcept override {
        if (!is_holding_) {
            source_burst_ = source_.receive();
            is_holding_ = true;
            frames_ = source_burst_.frames;
            if constexpr (kMovesOn) {
                clock_.begin_burst(source_burst_.now);
            }
        }
        Tally tally;
        while (tally.packets < kBurstPackets && (records_left_ > 0 || go_to_next_frame(tally))) {
            read_records(tally);
        }
        if constexpr (kMovesOn) {
            if (!tally.has_records) {
                clock_.end_empty_burst();
            }
        }
        ParsedBurst parsed{.burst = {.frames = std::span(packets_).first(tally.packets),
                                     .now = clock_.now(),
                                     .not_sampled = tally.not_sampled,
                                     .ignored = tally.ignored,
                                     .numbers = share_.is_numbered ? numbers_.data() : nullptr,
                                     .next_number = next_number_},
                           .packets = {},
                           .received = tally.received};
        add_metered(parsed.burst, keyed);
        parsed.packets = keyed.finish();
        counters_.received.add(tally.received);
        return parsed;
    }
    void release(const FrameBurst& /*burst*/) noexcept override {
        if (is_holding_ && !has_more()) {
            source_.release(source_burst_);
            is_holding_ = false;
        }
    }
    [[nodiscard]] bool has_octets() const noexcept override { return false; }
    [[nodiscard]] bool holds_packets() const noexcept override { return has_more(); }
    [[nodiscard]] bool ended() const noexcept override {
        if constexpr (requires { source_.exhausted(); }) {
            return !has_more() && source_.exhausted();
        } else {
            return false;
        }
    }

private:
    static constexpr bool kMovesOn = requires(Clock clock, Timestamp time) {
        clock.begin_burst(time);
        clock.end_empty_burst();
    };

    /// The counts of one read_burst().
    struct Tally {
        std::size_t packets = 0;  ///< in the burst
        std::size_t received = 0;
        PacketMask ignored = 0;
        PacketMask not_sampled = 0;
        bool has_records = false;
    };

    void add_metered(FrameBurst& burst, KeyedBurst& keyed) noexcept {
        const PacketMask all = mask_of_all(burst.frames);
        burst.metered = all & ~(burst.ignored | burst.not_sampled);
        keyed.clear();
        if (burst.metered == all) [[likely]] {
            for (std::size_t i = 0; i < burst.frames.size(); ++i) {
                keyed.add(packets_[i], fields_[i]);
            }
            return;
        }
        for (PacketMask left = burst.metered; left != 0; left &= left - 1) {
            const auto next = static_cast<std::size_t>(std::countr_zero(left));
            keyed.add(packets_[next], fields_[next]);
        }
    }

    [[nodiscard]] bool has_more() const noexcept { return records_left_ > 0 || !frames_.empty(); }

    /// Goes to the next frame that has records; those before it are refused.
    /// @return  false at the end of the burst
    [[nodiscard]] bool go_to_next_frame(Tally& tally) noexcept {
        while (!frames_.empty()) {
            const PacketView& frame = frames_.front();
            frames_ = frames_.subspan(1);
            UnifiedFrame header;
            const ParseStatus status = frame.link_type == LinkType::ethernet
                                           ? read_unified_frame(frame.captured, header)
                                           : ParseStatus::unknown_link_type;
            if (status == ParseStatus::ok) {
                record_ = frame.captured.data() + unified_header::frame_at::kFirstRecord;
                records_left_ = header.records;
                record_bytes_ = header.record_bytes();
                follow(header);
                return true;
            }
            if (share_.has_packets_without_flow()) {
                ++tally.received;
                counters_.count_ignored(status, frame.wire_bytes);
            }
        }
        return false;
    }

    void follow(const UnifiedFrame& frame) noexcept {
        const UnifiedStreams::Gap gap = streams_.follow(frame);
        if (share_.has_packets_without_flow()) {  // only once, by worker 0
            counters_.unified_headers_missing.add(gap.missing);
            counters_.unified_headers_untracked.add(gap.tracked ? 0 : frame.records);
        }
    }

    /// Reads records until the frame ends or the burst is full: all fields, then all times, then
    /// the records that are not plain.
    void read_records(Tally& tally) noexcept {
        const std::size_t first = tally.packets;
        const std::size_t count = std::min(records_left_, kBurstPackets - first);
        PacketMask plain = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::byte* const record = record_ + i * record_bytes_;
            plain |=
                PacketMask{read_unified_header(record, fields_[first + i], packets_[first + i])}
                << i;
            if (record_bytes_ != unified_header::kRecordBytes) {
                read_unified_segment(record + unified_header::kRecordBytes, fields_[first + i]);
            }
        }
        // Every record moves the clock, also one of another worker.
        const auto read = std::span(packets_).subspan(first, count);
        const PacketMask bad = clock_.stamp(read);
        if (plain == mask_of_all(read) && bad == 0 && share_.is_everything()) [[likely]] {
            tally.received += count;
            tally.packets += count;
        } else if (share_.is_numbered) {
            sort_out<true>(count, bad, tally);
        } else {
            sort_out<false>(count, bad, tally);
        }
        next_number_ += count;
        tally.has_records = true;
        record_ += count * record_bytes_;
        records_left_ -= count;
    }

    /// Keeps of the last `count` records those that are for this reader, and counts what they are.
    template <bool kIsNumbered>
    void sort_out(std::size_t count, PacketMask bad, Tally& tally) noexcept {
        const std::size_t first = tally.packets;
        for (std::size_t i = 0; i < count; ++i, bad >>= 1U) {
            const PacketFields& fields = fields_[first + i];
            const ParseStatus status = status_of_unified_header(record_ + i * record_bytes_);
            if (!is_ours(status, fields)) {
                continue;
            }
            ++tally.received;
            counters_.bad_timestamp.add(bad & 1U);
            if (status == ParseStatus::ok) {
                count_cut(fields.cut_header);
            } else {
                counters_.count_ignored(status, packets_[first + i].wire_bytes);
                (status == ParseStatus::not_sampled ? tally.not_sampled : tally.ignored) |=
                    mask_of(tally.packets);
            }
            fields_[tally.packets] = fields;
            packets_[tally.packets] = packets_[first + i];
            if constexpr (kIsNumbered) {
                numbers_[tally.packets] = next_number_ + i;
            }
            ++tally.packets;
        }
    }

    [[nodiscard]] bool is_ours(ParseStatus status, const PacketFields& fields) const noexcept {
        return status == ParseStatus::ok ? share_.has(fields) : share_.has_packets_without_flow();
    }
    void count_cut(CutHeader header) noexcept {
        if (header != CutHeader::none) {
            counters_.cut_headers[static_cast<std::size_t>(header)].add();
        }
    }

    Source& source_;
    Clock clock_;
    WorkerShare share_;
    UnifiedStreams streams_;
    bool is_holding_ = false;             ///< whether a burst of the source is not given back yet
    FrameBurst source_burst_;             ///< that burst
    std::span<const PacketView> frames_;  ///< of that burst, those not begun
    const std::byte* record_ = nullptr;   ///< the next one of the frame that was begun
    std::size_t records_left_ = 0;        ///< in that frame
    std::size_t record_bytes_ = unified_header::kRecordBytes;  ///< of that frame's version
    std::uint64_t next_number_ = 0;  ///< records read so far, of all workers
    std::array<PacketView, kBurstPackets> packets_;
    std::array<PacketFields, kBurstPackets> fields_;
    std::array<std::uint64_t, kBurstPackets> numbers_;  ///< of packets_, with `is_numbered`
};

}  // namespace tributary
