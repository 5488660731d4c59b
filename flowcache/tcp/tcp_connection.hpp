// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "flowcache/tcp/tcp_sequence.hpp"
#include "flowcache/tcp/tcp_state.hpp"
#include "parsers/packet_fields.hpp"

// What SYN, its answer and FIN show of a connection: its size, its duration, and the times of its
// handshake.
namespace tributary::tcp {

[[nodiscard]] inline std::int64_t nanoseconds(Timestamp time) noexcept {
    return time.time_since_epoch().count();
}

/// A SYN that is no duplicate, once count() has counted it.
///
/// @param repeats  it has the number of the SYN before it; otherwise a connection begins
inline void add_syn(TcpState& state, const PacketFields& segment, bool repeats,
                    Timestamp seen_at) noexcept {
    state.is_syn_repeated = repeats ? 1 : 0;
    if (!repeats) {
        state.has_handshake = 0;
    }
    state.is_responder = has(segment, tcp_flag::kAck) ? 1 : 0;
    const bool is_first_of_record =
        state.syn == 1 && state.fin == (has(segment, tcp_flag::kFin) ? 1 : 0);
    state.is_size_invalid = repeats || !is_first_of_record ? 1 : 0;
    state.has_syn = 1;
    state.has_size = 0;
    state.syn_or_size = segment.tcp.sequence;
    state.syn_time_or_duration = nanoseconds(seen_at);
}

/// A FIN that is no duplicate.
inline void add_fin(TcpState& state, const PacketFields& segment, Timestamp seen_at) noexcept {
    if (state.has_size != 0 || state.has_syn == 0) {
        state.is_size_invalid = 1;
        return;
    }
    state.has_size = 1;
    state.syn_or_size = data_of(segment).end - state.syn_or_size - 1;
    // A capture's times may run backwards.
    state.syn_time_or_duration =
        std::max<std::int64_t>(nanoseconds(seen_at) - state.syn_time_or_duration, 0);
}

/// A segment of a biflow's direction, once added, may answer the other direction's SYN: the
/// responder's with SYN and ACK, the initiator's first one without SYN. A SYN that was sent twice
/// is not timed: the answer may be to either.
///
/// @source  RFC 6298 §3 (Karn)
inline void add_answer(TcpState& state, const TcpState& other, const PacketFields& segment,
                       Timestamp seen_at) noexcept {
    if (state.has_handshake != 0 || state.has_syn == 0) [[likely]] {
        return;
    }
    const bool has_syn = has(segment, tcp_flag::kSyn);
    if (!has(segment, tcp_flag::kAck) || has(segment, tcp_flag::kRst) ||
        has_syn != (state.is_responder != 0)) {
        return;
    }
    if (other.has_syn == 0) {
        state.has_handshake = 1;  // it overtook what it answers; what comes later is no answer
        return;
    }
    const bool is_timed =
        other.has_size == 0 && other.is_syn_repeated == 0 && state.is_syn_repeated == 0;
    const std::uint32_t begin = other.syn_or_size + 1;  // what is acknowledged lies behind it
    const std::uint32_t acknowledged = segment.tcp.acknowledgement - begin;
    if (!is_timed || acknowledged > other.next - begin) {
        return;
    }
    state.has_handshake = 1;
    const std::int64_t time = nanoseconds(seen_at) - other.syn_time_or_duration;
    if (time > 0 && time <= std::numeric_limits<std::uint32_t>::max()) {
        state.handshake = static_cast<std::uint32_t>(time);
    }
}

}  // namespace tributary::tcp
