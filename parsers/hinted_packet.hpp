// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
// All of it is inlined, into one loop over packets: with a call in between, results go through
// memory and what is known of them is lost, which is 35 to 60 of a packet's 256 instructions.

namespace tributary {

namespace hinted {

inline constexpr std::size_t kIpAt = 14;             ///< behind an Ethernet header without tags
inline constexpr std::size_t kIpv4HeaderBytes = 20;  ///< without options
/// Up to where a header is read: the ports, for TCP also the control bits.
[[nodiscard]] constexpr std::size_t transport_bytes(std::uint8_t protocol) noexcept {
    return protocol == ip_protocol::kTcp ? 14 : 4;
}

template <std::uint8_t kProtocol, std::size_t kSize>
void read_transport(HeaderBytes<kSize> frame, PacketFields& fields) noexcept {
    constexpr std::size_t kAt = kSize - transport_bytes(kProtocol);
    fields.set_ports(frame.template u16<kAt>(), frame.template u16<kAt + 2>());
    if constexpr (kProtocol == ip_protocol::kTcp) {
        fields.tcp_control_bits = frame.template u16<kAt + 12>() & 0x0fffU;
    }
    fields.mac_addresses = frame.template bytes<0, 12>();
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
    fields.ip_version = 4;
    fields.ip_class_of_service = frame.template u8<kIpAt + 1>();
    fields.ip_bytes = static_cast<std::uint32_t>(total_bytes);
    fields.fragment_id = frame.template u16<kIpAt + 4>();
    fields.fragment_flags = frame.template u8<kIpAt + 6>() & fragment_flag::kDontFragment;
    fields.ttl = frame.template u8<kIpAt + 8>();
    fields.protocol = kProtocol;
    std::copy_n(frame.template bytes<kIpAt + 12, 4>(), 4, fields.source.begin());
    std::copy_n(frame.template bytes<kIpAt + 16, 4>(), 4, fields.destination.begin());
    read_transport<kProtocol>(frame, fields);
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
    fields.ip_version = 6;
    fields.ip_class_of_service = static_cast<std::uint8_t>(version_class_label >> 20U);
    fields.flow_label = version_class_label & 0xf'ffffU;
    fields.ip_bytes = static_cast<std::uint32_t>(kIpv6HeaderBytes + payload_bytes);
    fields.protocol = kProtocol;
    fields.ttl = frame.template u8<kIpAt + 7>();
    std::copy_n(frame.template bytes<kIpAt + 8, 16>(), 16, fields.source.begin());
    std::copy_n(frame.template bytes<kIpAt + 24, 16>(), 16, fields.destination.begin());
    read_transport<kProtocol>(frame, fields);
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
/// @param fields  cleared by the caller; untouched unless the status is `ok`
/// @return        status `ok`, all fields as full parsing would have found them, and where the
///                packet's payload lies; any other status: the frame has to be parsed fully
/// @cost          no loop
/// @source        as parse_ethernet(), parse_ipv4(), parse_ipv6(), parse_transport()
[[nodiscard]] [[gnu::always_inline]] inline IpLayer parse_hinted(NicHint hint, CapturedBytes frame,
                                                                 PacketFields& fields) noexcept {
    switch (hint) {
        case NicHint::ipv4_tcp:
            return hinted::parse_ipv4<ip_protocol::kTcp>(frame, fields);
        case NicHint::ipv4_udp:
            return hinted::parse_ipv4<ip_protocol::kUdp>(frame, fields);
        case NicHint::ipv6_tcp:
            return hinted::parse_ipv6<ip_protocol::kTcp>(frame, fields);
        case NicHint::ipv6_udp:
            return hinted::parse_ipv6<ip_protocol::kUdp>(frame, fields);
        case NicHint::none:
            break;
    }
    return {ParseStatus::not_ip};
}

}  // namespace tributary
