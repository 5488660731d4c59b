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

// Packets of which the NIC has said what they are, or that look like it: all fields lie at fixed
// offsets, so that one bounds check and few comparisons stand for the walk over the headers. The
// comparisons make a hint safe in every build. They are needed, because hints are coarse: NICs of
// Intel name a packet with VLAN tags like one without, and most name IPv4 with options like IPv4
// without. They are also so cheap that a frame without a hint is looked at first, for a hint of its
// own: plain packets take half the instructions of the walk, the others a few more.
//
// All of it is inlined, with parse_plain() into the loop over packets: with a call in between,
// results go through memory and what is known of them is lost, which was 35 to 60 of a packet's 256
// instructions.

namespace tributary {

namespace hinted {

inline constexpr std::size_t kIpAt = 14;             ///< behind an Ethernet header without tags
inline constexpr std::size_t kIpv4HeaderBytes = 20;  ///< without options
/// Up to where a header is read: the ports, for TCP also the control bits.
[[nodiscard]] constexpr std::size_t transport_bytes(std::uint8_t protocol) noexcept {
    return protocol == ip_protocol::kTcp ? 14 : 4;
}

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

/// Writes the 16 octets of fields from ip_bytes on, out of the first 16 of an IPv4 header without
/// options and fragmentation: length and identification become host byte order, all but the don't
/// fragment flag goes, and what such a packet does not have becomes 0. Each field by itself takes
/// three times the instructions.
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
    const __m128i mask = _mm_setr_epi32(-1, -1, -1, fragment_flag::kDontFragment);
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(header));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(reinterpret_cast<std::byte*>(&fields) + kAt),
                     _mm_and_si128(_mm_shuffle_epi8(words, places), mask));
}

/// Whether a frame is IPv4 without tags, options and fragmentation, and carries this protocol.
template <std::size_t kSize>
[[nodiscard]] [[gnu::always_inline]] inline bool is_plain_ipv4(HeaderBytes<kSize> frame,
                                                               std::uint8_t protocol) noexcept {
    constexpr std::uint32_t kEthertypeVersionAndLength = 0xffff'ff00;
    constexpr std::uint32_t kPlain = std::uint32_t{ethertype::kIpv4} << 16U | 0x4500;
    constexpr std::uint32_t kMoreFragmentsOffsetAndProtocol = 0x3fff'00ff;
    return (frame.template u32<12>() & kEthertypeVersionAndLength) == kPlain &&
           (frame.template u32<kIpAt + 6>() & kMoreFragmentsOffsetAndProtocol) == protocol;
}

/// @return  where the packet's payload lies; status not_ip: it has to be parsed fully
template <std::uint8_t kProtocol>
[[gnu::always_inline]] inline IpLayer parse_ipv4(CapturedBytes captured,
                                                 PacketFields& fields) noexcept {
    constexpr std::size_t kSize = kIpAt + kIpv4HeaderBytes + transport_bytes(kProtocol);
    const auto frame = captured.header<kSize>(0);
    if (!frame) {
        return {ParseStatus::not_ip};
    }
    const std::size_t total_bytes = frame.template u16<kIpAt + 2>();
    if (!is_plain_ipv4(frame, kProtocol) || total_bytes < kSize - kIpAt) {
        return {ParseStatus::not_ip};
    }
    write_ipv4_words(frame.template bytes<kIpAt, 16>(), fields);
    std::copy_n(frame.template bytes<kIpAt + 12, 4>(), 4, fields.source.begin());
    std::copy_n(frame.template bytes<kIpAt + 16, 4>(), 4, fields.destination.begin());
    read_transport<4, kProtocol>(frame, fields);
    return {ParseStatus::ok, kIpAt + kIpv4HeaderBytes, kIpAt + total_bytes, kIpAt};
}

/// The same for IPv6.
template <std::uint8_t kProtocol>
[[gnu::always_inline]] inline IpLayer parse_ipv6(CapturedBytes captured,
                                                 PacketFields& fields) noexcept {
    constexpr std::size_t kSize = kIpAt + kIpv6HeaderBytes + transport_bytes(kProtocol);
    const auto frame = captured.header<kSize>(0);
    if (!frame) {
        return {ParseStatus::not_ip};
    }
    const std::uint32_t version_class_label = frame.template u32<kIpAt>();
    const std::size_t payload_bytes = frame.template u16<kIpAt + 4>();
    const bool is_plain = frame.template u16<12>() == ethertype::kIpv6 &&
                          version_class_label >> 28U == 6 &&
                          frame.template u8<kIpAt + 6>() == kProtocol;
    if (!is_plain || payload_bytes < transport_bytes(kProtocol)) {
        return {ParseStatus::not_ip};
    }
    fields.ip_class_of_service = static_cast<std::uint8_t>(version_class_label >> 20U);
    fields.flow_label = version_class_label & 0xf'ffffU;
    fields.ip_bytes = static_cast<std::uint32_t>(kIpv6HeaderBytes + payload_bytes);
    fields.ttl = frame.template u8<kIpAt + 7>();
    std::copy_n(frame.template bytes<kIpAt + 8, 16>(), 16, fields.source.begin());
    std::copy_n(frame.template bytes<kIpAt + 24, 16>(), 16, fields.destination.begin());
    read_transport<6, kProtocol>(frame, fields);
    constexpr std::size_t kPayloadAt = kIpAt + kIpv6HeaderBytes;
    return {ParseStatus::ok, kPayloadAt, kPayloadAt + payload_bytes, kIpAt};
}

}  // namespace hinted

