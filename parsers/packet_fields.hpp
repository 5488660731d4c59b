// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "parsers/units.hpp"

namespace tributary {

namespace ip_protocol {  // IANA protocol numbers that the code names
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kIpv4 = 4;  ///< IPv4 inside IP
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kDccp = 33;
inline constexpr std::uint8_t kIpv6 = 41;  ///< IPv6 inside IP
inline constexpr std::uint8_t kGre = 47;
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

/// Network byte order. An IPv4 address fills the first four bytes. The rest is zero where a parser
/// has read it; in a unified header it is undefined.
using IpAddress = std::array<std::byte, 16>;

/// The kind of tunnel that a packet travels in; the numbers are those of the exported `tunnelType`.
enum class TunnelKind : std::uint8_t { none, ip_in_ip, gre, erspan, vxlan, geneve, gtp_u };

/// The tunnel right around a packet. Integers in host byte order.
struct TunnelFields {
    const std::byte* addresses{};  ///< outer source and destination, 4 or 16 bytes each, in the
                                   ///< frame; nullptr without a tunnel
    std::uint32_t id{};  ///< VNI, GRE key, ERSPAN session id or TEID; 0 where there is none
    TunnelKind kind{};
    std::uint8_t ip_version{};  ///< 4 or 6, of the outer addresses

    friend bool operator==(const TunnelFields&, const TunnelFields&) = default;
};

namespace fragment_flag {  // IPv4 and IPv6 alike, as in fragmentFlags (IE 197)
inline constexpr std::uint8_t kDontFragment = 0x40;
inline constexpr std::uint8_t kMoreFragments = 0x20;
}  // namespace fragment_flag

/// A header that the trimmed path could not read to its end, because the captured bytes end inside
/// it.
enum class CutHeader : std::uint8_t {
    none,
    ipv4_options,
    ipv6_extension_header,
    transport_header,  ///< before the ports, the ICMP code, or TCP's control bits
    tunnel_header,     ///< or a header behind it: the packet is metered by its outer header
    count,
};
inline constexpr std::size_t kCutHeaderCount = static_cast<std::size_t>(CutHeader::count);
/// The name under which the ledger counts it, for instance "transport_header".
[[nodiscard]] std::string_view name_of(CutHeader header) noexcept;

/// The fields that distinguish segments of a TCP connection. Integers in host byte order, sequence
/// numbers modulo 2^32.
struct TcpSegment {
    /// More octets would look like a leap of the sequence number; there are no such packets.
    static constexpr std::uint32_t kMostPayload = 1U << 30U;

    std::uint32_t sequence{};
    std::uint32_t acknowledgement{};
    std::uint32_t payload_bytes{};  ///< by the IP length, whatever was captured; 0 where the data
                                    ///< offset contradicts it
    std::uint16_t window{};         ///< as on the wire, not scaled
    std::uint16_t copy_id{};  ///< equal only in copies of a packet: IPv4's identification, over
                              ///< IPv6 TCP's checksum

    /// Sequence and acknowledgement numbers, as they lie here.
    [[nodiscard]] std::uint64_t numbers() const noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, this, sizeof word);
        return word;
    }
    [[nodiscard]] std::uint32_t window_and_copy_id() const noexcept {
        std::uint32_t word = 0;
        std::memcpy(&word, reinterpret_cast<const std::byte*>(this) + offsetof(TcpSegment, window),
                    sizeof word);
        return word;
    }

    friend bool operator==(const TcpSegment&, const TcpSegment&) = default;
};

