// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flowcache/tcp/tcp_analysis.hpp"
#include "flowcache/tcp/tcp_connection.hpp"

// Input: a byte, then segments of eight bytes. Bit 0 of the first: whether there is a loss state to
// be had; bit 1: numbers may be anything, and what holds of each state is checked; otherwise all
// data lies within 2^16 octets, and what is told is compared with a memory of each octet.
namespace tributary {

namespace {

void demand(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// One direction whose analysis can be looked at.
class Direction {
public:
    explicit Direction(bool has_loss_state) : loss_states_(has_loss_state ? 1 : 0) {
        TcpAnalysis::begin(state_);
    }

    void add(const PacketFields& segment, Timestamp seen_at) {
        analysis_.add(state_, segment, seen_at);
        tcp::add_answer(state_, other_, segment, seen_at);
        octets_ += segment.tcp.payload_bytes;
        check();
    }
    void pause(std::chrono::nanoseconds silence) {
        analysis_.pause(state_, silence);
        check();
    }
    void begin_next_record() {
        analysis_.begin_next_record(state_);
        octets_ = 0;
        check();
    }
    /// Another flow's direction begins.
    void renew() {
        analysis_.end(state_);
        TcpAnalysis::begin(state_);
        octets_ = 0;
    }
    void change_sides() {
        std::swap(state_, other_);
        std::swap(octets_, other_octets_);
    }
    [[nodiscard]] TcpAnalysisGroup told() const { return analysis_.report(state_); }
    [[nodiscard]] const TcpState& state() const { return state_; }

private:
    void check() const {
        const TcpAnalysisGroup told = this->told();
        const std::uint64_t judged = std::uint64_t{told.retransmissions} + told.duplicates +
                                     told.out_of_order + told.keep_alives;
        demand(judged <= told.segments && told.overflow <= told.segments);
        demand(told.data_segments <= told.segments);
        demand(told.retransmitted_octets <= octets_);
        if (state_.is_known != 0) {
            demand(tcp::ahead(state_.low, state_.next) >= 0);
            demand(tcp::ahead(state_.low, state_.next) <= tcp::kFarthest);
        }
        if (state_.loss_state != TcpState::kNoLossState) {
            demand(state_.loss_state < loss_states_.size());
            check_holes(loss_states_[state_.loss_state]);
        }
    }
    void check_holes(const TcpLossState& loss_state) const {
        demand(loss_state.hole_count <= TcpLossState::kHoles);
        demand(loss_state.next_recent < TcpLossState::kRecent);
        demand(loss_state.hole_count == 0 || state_.is_known != 0);
        std::uint32_t behind = state_.low;
        for (const tcp::Range& hole : std::span(loss_state.holes).first(loss_state.hole_count)) {
            demand(tcp::ahead(behind, hole.begin) >= 0 && tcp::ahead(hole.begin, hole.end) > 0);
            behind = hole.end;
        }
        demand(tcp::ahead(behind, state_.next) >= 0);
    }

    TcpState state_{};
    TcpState other_ = begun();
    std::uint64_t octets_ = 0;  ///< of the record
    std::uint64_t other_octets_ = 0;
    std::vector<TcpLossState> loss_states_;
    CacheCounters counters_;
    TcpAnalysis analysis_{FlowCacheOptions{}, loss_states_, counters_};

    static TcpState begun() {
        TcpState state{};
        TcpAnalysis::begin(state);
        return state;
    }
};

std::uint32_t number(std::span<const std::byte> bytes) {
    std::uint32_t value = 0;
    for (const std::byte byte : bytes) {
        value = value << 8U | std::to_integer<std::uint32_t>(byte);
    }
    return value;
}

/// Segments of any kind, silences, slices and ends.
void check_any(Direction& direction, std::span<const std::byte> input) {
    Timestamp now{std::chrono::seconds{1000}};
    for (; input.size() >= 8; input = input.subspan(8)) {
        PacketFields segment{.protocol = ip_protocol::kTcp, .ip_version = 4};
        segment.has_tcp_segment = true;
        segment.tcp_control_bits = static_cast<std::uint16_t>(number(input.subspan(1, 1)) & 0x1FU);
        segment.tcp = {.sequence = number(input.subspan(2, 4)),
                       .acknowledgement = number(input.subspan(2, 4)) + 1,
                       .payload_bytes = number(input.subspan(6, 2)),
                       .window = 1,
                       .copy_id = static_cast<std::uint16_t>(number(input.first(1)) >> 4U)};
        if ((segment.tcp_control_bits & tcp_flag::kPsh) != 0) {
            segment.tcp.payload_bytes <<= 14U;
        }
        switch (number(input.first(1)) & 0xFU) {
            case 0:
                direction.begin_next_record();
                break;
            case 1:
                direction.renew();
                break;
            case 2:
                direction.pause(std::chrono::milliseconds{segment.tcp.payload_bytes});
                break;
            case 3:
                direction.change_sides();
                break;
            default:
                break;
        }
        now += std::chrono::milliseconds{1};
        direction.add(segment, now);
    }
}

/// What has been seen, octet by octet.
struct Memory {
    std::bitset<0x2'0000> seen{};
    std::uint64_t retransmissions{};
    std::uint64_t retransmitted_octets{};
    std::uint64_t out_of_order{};

    /// Data that is no copy and no probe.
    void add(std::uint32_t begin, std::uint32_t octets, bool is_behind) {
        std::uint32_t repeated = 0;
        for (std::uint32_t at = begin; at < begin + octets; ++at) {
            repeated += seen[at] ? 1 : 0;
            seen[at] = true;
        }
        retransmissions += repeated > 0 ? 1 : 0;
        retransmitted_octets += repeated;
        out_of_order += repeated == 0 && is_behind ? 1 : 0;
    }
};

/// Data of one connection, none of which is a copy: what is told is what a memory of each octet
/// says, or less where some was not judged.
void check_by_memory(Direction& direction, std::span<const std::byte> input) {
    constexpr std::uint32_t kBase = 0xFFFF'8000;  // numbers wrap
    const auto memory = std::make_unique<Memory>();
    const Timestamp now{std::chrono::seconds{1000}};
    std::uint16_t id = 0;
    for (; input.size() >= 8 && id < 60'000; input = input.subspan(8)) {
        const std::uint32_t begin = number(input.first(2));
        const std::uint32_t octets = number(input.subspan(2, 2)) & 0x3FFFU;
        PacketFields segment{.ip_version = 4, .ip_bytes = 40 + octets};
        segment.has_tcp_segment = true;
        segment.protocol = ip_protocol::kTcp;
        segment.tcp_control_bits = tcp_flag::kAck | tcp_flag::kPsh;  // no probe
        segment.tcp = {.sequence = kBase + begin,
                       .acknowledgement = 1,
                       .payload_bytes = octets,
                       .window = 1,
                       .copy_id = ++id};
        const bool is_known = direction.state().is_known != 0;
        const bool is_behind =
            is_known && tcp::ahead(direction.state().next, segment.tcp.sequence) < 0;
        memory->add(begin, octets, is_behind && octets > 0);
        direction.add(segment, now);
    }
    const TcpAnalysisGroup told = direction.told();
    demand(told.duplicates == 0 && told.keep_alives == 0);
    demand(told.retransmissions <= memory->retransmissions);
    demand(told.retransmitted_octets <= memory->retransmitted_octets);
    if (told.overflow == 0) {
        demand(told.retransmissions == memory->retransmissions);
        demand(told.retransmitted_octets == memory->retransmitted_octets);
        demand(told.out_of_order == memory->out_of_order);
    }
}

}  // namespace

}  // namespace tributary

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        const auto input = std::as_bytes(std::span(data, size));
        const auto how = std::to_integer<unsigned>(input[0]);
        tributary::Direction direction((how & 1U) != 0);
        if ((how & 2U) != 0) {
            tributary::check_any(direction, input.subspan(1));
        } else {
            tributary::check_by_memory(direction, input.subspan(1));
        }
    }
    return 0;
}