/// What an Ethernet frame most likely is that the NIC says nothing about. It asks what
/// parse_hinted() asks again, which costs nothing where both are inlined.
[[nodiscard]] [[gnu::always_inline]] inline NicHint likely_hint(CapturedBytes frame) noexcept {
    constexpr std::size_t kLeast =
        hinted::kIpAt + hinted::kIpv4HeaderBytes + hinted::transport_bytes(ip_protocol::kUdp);
    const auto start = frame.header<kLeast>(0);
    if (!start) {
        return NicHint::none;
    }
    if (hinted::is_plain_ipv4(start, ip_protocol::kUdp)) {
        return NicHint::ipv4_udp;
    }
    if (hinted::is_plain_ipv4(start, ip_protocol::kTcp)) {
        return NicHint::ipv4_tcp;
    }
    if (start.u16<12>() == ethertype::kIpv6) {
        return start.u8<hinted::kIpAt + 6>() == ip_protocol::kTcp ? NicHint::ipv6_tcp
                                                                  : NicHint::ipv6_udp;
    }
    return NicHint::none;
}

/// Whether every packet with a hint is parsed fully too, and the two are compared.
#ifdef NDEBUG
inline constexpr bool kChecksNicHints = false;
#else
inline constexpr bool kChecksNicHints = true;
#endif

/// Whether full parsing found something else than the NIC.
///
/// @param status, fields  what full parsing says of the same packet
[[nodiscard]] inline bool contradicts(NicHint hint, ParseStatus status,
                                      const PacketFields& fields) noexcept {
    switch (status) {
        case ParseStatus::ok:
            break;
        case ParseStatus::arp:
        case ParseStatus::llc:
        case ParseStatus::mpls_non_ip:
        case ParseStatus::pppoe_discovery:
        case ParseStatus::ppp_non_ip:
        case ParseStatus::other_ethertype:
            return true;
        default:
            return false;  // of a broken or cut packet the NIC may know more
    }
    if (fields.tunnel.kind != TunnelKind::none ||
        fields.cut_header == CutHeader::ipv6_extension_header) {
        return false;
    }
    const bool is_ipv4 = hint == NicHint::ipv4_tcp || hint == NicHint::ipv4_udp;
    const bool is_tcp = hint == NicHint::ipv4_tcp || hint == NicHint::ipv6_tcp;
    return fields.ip_version != (is_ipv4 ? 4 : 6) || fields.is_fragment() ||
           fields.protocol != (is_tcp ? ip_protocol::kTcp : ip_protocol::kUdp);
}

/// Parses an Ethernet frame that is as its hint says, plain, and there up to what is read.
///
/// @param fields  cleared by the caller; written only if it is so
/// @param then    called once all fields are as full parsing would have found them, with the
///                packet's protocol, as a constant, and with where its payload lies. It is inlined
///                for each kind of packet, where these are known.
/// @return        what `then` does; false: the frame has to be parsed fully
/// @cost          no loop
/// @source        as parse_ethernet(), parse_ipv4(), parse_ipv6(), parse_transport()
template <class Then>
[[nodiscard]] [[gnu::always_inline]] inline bool parse_hinted(NicHint hint, CapturedBytes frame,
                                                              PacketFields& fields,
                                                              Then then) noexcept {
    using Tcp = std::integral_constant<std::uint8_t, ip_protocol::kTcp>;
    using Udp = std::integral_constant<std::uint8_t, ip_protocol::kUdp>;
    const auto go_on = [&](auto protocol, const IpLayer& ip) __attribute__((always_inline)) {
        return ip.status == ParseStatus::ok && then(protocol, ip);
    };
    switch (hint) {
        case NicHint::ipv4_tcp:
            return go_on(Tcp{}, hinted::parse_ipv4<Tcp::value>(frame, fields));
        case NicHint::ipv4_udp:
            return go_on(Udp{}, hinted::parse_ipv4<Udp::value>(frame, fields));
        case NicHint::ipv6_tcp:
            return go_on(Tcp{}, hinted::parse_ipv6<Tcp::value>(frame, fields));
        case NicHint::ipv6_udp:
            return go_on(Udp{}, hinted::parse_ipv6<Udp::value>(frame, fields));
        case NicHint::none:
            break;
    }
    return false;
}

}  // namespace tributary
