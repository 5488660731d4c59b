// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/tcp/tcp_loss_state.hpp"
#include "flowcache/tcp/tcp_sequence.hpp"
#include "flowcache/tcp/tcp_state.hpp"
#include "parsers/packet_fields.hpp"

// One record of a direction; a flow has several where the active timeout cuts it. What each segment
// adds, what the record reports, and how the next record begins.
namespace tributary::tcp {

/// A segment that counts as a segment, maybe with data, and as nothing else.
[[nodiscard]] inline bool is_plain(const PacketFields& segment) noexcept {
    return !has(segment, tcp_flag::kSyn | tcp_flag::kFin | tcp_flag::kRst) &&
           segment.tcp.window != 0;
}

/// Stays at the highest number.
inline void increase(std::uint16_t& counter) noexcept {
    if (counter < std::numeric_limits<std::uint16_t>::max()) {
        ++counter;
    }
}

/// Counts what a segment shows by itself.
inline void count(TcpState& state, const PacketFields& segment) noexcept {
    if (state.segments == 0) {
        state.first_sequence = segment.tcp.sequence;
        state.first_window = segment.tcp.window;
    }
    ++state.segments;
    state.data_segments += segment.tcp.payload_bytes > 0 ? 1 : 0;
    if (is_plain(segment)) [[likely]] {
        return;
    }
    if (has(segment, tcp_flag::kSyn)) {
        increase(state.syn);
    }
    if (has(segment, tcp_flag::kFin)) {
        increase(state.fin);
    }
    if (has(segment, tcp_flag::kRst)) {
        increase(state.rst);
    } else if (segment.tcp.window == 0) {
        increase(state.zero_windows);
    }
}

/// @param loss_state  the direction's; nullptr: it has none
[[nodiscard]] inline TcpAnalysisGroup report(const TcpState& state,
                                             const TcpLossState* loss_state) noexcept {
    TcpAnalysisGroup group{.segments = state.segments,
                           .data_segments = state.data_segments,
                           .handshake = state.handshake,
                           .sequence = state.first_sequence,
                           .window = state.first_window,
                           .zero_windows = state.zero_windows,
                           .syn = state.syn,
                           .fin = state.fin,
                           .rst = state.rst,
                           .overflow = state.overflow};
    if (state.has_size != 0 && state.is_size_invalid == 0) {
        group.flow_size = state.syn_or_size;
        group.duration = state.syn_time_or_duration;
    }
    if (loss_state != nullptr) {
        group.retransmitted_octets = loss_state->retransmitted_octets;
        group.retransmissions = loss_state->retransmissions;
        group.duplicates = loss_state->duplicates;
        group.out_of_order = loss_state->out_of_order;
        group.keep_alives = loss_state->keep_alives;
    }
    return group;
}

/// @param loss_state  the direction's; nullptr: it has none
inline void begin_next_record(TcpState& state, TcpLossState* loss_state) noexcept {
    state.segments = 0;
    state.data_segments = 0;
    state.handshake = 0;
    state.first_sequence = 0;
    state.first_window = 0;
    state.zero_windows = 0;
    state.syn = 0;
    state.fin = 0;
    state.rst = 0;
    state.overflow = 0;
    state.is_size_invalid |= state.has_size;  // it was reported once
    if (loss_state != nullptr) {
        loss_state->retransmitted_octets = 0;
        loss_state->retransmissions = 0;
        loss_state->duplicates = 0;
        loss_state->out_of_order = 0;
        loss_state->keep_alives = 0;
    }
}

}  // namespace tributary::tcp
