// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary::test {

/// All numbers of a group, in the order of its members, for a comparison that Catch2 can print.
inline std::array<std::uint64_t, 16> numbers_of(const TcpAnalysisGroup& group) {
    return {group.retransmitted_octets,
            static_cast<std::uint64_t>(group.duration),
            group.segments,
            group.data_segments,
            group.retransmissions,
            group.duplicates,
            group.out_of_order,
            group.keep_alives,
            group.flow_size,
            group.handshake,
            group.sequence,
            group.window,
            group.zero_windows,
            group.syn,
            group.fin,
            group.rst | std::uint64_t{group.overflow} << 32U};
}

/// A reference for TcpAnalysis in one direction, with every octet and every segment: slow,
/// unbounded, and simple. Sequence numbers become 64 bits wide by their distance to the highest
/// one, so that they never wrap. It does not see the other direction, and thus no handshake.
class TcpReference {
public:
    TcpAnalysisGroup found;

    explicit TcpReference(const FlowCacheOptions& options = {})
        : duplicate_time_(options.tcp_duplicate_time),
          retransmission_time_(options.tcp_retransmission_time) {}

    void pause(std::chrono::nanoseconds silence) {
        if (silence > duplicate_time_) {
            copies_.clear();
        }
        if (silence > retransmission_time_ && retransmission_time_.count() > 0) {
            next_.reset();
        }
    }

    void add(const PacketFields& segment, Timestamp seen_at) {
        count(segment);
        if (!copies_.insert(copied_part(segment)).second) {
            ++found.duplicates;
            return;
        }
        if (has(segment, tcp_flag::kSyn)) {
            add_syn(segment, seen_at);
        }
        add_data(segment);
        if (has(segment, tcp_flag::kFin)) {
            add_fin(segment, seen_at);
        }
    }

private:
    static constexpr std::int64_t kFarthest = std::int64_t{1} << 30;
    using Copied = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t, std::uint16_t,
                              std::uint32_t, std::uint8_t, std::uint16_t>;

    static Copied copied_part(const PacketFields& segment) {
        const TcpSegment& tcp = segment.tcp;
        return {tcp.sequence, tcp.acknowledgement, segment.tcp_control_bits,
                tcp.window,   segment.ip_bytes,    segment.ttl,
                tcp.copy_id};
    }
    static bool has(const PacketFields& segment, int flags) {
        return (segment.tcp_control_bits & flags) != 0;
    }
    /// SYN takes the number before the data.
    static std::uint32_t data_begin(const PacketFields& segment) {
        return segment.tcp.sequence + (has(segment, tcp_flag::kSyn) ? 1 : 0);
    }

    void count(const PacketFields& segment) {
        if (found.segments == 0) {
            found.sequence = segment.tcp.sequence;
            found.window = segment.tcp.window;
        }
        ++found.segments;
        found.data_segments += segment.tcp.payload_bytes > 0 ? 1 : 0;
        const bool is_reset = has(segment, tcp_flag::kRst);
        increase_if(has(segment, tcp_flag::kSyn), found.syn);
        increase_if(has(segment, tcp_flag::kFin), found.fin);
        increase_if(is_reset, found.rst);
        increase_if(segment.tcp.window == 0 && !is_reset, found.zero_windows);
    }
    static void increase_if(bool applies, std::uint16_t& counter) {
        counter = static_cast<std::uint16_t>(std::min(counter + (applies ? 1 : 0), 0xFFFF));
    }

    void add_syn(const PacketFields& segment, Timestamp seen_at) {
        const std::uint32_t sequence = segment.tcp.sequence;
        const bool begins_the_known =
            next_ && sequence + 1 == static_cast<std::uint32_t>(lowest_known_);
        if (syn_sequence_ != sequence && !begins_the_known) {
            know_nothing_before(data_begin(segment));
        }
        syn_sequence_ = sequence;
        syn_time_ = seen_at;
        ++syns_;
        tell_size(segment, seen_at);
    }
    void add_fin(const PacketFields& segment, Timestamp seen_at) {
        ++fins_;
        tell_size(segment, seen_at);
    }
    /// Only with one SYN and one FIN after it.
    void tell_size(const PacketFields& segment, Timestamp seen_at) {
        found.flow_size = TcpAnalysisGroup::kNoSize;
        found.duration = 0;
        if (syns_ == 1 && fins_ == 1 && has(segment, tcp_flag::kFin)) {
            found.flow_size =
                data_begin(segment) + segment.tcp.payload_bytes - syn_sequence_.value() - 1;
            found.duration = (seen_at - syn_time_).count();
        }
    }

    void know_nothing_before(std::uint32_t begin) {
        constexpr std::int64_t kRoomBelow = std::int64_t{1} << 40;
        seen_.clear();
        lowest_known_ = kRoomBelow + begin;
        next_ = lowest_known_;
    }
    void add_data(const PacketFields& segment) {
        const std::uint32_t octets = segment.tcp.payload_bytes;
        if (!next_) {
            know_nothing_before(data_begin(segment));
        }
        std::int64_t from_next =
            static_cast<std::int32_t>(data_begin(segment) - static_cast<std::uint32_t>(*next_));
        if (from_next == -1 && octets <= 1 &&
            !has(segment, tcp_flag::kSyn | tcp_flag::kFin | tcp_flag::kRst | tcp_flag::kPsh)) {
            ++found.keep_alives;
            return;
        }
        if (octets == 0) {
            return;
        }
        if (from_next > kFarthest || from_next < -kFarthest) {
            ++found.overflow;
            know_nothing_before(data_begin(segment));
            from_next = 0;
        }
        see(*next_ + from_next, *next_ + from_next + octets);
    }
    /// Octets `begin` to `end`, at least one.
    void see(std::int64_t begin, std::int64_t end) {
        std::uint32_t repeated = 0;
        for (std::int64_t octet = begin; octet < end; ++octet) {
            repeated += seen_.insert(octet).second ? 0 : 1;
        }
        if (repeated > 0) {
            ++found.retransmissions;
            found.retransmitted_octets += repeated;
        } else if (begin < *next_) {
            ++found.out_of_order;
        }
        lowest_known_ = std::min(lowest_known_, begin);
        next_ = std::max(*next_, end);
    }

    std::chrono::nanoseconds duplicate_time_;
    std::chrono::nanoseconds retransmission_time_;
    std::set<Copied> copies_;
    std::set<std::int64_t> seen_;
    std::optional<std::int64_t> next_;  ///< nullopt: no octet is known
    std::int64_t lowest_known_ = 0;
    std::optional<std::uint32_t> syn_sequence_;
    Timestamp syn_time_{};
    int syns_ = 0;  ///< without duplicates
    int fins_ = 0;
};

}  // namespace tributary::test
