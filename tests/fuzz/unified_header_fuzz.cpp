// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "parsers/unified_header.hpp"
#include "tests/support/cache_harness.hpp"

// Input: a byte, then frames, each behind two bytes that say how many octets it has (big-endian),
// for the whole path (byte 1), or for three workers that share it (2). Behind any other byte one
// frame follows: that is fast, and the sanitizers see each byte read behind it.
namespace tributary {

namespace {

void demand(bool holds) {
    if (!holds) {
        std::abort();
    }
}

class Frames {
public:
    explicit Frames(std::span<const std::byte> input) {
        while (input.size() >= 2 && views_.size() < kBurstPackets) {
            const std::size_t asked = std::to_integer<std::size_t>(input[0]) << 8U |
                                      std::to_integer<std::size_t>(input[1]);
            const auto frame = input.subspan(2, std::min(asked, input.size() - 2));
            input = input.subspan(2 + frame.size());
            views_.push_back({.captured = frame});
        }
    }

    [[nodiscard]] FrameBurst receive() noexcept {
        demand(!is_out_);
        is_out_ = true;
        return std::exchange(is_given_, true) ? FrameBurst{}
                                              : FrameBurst{.frames = views_, .now = {}};
    }
    void release(const FrameBurst& /*burst*/) noexcept {
        demand(is_out_);
        is_out_ = false;
    }
    [[nodiscard]] bool exhausted() const noexcept { return is_given_; }
    [[nodiscard]] std::span<const PacketView> views() const noexcept { return views_; }

private:
    std::vector<PacketView> views_;
    bool is_given_ = false;
    bool is_out_ = false;
};

/// Packets that the input path has to count: the records of good frames, and each bad frame.
std::uint64_t packets_in(const Frames& frames) {
    return std::accumulate(frames.views().begin(), frames.views().end(), std::uint64_t{0},
                           [](std::uint64_t sum, const PacketView& frame) {
                               UnifiedFrame header;
                               const bool is_good =
                                   read_unified_frame(frame.captured, header) == ParseStatus::ok;
                               return sum + (is_good ? header.records : 1);
                           });
}

void check_packet(const PacketView& packet, const PacketFields& fields) {
    demand(fields.ip_version == 4 || fields.ip_version == 6);
    demand(fields.tcp_control_bits < 0x1000 && fields.outer_vlan.value < 0x1000);
    demand(fields.vlan_tags <= 1 && fields.customer_vlan == VlanId{});
    demand(static_cast<std::size_t>(fields.cut_header) < kCutHeaderCount);
    demand(fields.mac_addresses == nullptr && fields.mpls_stack == nullptr);
    demand(fields.tunnel == TunnelFields{} && fields.mpls_labels == 0);

    // What was read is written again as it was read.
    std::array<std::byte, unified_header::kRecordBytes> record{};
    write_unified_header(packet, ParseStatus::ok, fields, record.data());
    PacketFields again;
    PacketView packet_again;
    const bool is_plain = read_unified_header(record.data(), again, packet_again);
    demand(is_plain == (fields.cut_header == CutHeader::none));
    again.has_tcp_segment = fields.has_tcp_segment;  // stands behind the record, in version 2
    again.tcp = fields.tcp;
    demand(again == fields && packet_again.seen_at == packet.seen_at);
}

/// What was read is written again as it was read.
void check_segment(const std::byte* segment, PacketFields& fields) {
    read_unified_segment(segment, fields);
    std::array<std::byte, unified_header::kSegmentBytes> written{};
    write_unified_segment(ParseStatus::ok, fields, written.data());
    PacketFields again = fields;
    read_unified_segment(written.data(), again);
    demand(again.has_tcp_segment == fields.has_tcp_segment);
    demand(!again.has_tcp_segment || again.tcp == fields.tcp);
}

void check_frame(std::span<const std::byte> frame) {
    UnifiedFrame header;
    const ParseStatus status = read_unified_frame(frame, header);
    if (status != ParseStatus::ok) {
        demand(status == ParseStatus::not_unified_header ||
               status == ParseStatus::bad_unified_header_version ||
               status == ParseStatus::bad_unified_header_length);
        return;
    }
    demand(header.records > 0);
    for (std::size_t i = 0; i < header.records; ++i) {
        const std::byte* const record =
            frame.data() + unified_header::frame_at::kFirstRecord + i * header.record_bytes();
        PacketFields fields;
        PacketView packet;
        const bool is_plain = read_unified_header(record, fields, packet);
        const ParseStatus told = status_of_unified_header(record);
        demand(static_cast<std::size_t>(told) < kParseStatusCount);
        demand(!is_plain || told == ParseStatus::ok);
        if (told == ParseStatus::ok) {
            check_packet(packet, fields);
        }
        if (header.has_segments) {
            check_segment(record + unified_header::kRecordBytes, fields);
        }
    }
}

/// Everything that one worker of a run makes of the input.
/// @return  packets that it received
std::uint64_t run(std::span<const std::byte> input, WorkerShare share) {
    Frames frames(input);
    UnifiedHeaderReader<Frames, PacketTimes> path(frames, share);
    std::uint64_t metered = 0;
    Timestamp now = kFirstTimestamp;
    while (!path.ended()) {
        const ParsedBurst burst = path.read_burst(test::burst_of_no_use());
        const FrameBurst& all = burst.burst;
        demand(all.frames.size() <= kBurstPackets && all.frames.size() <= burst.received);
        demand((all.ignored ^ all.not_sampled ^ all.metered) == mask_of_all(all.frames));
        demand((all.ignored & all.not_sampled) == 0 && all.filtered == 0);
        demand(static_cast<std::size_t>(std::popcount(all.metered)) == burst.packets.size());
        demand(burst.burst.now >= now);
        now = burst.burst.now;
        for (const KeyedPacket& packet : burst.packets) {
            demand(PacketTimes().is_good(packet.packet->seen_at));
            demand(packet.packet->clock >= packet.packet->seen_at);
            demand((all.metered >> all.index_of(*packet.packet) & 1U) == 1);
            demand(packet.packet->captured.empty());
            check_packet(*packet.packet, *packet.fields);
        }
        metered += burst.packets.size();
        path.release(burst.burst);
    }
    const InputCounters& counters = path.counters();
    const std::uint64_t ignored =
        std::accumulate(counters.ignored.begin(), counters.ignored.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const Counter& c) { return sum + c.read(); });
    demand(counters.ignored[0].read() == 0);
    demand(counters.received.read() == metered + ignored);
    return counters.received.read();
}

void check_workers(std::span<const std::byte> input) {
    std::uint64_t sum = 0;
    for (std::uint16_t worker = 0; worker < 3; ++worker) {
        sum += run(input, {.worker = worker, .workers = 3});
    }
    demand(sum == packets_in(Frames(input)));
}

void check(std::span<const std::byte> input) {
    const auto rest = input.subspan(1);
    switch (std::to_integer<int>(input[0])) {
        case 1:
            demand(run(rest, {}) == packets_in(Frames(rest)));
            return;
        case 2:
            check_workers(rest);
            return;
        default:
            check_frame(rest);
    }
}

}  // namespace

}  // namespace tributary

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        tributary::check(std::as_bytes(std::span(data, size)));
    }
    return 0;
}
