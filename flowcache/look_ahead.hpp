// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/compact_tcp.hpp"
#include "flowcache/flow_line.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/prefetch.hpp"
#include "flowcache/tcp/tcp_state.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Asks for what a burst's later packets will touch: their entries' lines, which KeyedBurst has
/// asked for as far as the second-level cache; where TCP is analysed, TcpStates of flows that are
/// not compact, or will be expanded because they were silent, and then their troubles. Lines and
/// troubles of a burst's first four are not asked for. Guesses may be wrong, and troubles too.
///
/// @tparam Meter  FlowMeter
template <class Meter>
class LookAhead {
public:
    /// @param meter    outlives this
    /// @param packets  of the burst
    LookAhead(const Meter& meter, std::span<const KeyedPacket> packets) noexcept : meter_(meter) {
        if (meter.has_analysis()) {
            for (std::size_t i = 0; i < kState; ++i) {  // as many notes for a shorter burst
                note(i < packets.size() && prefetch_state(packets[i]));
            }
        }
    }

    /// @param packets  those that are not added yet, one fewer each time
    [[gnu::always_inline]] void step(std::span<const KeyedPacket> packets) noexcept {
        if (packets.size() > kLine) {
            prefetch_to_write(packets[kLine].guess);  // nullptr: in vain, but no test is cheaper
        }
        if (!meter_.has_analysis()) {
            return;
        }
        note(packets.size() > kState && prefetch_state(packets[kState]));
        if ((expanded_ >> (kState - kTrouble) & 1U) != 0) [[unlikely]] {
            meter_.analysis().prefetch_trouble(meter_.state_for(packets[kTrouble]));
        }
    }

private:
    // Packets between asking and adding.
    static constexpr std::size_t kState = 8;
    static constexpr std::size_t kLine = 4;
    static constexpr std::size_t kTrouble = 4;

    void note(bool is_expanded) noexcept { expanded_ = expanded_ << 1U | (is_expanded ? 1 : 0); }
    /// @return  whether the packet has a guess whose state it will touch
    [[nodiscard, gnu::always_inline]] bool prefetch_state(
        const KeyedPacket& packet) const noexcept {
        if (packet.guess == nullptr || packet.key.protocol != ip_protocol::kTcp) {
            return false;
        }
        if (!meter_.may_be_compact()) {
            return true;  // KeyedBurst has asked for it, behind its line
        }
        const bool will_touch = packet.guess->is_compact == 0 ||
                                !CompactTcp::comes_soon(*packet.guess, packet, meter_.limits());
        if (will_touch) {
            prefetch_to_write(&meter_.state_for(packet));
        }
        return will_touch;
    }

    const Meter& meter_;
    std::uint32_t expanded_ = 0;  ///< what was noted, one bit each, the last one lowest
};

}  // namespace tributary
