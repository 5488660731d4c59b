// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/flow_record.hpp"
#include "flowcache/tcp_state.hpp"
#include "flowcache/tcp_troubles.hpp"

// One record of a direction, of several where the active timeout cuts: what it tells, and how the
// next one begins.
namespace tributary::tcp {

/// @param trouble  the direction's; nullptr: it has none
[[nodiscard]] inline TcpAnalysisGroup told(const TcpState& state,
                                           const TcpTrouble* trouble) noexcept {
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
    if (trouble != nullptr) {
        group.retransmitted_octets = trouble->retransmitted_octets;
        group.retransmissions = trouble->retransmissions;
        group.duplicates = trouble->duplicates;
        group.out_of_order = trouble->out_of_order;
        group.keep_alives = trouble->keep_alives;
    }
    return group;
}

/// @param trouble  the direction's; nullptr: it has none
inline void begin_slice(TcpState& state, TcpTrouble* trouble) noexcept {
    state.segments = 0;
    state.data_segments = 0;
    state.handshake = 0;
    state.zero_windows = 0;
    state.syn = 0;
    state.fin = 0;
    state.rst = 0;
    state.overflow = 0;
    state.is_size_invalid |= state.has_size;  // it was told once
    if (trouble != nullptr) {
        trouble->retransmitted_octets = 0;
        trouble->retransmissions = 0;
        trouble->duplicates = 0;
        trouble->out_of_order = 0;
        trouble->keep_alives = 0;
    }
}

}  // namespace tributary::tcp
