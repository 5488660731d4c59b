// SPDX-License-Identifier: Apache-2.0
#include "parsers/parse_packet.hpp"

#include <algorithm>
#include <cstddef>

#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"
#include "parsers/header_places.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/ipv4.hpp"
#include "parsers/ipv6.hpp"
#include "parsers/network_layer.hpp"
#include "parsers/transport.hpp"
#include "parsers/tunnel.hpp"

namespace tributary {

namespace {

/// Parses the headers before the frame's first IP header, most often Ethernet's alone.
///
/// @param frame  what is parsed of the packet
[[gnu::always_inline]] inline LinkLayer parse_to_network_layer(const PacketView& packet,
                                                               CapturedBytes frame,
                                                               const ParseOptions& options,
                                                               PacketFields& fields) noexcept {
    if (packet.link_type != LinkType::ethernet) [[unlikely]] {
        return find_network_layer(frame, parse_link_layer(packet.link_type, frame, fields),
                                  packet.wire_bytes, options, fields);
    }
    const LinkLayer link = parse_ethernet(frame, 0, fields);
    if (link.ethertype == ethertype::kIpv4 || link.ethertype == ethertype::kIpv6) [[likely]] {
        return link;
    }
    return find_network_layer(frame, link, packet.wire_bytes, options, fields);
}

/// Parses an IP packet from its header to its transport ports. Inlined, because its arguments and
/// result would go through memory.
///
/// @param link  what find_network_layer() returned
[[gnu::always_inline]] inline IpLayer parse_ip_packet(CapturedBytes frame, LinkLayer link,
                                                      std::size_t wire_bytes,
                                                      PacketFields& fields) noexcept {
    if (link.status != ParseStatus::ok) {
        return {link.status};
    }
    const IpLayer ip = link.ethertype == ethertype::kIpv4
                           ? parse_ipv4(frame, link.payload_at, wire_bytes, fields)
                           : parse_ipv6(frame, link.payload_at, wire_bytes, fields);
    if (ip.status == ParseStatus::ok && !fields.is_later_fragment) {
        parse_transport(frame.before(ip.end), ip.payload_at, fields);
    }
    return ip;
}

/// The fields that stay when the parser goes on from an outer packet to the one inside: the frame's
/// link layer, and the tunnel between the two.
///
/// @param outer  has the MAC addresses of the tunnel's Ethernet frame, if it carries one
PacketFields inside_of(const PacketFields& outer, const Tunnel& tunnel,
                       const std::byte* addresses) noexcept {
    PacketFields fields;
    fields.mac_addresses = outer.mac_addresses;
    fields.outer_vlan = outer.outer_vlan;
    fields.customer_vlan = outer.customer_vlan;
    fields.vlan_tags = outer.vlan_tags;
    fields.mpls_stack = outer.mpls_stack;
    fields.mpls_labels = outer.mpls_labels;
    fields.tunnel = {.addresses = addresses,
                     .id = tunnel.id,
                     .kind = tunnel.kind,
                     .ip_version = outer.ip_version};
    return fields;
}

bool is_truncated(ParseStatus status) noexcept {
    switch (status) {
        case ParseStatus::truncated_link_header:
        case ParseStatus::truncated_vlan_tag:
        case ParseStatus::truncated_mpls_label:
        case ParseStatus::truncated_ppp_header:
        case ParseStatus::truncated_ipv4_header:
        case ParseStatus::truncated_ipv6_header:
            return true;
        default:
            return false;
    }
}

/// The addresses of the IP header at `at`, which was parsed before.
const std::byte* addresses_of(CapturedBytes frame, std::size_t at, std::uint8_t version) noexcept {
    return version == 4 ? frame.header<20>(at).bytes<12, 8>() : frame.header<40>(at).bytes<8, 32>();
}

/// Notes the cut header if it is why nothing was found inside a tunnel. A cut of the outer packet
/// itself comes first: it is also the reason for a cut behind it.
void note_cut(CapturedBytes packet, ParseStatus inner, PacketFields& fields) noexcept {
    if (packet.cut() && is_truncated(inner) && fields.cut_header == CutHeader::none) {
        fields.cut_header = CutHeader::tunnel_header;
    }
}

/// A packet whose IP header was parsed, with the frame around it.
struct WholePacket {
    CapturedBytes frame;
    std::size_t wire_bytes;  ///< the frame's length on the wire
    IpLayer ip;
};

/// Goes on to the packet inside the tunnels of a packet, as far as one is there and whole; the last
/// good one counts.
///
/// @param whole  that of `fields`
/// @param note   called with the IpLayer of each packet inside that is good
template <class Note>
void parse_tunnelled(WholePacket whole, const ParseOptions& options, PacketFields& fields,
                     Note note) noexcept {
    auto& [frame, wire_bytes, ip] = whole;
    for (int depth = 0; depth < kMostTunnels && !fields.is_fragment(); ++depth) {
        const CapturedBytes packet = frame.before(ip.end);
        PacketFields outer = fields;
        wire_bytes = std::min(wire_bytes, ip.end);
        const Tunnel tunnel = find_tunnel(packet, ip.payload_at, wire_bytes, outer);
        if (tunnel.kind == TunnelKind::none) {
            return;
        }
        keep_outer_mac(fields.mac_addresses, options.mac_addresses, outer);
        PacketFields inner =
            inside_of(outer, tunnel, addresses_of(frame, ip.begins_at, fields.ip_version));
        const LinkLayer link =
            find_network_layer(packet, tunnel.payload, wire_bytes, options, inner);
        const IpLayer inner_ip = parse_ip_packet(packet, link, wire_bytes, inner);
        if (inner_ip.status != ParseStatus::ok) {
            note_cut(packet, inner_ip.status, fields);
            return;
        }
        fields = inner;
        note(inner_ip);
        if (options.tcp_segments) {
            parse_tcp_segment(packet, inner_ip, fields);
        }
        ip = inner_ip;
        frame = packet;
    }
}

/// The walk over all headers of a frame. It is a template, because a place that is handed out of
/// the parser would go through memory, and few ask for it.
///
/// @param note  called with the IpLayer of the frame's first IP packet, then of each one inside
template <class Note>
[[gnu::always_inline]] inline ParseStatus parse_each_header(const PacketView& packet,
                                                            const ParseOptions& options,
                                                            PacketFields& fields,
                                                            Note note) noexcept {
    fields = PacketFields{};
    const CapturedBytes frame = bytes_to_parse(packet, options);
    const LinkLayer link = parse_to_network_layer(packet, frame, options, fields);
    const IpLayer ip = parse_ip_packet(frame, link, packet.wire_bytes, fields);
    if (ip.status != ParseStatus::ok) {
        return ip.status;
    }
    note(ip);
    if (options.tcp_segments) {
        parse_tcp_segment(frame, ip, fields);
    }
    if (options.tunnel == TunnelMode::inner) {
        parse_tunnelled({frame, packet.wire_bytes, ip}, options, fields, note);
    }
    return ParseStatus::ok;
}

/// Whether two results of the parser are of the same IP packet.
bool is_same_packet(const PacketFields& one, const PacketFields& other) noexcept {
    return one.ip_version == other.ip_version && one.protocol == other.protocol &&
           one.ip_bytes == other.ip_bytes && one.tunnel.kind == other.tunnel.kind &&
           one.source == other.source && one.destination == other.destination;
}

}  // namespace

ParseStatus parse_header_by_header(const PacketView& packet, const ParseOptions& options,
                                   PacketFields& fields) noexcept {
    return parse_each_header(packet, options, fields, [](const IpLayer& /*ip*/) {});
}

HeaderPlaces walk_to_headers(const PacketView& packet, const PacketFields& fields,
                             const ParseOptions& options, LastHeader last) noexcept {
    PacketFields again;
    IpLayer ip;
    const ParseStatus status =
        parse_each_header(packet, options, again, [&ip](const IpLayer& found) { ip = found; });
    if (status != ParseStatus::ok || !is_same_packet(again, fields)) {
        return {};
    }
    return header_places(packet, fields, ip, last);
}

ParseStatus parse_packet(const PacketView& packet, const ParseOptions& options,
                         PacketFields& fields) noexcept {
    return parse_plain(packet, options, fields) ? ParseStatus::ok
                                                : parse_header_by_header(packet, options, fields);
}

}  // namespace tributary
