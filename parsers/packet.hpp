// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsers/units.hpp"

namespace tributary {

/// Link-layer header type of a frame, numbered as in capture files (tcpdump.org/linktypes.html).
/// Any number is legal here; frames of a type that the parser does not support are ignored by that
/// name.
enum class LinkType : std::uint32_t {
    null = 0,  ///< BSD loopback, in the byte order of the capturing host
    ethernet = 1,
    ppp = 9,
    raw_bsd = 12,      ///< raw IP, as some BSDs number it
    raw_openbsd = 14,  ///< raw IP, as OpenBSD numbers it
    ppp_hdlc = 50,
    pppoe = 51,  ///< a PPPoE session header and what follows
    raw_ip = 101,
    cisco_hdlc = 104,
    openbsd_loopback = 108,
    linux_sll = 113,
    ipv4 = 228,
    ipv6 = 229,
    linux_sll2 = 276,
};

/// A plain packet that an Ethernet frame carries: TCP or UDP over IP, no fragment, in no tunnel.
/// `none` is anything else, or unknown.
enum class PlainKind : std::uint8_t { none, ipv4_tcp, ipv4_udp, ipv6_tcp, ipv6_udp };

/// One frame with its metadata. Borrowed: valid until the source's next release(), and in a kept
/// packet as long as that.
struct PacketView {
    std::span<const std::byte> captured{};  ///< readable bytes, from the link-layer header on
    std::uint32_t wire_bytes{};  ///< length on the wire without FCS, as far as the source has it
    LinkType link_type{LinkType::ethernet};
    InterfaceIndex ingress_interface{};
    Timestamp seen_at{};  ///< the packet's own time
    Timestamp
        clock{};  ///< the source's clock when the packet came: deadlines are tested against it
};

/// Packets per burst: large enough to hide memory latency, small enough to stay in the L1 cache.
inline constexpr std::size_t kBurstPackets = 64;

/// One bit per packet of a burst, the first packet's lowest.
using PacketMask = std::uint64_t;
static_assert(kBurstPackets <= 64);

/// @param packets  at most kBurstPackets
[[nodiscard]] inline PacketMask mask_of_all(std::span<const PacketView> packets) noexcept {
    return packets.empty() ? 0 : ~PacketMask{0} >> (64 - packets.size());
}

/// @param place  of a packet in its burst, below kBurstPackets
[[nodiscard]] constexpr PacketMask mask_of(std::size_t place) noexcept {
    return PacketMask{1} << place;
}

}  // namespace tributary
