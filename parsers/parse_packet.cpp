// SPDX-License-Identifier: Apache-2.0
#include "parsers/parse_packet.hpp"

#include <cstddef>

#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/ipv4.hpp"
#include "parsers/ipv6.hpp"
#include "parsers/transport.hpp"

namespace tributary {

namespace {

LinkLayer parse_link_layer(LinkType type, CapturedBytes frame, PacketFields& fields) noexcept {
    switch (type) {
        case LinkType::ethernet:
            return parse_ethernet(frame, 0, fields);
    }
    return {ParseStatus::unknown_link_type};
}

IpLayer parse_network_layer(const PacketView& packet, CapturedBytes frame, LinkLayer link,
                            PacketFields& fields) noexcept {
    switch (link.ethertype) {
        case ethertype::kIpv4:
            return parse_ipv4(frame, link.payload_at, packet.wire_bytes, fields);
        case ethertype::kIpv6:
            return parse_ipv6(frame, link.payload_at, fields);
        default:
            return {status_of_other_payload(link.ethertype)};
    }
}

}  // namespace

ParseStatus parse_packet(const PacketView& packet, PacketFields& fields) noexcept {
    fields = PacketFields{};
    const CapturedBytes frame(packet.captured);
    const LinkLayer link = parse_link_layer(packet.link_type, frame, fields);
    if (link.status != ParseStatus::ok) {
        return link.status;
    }
    const IpLayer ip = parse_network_layer(packet, frame, link, fields);
    if (ip.status != ParseStatus::ok) {
        return ip.status;
    }
    if (!ip.is_later_fragment) {
        parse_transport(frame.before(ip.end), ip.payload_at, fields);
    }
    return ParseStatus::ok;
}

}  // namespace tributary
