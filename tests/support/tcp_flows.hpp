// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include "flowcache/tcp/tcp_analysis.hpp"
#include "flowcache/tcp/tcp_connection.hpp"

namespace tributary::test {

inline constexpr int kAck = tcp_flag::kAck;
inline constexpr int kPushAck = tcp_flag::kAck | tcp_flag::kPsh;
inline constexpr int kSyn = tcp_flag::kSyn;
inline constexpr int kFin = tcp_flag::kFin;
inline constexpr std::uint32_t kNoSize = TcpAnalysisGroup::kNoSize;

/// The anomalies of a direction.
struct Found {
    std::uint32_t retransmissions = 0;
    std::uint64_t octets = 0;
    std::uint32_t out_of_order = 0;
    std::uint32_t duplicates = 0;
    std::uint32_t keep_alives = 0;
    std::uint32_t overflow = 0;
    friend bool operator==(const Found&, const Found&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Found& found) {
        return out << "retransmissions " << found.retransmissions << " of " << found.octets
                   << " octets, out of order " << found.out_of_order << ", duplicates "
                   << found.duplicates << ", keep-alives " << found.keep_alives << ", overflow "
                   << found.overflow;
    }
};

/// An analysis of flows with one direction each, unless a test pairs them.
class Flows {
public:
    CacheCounters counters;

    explicit Flows(std::size_t loss_states = 1, const FlowCacheOptions& options = {})
        : memory_(loss_states), analysis_(options, memory_, counters) {
        for (TcpState& state : states_) {
            TcpAnalysis::begin(state);
        }
    }

    /// A unique segment.
    PacketFields segment(std::uint32_t sequence, std::uint32_t acknowledgement, int flags,
                         std::uint32_t octets = 0) {
        PacketFields made{.protocol = ip_protocol::kTcp,
                          .ip_version = 4,
                          .ip_bytes = 40 + octets,
                          .tcp_control_bits = static_cast<std::uint16_t>(flags),
                          .ttl = 60,
                          .has_tcp_segment = true};
        made.tcp = {.sequence = sequence,
                    .acknowledgement = acknowledgement,
                    .payload_bytes = octets,
                    .window = 500,
                    .copy_id = ++identification_};
        return made;
    }
    /// Adds a segment, a millisecond after the one before.
    PacketFields add(std::uint32_t sequence, std::uint32_t octets, int flags = kAck) {
        const PacketFields added = segment(sequence, 7, flags, octets);
        add(added);
        return added;
    }
    void add(const PacketFields& segment) {
        now_ += std::chrono::milliseconds{1};
        analysis_.add(state(), segment, now_);
    }
    /// A segment of the chosen flow that may answer a SYN of the other flow.
    void answer(std::size_t other, const PacketFields& segment) {
        add(segment);
        tcp::add_answer(state(), states_[other], segment, now_);
    }
    void choose(std::size_t flow) { chosen_ = flow; }
    void wait(std::chrono::nanoseconds silence) {
        now_ += silence;
        analysis_.pause(state(), silence);
    }
    void begin_next_record() { analysis_.begin_next_record(state()); }
    void renew() {
        analysis_.end(state());
        TcpAnalysis::begin(state());
    }

    [[nodiscard]] TcpAnalysisGroup told() const { return analysis_.report(states_[chosen_]); }
    [[nodiscard]] Found found() const {
        const TcpAnalysisGroup group = told();
        return {group.retransmissions, group.retransmitted_octets, group.out_of_order,
                group.duplicates,      group.keep_alives,          group.overflow};
    }

private:
    TcpState& state() { return states_[chosen_]; }

    std::vector<TcpLossState> memory_;
    TcpAnalysis analysis_;
    std::array<TcpState, 4> states_{};
    std::size_t chosen_ = 0;
    std::uint16_t identification_ = 0;
    Timestamp now_{std::chrono::seconds{1000}};
};

/// Segments of 100 octets with holes of 10 between them; the first segment is 100 after `first`.
inline void leave_holes(Flows& flows, std::uint32_t holes, std::uint32_t first = 1000) {
    flows.add(first, 100);
    for (std::uint32_t hole = 1; hole <= holes; ++hole) {
        flows.add(first + 110 * hole, 100);
    }
}

}  // namespace tributary::test
