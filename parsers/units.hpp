// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>

namespace tributary {

/// Wall-clock time stamped by the packet source, in nanoseconds since 1970 (UTC, no leap seconds).
/// It has no now() on purpose: below daemon/ time is an argument, so every timeout can be tested
/// exactly.
struct PacketClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<PacketClock>;
    static constexpr bool is_steady = false;
};
using Timestamp = PacketClock::time_point;

/// The times that an IPFIX export time can hold, 1 .. 2^32-2 s. A source replaces any other by its
/// last good one and counts it as `bad_timestamp`.
inline constexpr Timestamp kFirstTimestamp{std::chrono::seconds{1}};
inline constexpr Timestamp kLastTimestamp{std::chrono::seconds{0xFFFF'FFFE}};

/// How far times of packets may be ahead of the host's clock: well above what NTP leaves between
/// two hosts, well below idle timeouts in use.
inline constexpr std::chrono::seconds kFurthestAhead{10};

/// An integer that mixes only with its own kind.
template <class Tag, std::unsigned_integral Rep>
struct Strong {
    Rep value{};
    friend constexpr auto operator<=>(Strong, Strong) = default;
};
using L4Port = Strong<struct L4PortTag, std::uint16_t>;  ///< TCP/UDP/... port, host byte order
using EthPortId = Strong<struct EthPortIdTag, std::uint16_t>;  ///< DPDK port index
using VlanId = Strong<struct VlanIdTag, std::uint16_t>;        ///< 802.1Q VLAN identifier, 0 = none
using InterfaceIndex =
    Strong<struct InterfaceIndexTag, std::uint32_t>;  ///< ingressInterface (IE 10)

}  // namespace tributary
