// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/tcp/tcp_sequence.hpp"
#include "flowcache/tcp/tcp_signature.hpp"

namespace tributary {

/// What the analysis keeps of one direction of a running flow: all that an undisturbed connection
/// needs. It lies in the place of group tcp-analysis of the flow's record. Sequence numbers are
/// modulo 2^32. In a compact flow `next` and `recent`, which come first for that, lie elsewhere
/// (CompactTcp).
struct TcpState {
    static constexpr std::uint32_t kNoLossState = (1U << 24U) - 1;

    std::uint32_t next;  ///< behind the highest octet seen
    tcp::RecentSignatures recent;
    std::uint32_t low;  ///< of the octets before it nothing is known
    std::uint32_t segments;
    std::uint32_t data_segments;
    std::uint32_t first_sequence;       ///< of the record
    std::int64_t syn_time_or_duration;  ///< ns since 1970; with `has_size` ns from SYN to FIN
    std::uint32_t syn_or_size;          ///< its sequence number; with `has_size` the octets between
    std::uint32_t handshake;            ///< ns; 0: unknown
    std::uint32_t loss_state : 24;      ///< number of its TcpLossState, or kNoLossState
    std::uint32_t is_known : 1;         ///< `next` and `low` mean something
    std::uint32_t is_low_raised : 1;    ///< octets before `low` were seen, and are forgotten
    std::uint32_t has_syn : 1;          ///< one was seen, in whatever record of the flow
    std::uint32_t has_size : 1;         ///< and a FIN behind it
    std::uint32_t has_handshake : 1;    ///< its step of the last handshake is over, timed or not
    std::uint32_t is_size_invalid : 1;  ///< more than one SYN or FIN, or reported already
    std::uint32_t is_syn_repeated : 1;  ///< the last connection's SYN was sent more than once
    std::uint32_t is_responder : 1;     ///< the last connection's SYN had ACK
    std::uint16_t first_window;         ///< of the record
    std::uint16_t zero_windows;
    std::uint16_t syn;
    std::uint16_t fin;
    std::uint16_t rst;
    std::uint16_t overflow;

    /// Adds octets that follow on those before them. Octets too far back are forgotten, so that
    /// wrapped numbers do not meet them again.
    ///
    /// @return  false: `low` was raised for that
    [[gnu::always_inline]] bool go_on_to(std::uint32_t end) noexcept {
        next = end;
        constexpr auto kFarthest = static_cast<std::uint32_t>(tcp::kFarthest);
        if (next - low <= kFarthest) [[likely]] {
            return true;
        }
        raise_low(next - kFarthest);
        return false;
    }
    void raise_low(std::uint32_t to) noexcept {
        low = to;
        is_low_raised = 1;
    }
};
static_assert(sizeof(TcpState) == sizeof(TcpAnalysisGroup) &&
              std::is_trivially_copyable_v<TcpState>);

}  // namespace tributary
