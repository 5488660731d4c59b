// SPDX-License-Identifier: Apache-2.0
#include "parsers/tunnel.hpp"

#include "parsers/ethernet.hpp"
#include "parsers/untyped_ip.hpp"

namespace tributary {

namespace {

constexpr LinkLayer kTruncated{ParseStatus::truncated_link_header};

/// GRE protocol types and GENEVE protocol types are ethertypes, and 0x6558 is Ethernet itself.
LinkLayer parse_payload(CapturedBytes packet, std::uint16_t type, std::size_t at,
                        PacketFields& fields) noexcept {
    constexpr std::uint16_t kTransparentEthernetBridging = 0x6558;
    return type == kTransparentEthernetBridging ? parse_ethernet(packet, at, fields)
                                                : LinkLayer{ParseStatus::ok, type, at};
}

/// ERSPAN type I has no header of its own; type II has one, and always a GRE sequence number.
Tunnel parse_erspan(CapturedBytes packet, std::size_t at, bool has_header,
                    PacketFields& fields) noexcept {
    if (!has_header) {
        return {TunnelKind::erspan, 0, parse_ethernet(packet, at, fields)};
    }
    const auto header = packet.header<8>(at);
    if (!header) {
        return {TunnelKind::erspan, 0, kTruncated};
    }
    const std::uint32_t session = header.u32<0>() & 0x3ffU;
    return {TunnelKind::erspan, session, parse_ethernet(packet, at + 8, fields)};
}

Tunnel parse_gre(CapturedBytes packet, std::size_t at, PacketFields& fields) noexcept {
    constexpr std::uint16_t kChecksum = 0x8000;
    constexpr std::uint16_t kKey = 0x2000;
    constexpr std::uint16_t kSequence = 0x1000;
    constexpr std::uint16_t kRoutingOrVersion = 0x4007;  // RFC 1701's source routes, and PPTP
    constexpr std::uint16_t kErspan = 0x88be;
    const auto header = packet.header<4>(at);
    if (!header) {
        return {TunnelKind::gre, 0, kTruncated};
    }
    const std::uint16_t flags = header.u16<0>();
    if ((flags & kRoutingOrVersion) != 0) {
        return {};
    }
    const std::size_t key_at = at + 4 + ((flags & kChecksum) != 0 ? 4U : 0U);
    const std::size_t sequence_at = key_at + ((flags & kKey) != 0 ? 4U : 0U);
    const std::size_t payload_at = sequence_at + ((flags & kSequence) != 0 ? 4U : 0U);
    const std::uint16_t type = header.u16<2>();
    if (type == kErspan) {
        return parse_erspan(packet, payload_at, (flags & kSequence) != 0, fields);
    }
    const auto key = (flags & kKey) != 0 ? packet.header<4>(key_at) : HeaderBytes<4>{};
    return {TunnelKind::gre, key ? key.u32<0>() : 0,
            parse_payload(packet, type, payload_at, fields)};
}

/// The UDP header and the eight octets with which VXLAN, GENEVE and GTP-U all begin.
using UdpTunnelHeader = HeaderBytes<16>;

Tunnel parse_geneve(CapturedBytes packet, std::size_t at, UdpTunnelHeader header,
                    PacketFields& fields) noexcept {
    const std::size_t options = (header.u8<8>() & 0x3fU) * std::size_t{4};
    return {TunnelKind::geneve, header.u32<12>() >> 8U,
            parse_payload(packet, header.u16<10>(), at + 16 + options, fields)};
}

/// Steps over GTP-U's extension headers; each ends with the type of the next, 0 for none.
///
/// @return  where the payload lies; its ethertype is not set yet
LinkLayer skip_gtp_u_extensions(CapturedBytes packet, std::size_t at, std::uint8_t next) noexcept {
    while (next != 0) {
        const auto length = packet.header<1>(at);
        const std::size_t size = length ? length.u8<0>() * std::size_t{4} : 4;
        if (!packet.hold(at, size)) {
            return kTruncated;
        }
        if (size == 0) {
            return {ParseStatus::not_ip};
        }
        next = packet.header<1>(at + size - 1).u8<0>();
        at += size;
    }
    return {ParseStatus::ok, {}, at};
}

/// Where the payload lies behind GTP-U's optional fields.
LinkLayer skip_gtp_u_options(CapturedBytes packet, std::size_t at,
                             UdpTunnelHeader header) noexcept {
    constexpr std::uint8_t kAnyOption = 0x07;  // with one of the three, four more octets follow
    constexpr std::uint8_t kExtension = 0x04;
    const std::size_t options_at = at + 16;
    if ((header.u8<8>() & kAnyOption) == 0) {
        return {ParseStatus::ok, {}, options_at};
    }
    const auto options = packet.header<4>(options_at);
    if (!options) {
        return kTruncated;
    }
    const bool has_extension = (header.u8<8>() & kExtension) != 0;
    return skip_gtp_u_extensions(packet, options_at + 4,
                                 has_extension ? options.u8<3>() : std::uint8_t{0});
}

/// The payload is IP. PDU sessions of other types are not parsed.
LinkLayer parse_gtp_u_payload(CapturedBytes packet, std::size_t at, UdpTunnelHeader header,
                              std::size_t wire_bytes) noexcept {
    const LinkLayer payload = skip_gtp_u_options(packet, at, header);
    return payload.status == ParseStatus::ok
               ? parse_untyped_ip(packet, payload.payload_at, wire_bytes)
               : payload;
}

Tunnel parse_udp_tunnel(CapturedBytes packet, std::size_t at, std::size_t wire_bytes,
                        PacketFields& fields) noexcept {
    if (!has_tunnel_port(fields)) {
        return {};
    }
    const auto header = packet.header<16>(at);
    if (!header) {
        return {TunnelKind::vxlan, 0, kTruncated};
    }
    constexpr std::uint8_t kHasVni = 0x08;
    if (fields.destination_port == tunnel_port::kVxlan && (header.u8<8>() & kHasVni) != 0) {
        return {TunnelKind::vxlan, header.u32<12>() >> 8U, parse_ethernet(packet, at + 16, fields)};
    }
    constexpr std::uint8_t kGeneveVersion = 0;
    if (fields.destination_port == tunnel_port::kGeneve && header.u8<8>() >> 6U == kGeneveVersion) {
        return parse_geneve(packet, at, header, fields);
    }
    const bool is_gtp_u =
        fields.source_port == tunnel_port::kGtpU || fields.destination_port == tunnel_port::kGtpU;
    constexpr std::uint8_t kVersion1OfGtp = 0x3;  // with the bit that distinguishes it from GTP'
    constexpr std::uint8_t kUserPacket = 0xff;    // the message type G-PDU
    if (is_gtp_u && header.u8<8>() >> 4U == kVersion1OfGtp && header.u8<9>() == kUserPacket) {
        return {TunnelKind::gtp_u, header.u32<12>(),
                parse_gtp_u_payload(packet, at, header, wire_bytes)};
    }
    return {};
}

}  // namespace

Tunnel find_tunnel(CapturedBytes packet, std::size_t at, std::size_t wire_bytes,
                   PacketFields& fields) noexcept {
    switch (fields.protocol) {
        case ip_protocol::kIpv4:
            return {TunnelKind::ip_in_ip, 0, {ParseStatus::ok, ethertype::kIpv4, at}};
        case ip_protocol::kIpv6:
            return {TunnelKind::ip_in_ip, 0, {ParseStatus::ok, ethertype::kIpv6, at}};
        case ip_protocol::kGre:
            return parse_gre(packet, at, fields);
        case ip_protocol::kUdp:
            return parse_udp_tunnel(packet, at, wire_bytes, fields);
        default:
            return {};
    }
}

}  // namespace tributary
