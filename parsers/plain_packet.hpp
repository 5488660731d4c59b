// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/ipv6.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

// Plain packets: all fields lie at fixed offsets. One bounds check and few comparisons replace the
// walk over the headers, and save half the instructions; other packets take a few more. A NIC's
// packet type would save none of it, because it has to be checked: NICs of Intel name a packet with
// VLAN tags like one without, and most name IPv4 with options like IPv4 without.
//
// All of it is inlined, with parse_plain() into the loop over packets: with a call in between,
// results go through memory and constants are lost, which was 35 to 60 of a packet's 256
// instructions.

namespace tributary {

namespace plain {

template <PlainKind kKind>
using Kind = std::integral_constant<PlainKind, kKind>;

inline constexpr std::size_t kIpAt = 14;             ///< behind an Ethernet header without tags
inline constexpr std::size_t kIpv4HeaderBytes = 20;  ///< without options
/// Up to where a header is read: the ports, for TCP also the control bits.
[[nodiscard]] constexpr std::size_t transport_bytes(std::uint8_t protocol) noexcept {
    return protocol == ip_protocol::kTcp ? 14 : 4;
}
/// Up to there, of a whole frame.
template <std::uint8_t kProtocol>
inline constexpr std::size_t kIpv4Bytes = kIpAt + kIpv4HeaderBytes + transport_bytes(kProtocol);
template <std::uint8_t kProtocol>
inline constexpr std::size_t kIpv6Bytes = kIpAt + kIpv6HeaderBytes + transport_bytes(kProtocol);

/// Reads the transport header, and writes protocol and IP version with the ports: one word.
template <std::uint8_t kIpVersion, std::uint8_t kProtocol, std::size_t kSize>
void read_transport(HeaderBytes<kSize> frame, PacketFields& fields) noexcept {
    constexpr std::size_t kAt = kSize - transport_bytes(kProtocol);
    constexpr std::uint64_t kVersionAndProtocol =
        std::uint64_t{kIpVersion} << 56U | std::uint64_t{kProtocol} << 48U;
    fields.set_flow_word(kVersionAndProtocol | std::rotl(frame.template u32<kAt>(), 16));
    if constexpr (kProtocol == ip_protocol::kTcp) {
        fields.tcp_control_bits = frame.template u16<kAt + 12>() & 0x0fffU;
    }
    fields.mac_addresses = frame.template bytes<0, 12>();
}

/// Writes the 16 octets of fields from ip_bytes on, from the first 16 of an IPv4 header without
/// options and fragmentation, whose flags are don't fragment alone, or none. Length and
/// identification become host byte order, and fields that such a packet does not have become 0.
/// Each field by itself takes three times the instructions.
[[gnu::always_inline]] inline void write_ipv4_words(const std::byte* header,
                                                    PacketFields& fields) noexcept {
    constexpr std::size_t kAt = offsetof(PacketFields, ip_bytes);
    static_assert(offsetof(PacketFields, fragment_id) == kAt + 4 &&
                  offsetof(PacketFields, tcp_control_bits) == kAt + 8 &&
                  offsetof(PacketFields, ip_class_of_service) == kAt + 10 &&
                  offsetof(PacketFields, ttl) == kAt + 11 &&
                  offsetof(PacketFields, fragment_flags) == kAt + 12 &&
                  offsetof(PacketFields, customer_vlan) == kAt + 16);
    constexpr char kZero = -1;
    const __m128i places = _mm_setr_epi8(3, 2, kZero, kZero, 5, 4, kZero, kZero,  //
                                         kZero, kZero, 1, 8, 6, kZero, kZero, kZero);
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(header));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(reinterpret_cast<std::byte*>(&fields) + kAt),
                     _mm_shuffle_epi8(words, places));
}

/// Writes the fields of a packet that is of this plain_kind().
///
/// @return  where the packet's payload lies
template <std::uint8_t kProtocol>
[[gnu::always_inline]] inline IpLayer read_ipv4(CapturedBytes captured,
                                                PacketFields& fields) noexcept {
    const auto frame = captured.header<kIpv4Bytes<kProtocol>>(0);
    write_ipv4_words(frame.template bytes<kIpAt, 16>(), fields);
    std::copy_n(frame.template bytes<kIpAt + 12, 4>(), 4, fields.source.begin());
    std::copy_n(frame.template bytes<kIpAt + 16, 4>(), 4, fields.destination.begin());
    read_transport<4, kProtocol>(frame, fields);
    return {ParseStatus::ok, kIpAt + kIpv4HeaderBytes, kIpAt + fields.ip_bytes, kIpAt};
}

