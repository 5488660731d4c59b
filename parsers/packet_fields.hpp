// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "parsers/units.hpp"

namespace tributary {

namespace ip_protocol {  // IANA protocol numbers that the code names
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kDccp = 33;
inline constexpr std::uint8_t kIcmpV6 = 58;
inline constexpr std::uint8_t kSctp = 132;
inline constexpr std::uint8_t kUdpLite = 136;
}  // namespace ip_protocol

namespace tcp_flag {  // RFC 9293 §3.1, as in tcpControlBits (IE 6)
inline constexpr std::uint16_t kFin = 0x001;
inline constexpr std::uint16_t kSyn = 0x002;
inline constexpr std::uint16_t kRst = 0x004;
inline constexpr std::uint16_t kPsh = 0x008;
inline constexpr std::uint16_t kAck = 0x010;
inline constexpr std::uint16_t kUrg = 0x020;
}  // namespace tcp_flag

/// Network byte order. An IPv4 address fills the first four bytes, the rest is zero.
using IpAddress = std::array<std::byte, 16>;

/// What the parser found in one IP packet; integers in host byte order.
struct PacketFields {
    IpAddress source{};
    IpAddress destination{};
    L4Port source_port{};
    L4Port destination_port{};  ///< for ICMP and ICMPv6: type * 256 + code
    std::uint32_t
        ip_bytes{};  ///< IP total length; IPv6: 40 + payload length; never the captured bytes
    std::uint16_t tcp_control_bits{};  ///< the 12 bits beside the data offset; 0 unless TCP
    VlanId outer_vlan{};               ///< of the first tag; 0 without one, and for a priority tag
    VlanId customer_vlan{};            ///< of the second tag
    std::uint8_t vlan_tags{};          ///< number of tags, saturating at 255
    std::uint8_t ip_version{};         ///< 4 or 6
    std::uint8_t protocol{};           ///< after all IPv6 extension headers
    std::uint8_t ip_class_of_service{};  ///< ToS or traffic class
    std::uint8_t ttl{};                  ///< or hop limit
    const std::byte*
        mac_addresses{};  ///< destination and source, 6 bytes each, inside the frame; or nullptr
};

}  // namespace tributary