/// The fields of one IP packet; integers in host byte order. Fields that an input path cannot read
/// keep the values here.
struct PacketFields {
    IpAddress source{};
    IpAddress destination{};
    L4Port source_port{};       ///< this and the next four are flow_word()
    L4Port destination_port{};  ///< for ICMP and ICMPv6: type * 256 + code
    VlanId outer_vlan{};        ///< of the first tag; 0 without one, and for a priority tag
    std::uint8_t protocol{};    ///< after all IPv6 extension headers
    std::uint8_t ip_version{};  ///< 4 or 6
    std::uint32_t ip_bytes{};   ///< IP total length; IPv6: 40 + payload length; never the captured
                                ///< bytes
    std::uint32_t fragment_id{};         ///< identification; IPv6: 0 without a fragment header
    std::uint16_t tcp_control_bits{};    ///< the 12 bits beside the data offset; 0 unless TCP
    std::uint8_t ip_class_of_service{};  ///< ToS or traffic class
    std::uint8_t ttl{};                  ///< or hop limit
    std::uint8_t fragment_flags{};       ///< of fragment_flag
    bool is_later_fragment{};            ///< the fragment offset is not 0
    CutHeader cut_header{};              ///< trimmed path only
    std::uint8_t mpls_labels{};          ///< entries of the first label stack, saturating at 255
    VlanId customer_vlan{};              ///< of the second tag
    std::uint8_t vlan_tags{};            ///< number of tags, saturating at 255
    bool has_tcp_segment{};      ///< ParseOptions::tcp_segments, its header was there, with no more
                                 ///< than kMostPayload octets of payload
    std::uint32_t flow_label{};  ///< IPv6, 20 bits
    const std::byte* mac_addresses{};  ///< destination and source, 6 bytes each, in the frame; or
                                       ///< nullptr; ParseOptions::mac_addresses says of which
    const std::byte* mpls_stack{};     ///< 4 bytes per entry, in the frame; or nullptr
    TunnelFields tunnel{};
    TcpSegment tcp{};  ///< where has_tcp_segment

    /// Ports, outer VLAN id, protocol and IP version, as they lie here: the part of every key, in
    /// one load.
    [[nodiscard]] std::uint64_t flow_word() const noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word,
                    reinterpret_cast<const std::byte*>(this) + offsetof(PacketFields, source_port),
                    sizeof word);
        return word;
    }
    /// Writes it all with one store: a load waits long for several stores that it spans.
    void set_flow_word(std::uint64_t word) noexcept {
        std::memcpy(reinterpret_cast<std::byte*>(this) + offsetof(PacketFields, source_port), &word,
                    sizeof word);
    }
    /// TCP control bits and TTL, as they lie here, around a 0.
    [[nodiscard]] std::uint32_t control_bits_and_ttl() const noexcept {
        constexpr std::uint32_t kAllButClassOfService = 0xFF00'FFFF;
        std::uint32_t word = 0;
        std::memcpy(
            &word,
            reinterpret_cast<const std::byte*>(this) + offsetof(PacketFields, tcp_control_bits),
            sizeof word);
        return word & kAllButClassOfService;
    }
    [[nodiscard]] bool is_fragment() const noexcept {
        return is_later_fragment || (fragment_flags & fragment_flag::kMoreFragments) != 0;
    }
    friend bool operator==(const PacketFields&, const PacketFields&) = default;
};
static_assert(offsetof(TcpSegment, acknowledgement) == offsetof(TcpSegment, sequence) + 4 &&
              offsetof(TcpSegment, sequence) == 0 &&
              offsetof(TcpSegment, copy_id) == offsetof(TcpSegment, window) + 2 &&
              offsetof(PacketFields, ttl) == offsetof(PacketFields, tcp_control_bits) + 3);
static_assert(std::endian::native == std::endian::little &&
              offsetof(PacketFields, destination_port) == offsetof(PacketFields, source_port) + 2 &&
              offsetof(PacketFields, outer_vlan) == offsetof(PacketFields, source_port) + 4 &&
              offsetof(PacketFields, protocol) == offsetof(PacketFields, source_port) + 6 &&
              offsetof(PacketFields, ip_version) == offsetof(PacketFields, source_port) + 7);

}  // namespace tributary