/// The same for IPv6.
template <std::uint8_t kProtocol>
[[gnu::always_inline]] inline IpLayer read_ipv6(CapturedBytes captured,
                                                PacketFields& fields) noexcept {
    constexpr std::size_t kPayloadAt = kIpAt + kIpv6HeaderBytes;
    const auto frame = captured.header<kIpv6Bytes<kProtocol>>(0);
    const std::uint32_t version_class_label = frame.template u32<kIpAt>();
    const std::size_t payload_bytes = frame.template u16<kIpAt + 4>();
    fields.ip_class_of_service = static_cast<std::uint8_t>(version_class_label >> 20U);
    fields.flow_label = version_class_label & 0xf'ffffU;
    fields.ip_bytes = static_cast<std::uint32_t>(kIpv6HeaderBytes + payload_bytes);
    fields.ttl = frame.template u8<kIpAt + 7>();
    std::copy_n(frame.template bytes<kIpAt + 8, 16>(), 16, fields.source.begin());
    std::copy_n(frame.template bytes<kIpAt + 24, 16>(), 16, fields.destination.begin());
    read_transport<6, kProtocol>(frame, fields);
    return {ParseStatus::ok, kPayloadAt, kPayloadAt + payload_bytes, kIpAt};
}

}  // namespace plain

/// The kind of an Ethernet frame that is plain: TCP or UDP over IP right behind the Ethernet
/// header, without IPv4 options or IPv6 extension headers, no fragment, captured as far as its
/// transport header is read. Otherwise `none`.
///
/// @thread  any; pure
[[nodiscard]] [[gnu::always_inline]] inline PlainKind plain_kind(CapturedBytes frame) noexcept {
    using namespace plain;
    constexpr auto kUdp = ip_protocol::kUdp;
    constexpr auto kTcp = ip_protocol::kTcp;
    constexpr std::uint32_t kAllButTypeOfService = 0xffff'ff00;
    constexpr std::uint32_t kIpv4WithoutOptions = std::uint32_t{ethertype::kIpv4} << 16U | 0x4500;
    constexpr std::uint32_t kFragmentationAndProtocol = 0xbfff'00ff;  // don't fragment may be set
    constexpr std::uint32_t kEthertypeAndVersion = 0xffff'f000;
    constexpr std::uint32_t kIpv6 = std::uint32_t{ethertype::kIpv6} << 16U | 0x6000;
    const auto start = frame.header<kIpv4Bytes<kUdp>>(0);
    if (!start) {
        return PlainKind::none;
    }
    const std::uint32_t ethertype_and_more = start.u32<12>();
    if ((ethertype_and_more & kAllButTypeOfService) == kIpv4WithoutOptions) {
        const std::uint32_t protocol = start.u32<kIpAt + 6>() & kFragmentationAndProtocol;
        const std::uint16_t total_bytes = start.u16<kIpAt + 2>();
        if (protocol == kUdp) {
            return total_bytes >= kIpv4Bytes<kUdp> - kIpAt ? PlainKind::ipv4_udp : PlainKind::none;
        }
        if (protocol != kTcp || total_bytes < kIpv4Bytes<kTcp> - kIpAt) {
            return PlainKind::none;
        }
        return frame.hold(0, kIpv4Bytes<kTcp>) ? PlainKind::ipv4_tcp : PlainKind::none;
    }
    if ((ethertype_and_more & kEthertypeAndVersion) != kIpv6) {
        return PlainKind::none;
    }
    const std::uint8_t protocol = start.u8<kIpAt + 6>();
    const std::uint16_t payload_bytes = start.u16<kIpAt + 4>();
    if (protocol == kUdp && payload_bytes >= transport_bytes(kUdp)) {
        return frame.hold(0, kIpv6Bytes<kUdp>) ? PlainKind::ipv6_udp : PlainKind::none;
    }
    if (protocol != kTcp || payload_bytes < transport_bytes(kTcp)) {
        return PlainKind::none;
    }
    return frame.hold(0, kIpv6Bytes<kTcp>) ? PlainKind::ipv6_tcp : PlainKind::none;
}

/// Parses an Ethernet frame if it is of a plain_kind().
///
/// @param fields  cleared by the caller; written only if it is so
/// @param then    called once all fields are as full parsing would set them, with the packet's
///                kind, as a constant, and with the place of its payload. It is inlined for each
///                kind, where these are constant.
/// @return        the result of `then`; false: the frame has to be parsed fully
/// @cost          no loop
/// @source        as parse_ethernet(), parse_ipv4(), parse_ipv6(), parse_transport()
template <class Then>
[[nodiscard]] [[gnu::always_inline]] inline bool parse_if_plain(CapturedBytes frame,
                                                                PacketFields& fields,
                                                                Then then) noexcept {
    using namespace plain;
    constexpr auto kTcp = ip_protocol::kTcp;
    constexpr auto kUdp = ip_protocol::kUdp;
    switch (plain_kind(frame)) {
        case PlainKind::ipv4_tcp:
            return then(Kind<PlainKind::ipv4_tcp>{}, read_ipv4<kTcp>(frame, fields));
        case PlainKind::ipv4_udp:
            return then(Kind<PlainKind::ipv4_udp>{}, read_ipv4<kUdp>(frame, fields));
        case PlainKind::ipv6_tcp:
            return then(Kind<PlainKind::ipv6_tcp>{}, read_ipv6<kTcp>(frame, fields));
        case PlainKind::ipv6_udp:
            return then(Kind<PlainKind::ipv6_udp>{}, read_ipv6<kUdp>(frame, fields));
        case PlainKind::none:
            break;
    }
    return false;
}

}  // namespace tributary
