// SPDX-License-Identifier: Apache-2.0
#include "parsers/network_layer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "parsers/ethernet.hpp"
#include "parsers/mpls.hpp"
#include "parsers/ppp.hpp"

namespace tributary {

namespace {

/// An IP packet of the version in its first nibble.
LinkLayer parse_raw_ip(CapturedBytes frame) noexcept {
    const auto first = frame.header<1>(0);
    if (!first) {
        return {ParseStatus::truncated_link_header};
    }
    switch (first.u8<0>() >> 4U) {
        case 4:
            return {ParseStatus::ok, ethertype::kIpv4, 0};
        case 6:
            return {ParseStatus::ok, ethertype::kIpv6, 0};
        default:
            return {ParseStatus::not_ip};
    }
}

/// The address family in the byte order of the capturing host, which is unknown. Families are small
/// numbers, so the smaller reading is the right one. IPv6 has a number of its own on each BSD.
LinkLayer parse_loopback(CapturedBytes frame) noexcept {
    const auto header = frame.header<4>(0);
    if (!header) {
        return {ParseStatus::truncated_link_header};
    }
    const std::uint32_t big_endian = header.u32<0>();
    switch (std::min(big_endian, __builtin_bswap32(big_endian))) {
        case 2:
            return {ParseStatus::ok, ethertype::kIpv4, 4};
        case 10:  // Linux
        case 23:  // Windows
        case 24:  // NetBSD, OpenBSD
        case 28:  // FreeBSD
        case 30:  // Darwin
            return {ParseStatus::ok, ethertype::kIpv6, 4};
        default:
            return {ParseStatus::not_ip};
    }
}

/// A header of `Size` octets with an ethertype at `At`.
template <std::size_t Size, std::size_t At>
LinkLayer parse_cooked(CapturedBytes frame) noexcept {
    const auto header = frame.header<Size>(0);
    if (!header) {
        return {ParseStatus::truncated_link_header};
    }
    return {ParseStatus::ok, header.template u16<At>(), Size};
}

/// PPP that may begin with the address and control octets of HDLC (RFC 1662 §3.1).
LinkLayer parse_ppp_frame(CapturedBytes frame) noexcept {
    constexpr std::uint16_t kAllStationsUnnumbered = 0xff03;
    const auto first = frame.header<2>(0);
    return parse_ppp(frame, first && first.u16<0>() == kAllStationsUnnumbered ? 2 : 0);
}

/// IP behind an LLC and a SNAP header without a vendor code (RFC 1042).
LinkLayer parse_snap(CapturedBytes frame, std::size_t at) noexcept {
    const auto header = frame.header<8>(at);
    if (!header) {
        return {ParseStatus::truncated_link_header};
    }
    if (header.u32<0>() != 0xaaaa0300 || header.u16<4>() != 0 ||
        header.u16<6>() <= ethertype::kLastLlcLength) {
        return {ParseStatus::llc};
    }
    return {ParseStatus::ok, header.u16<6>(), at + 8};
}

/// Why a payload of this ethertype is in no flow.
ParseStatus status_of_other_payload(std::uint16_t type) noexcept {
    switch (type) {
        case ethertype::kArp:
            return ParseStatus::arp;
        case ethertype::kPppoeDiscovery:
            return ParseStatus::pppoe_discovery;
        default:
            return type <= ethertype::kLastLlcLength ? ParseStatus::llc
                                                     : ParseStatus::other_ethertype;
    }
}

/// Steps over one header that is no IP header.
LinkLayer step_over(CapturedBytes frame, LinkLayer link, std::size_t wire_bytes,
                    const ParseOptions& options, PacketFields& fields) noexcept {
    switch (link.ethertype) {
        case ethertype::kMplsUnicast:
        case ethertype::kMplsMulticast:
            return parse_mpls(frame, link.payload_at, wire_bytes, options.mpls_pseudowires, fields);
        case ethertype::kPppoeSession:
            return parse_pppoe(frame, link.payload_at);
        default:
            break;
    }
    if (is_vlan_tag(link.ethertype)) {
        return parse_vlan_tag(frame, link.payload_at, fields);
    }
    if (options.llc_snap && link.ethertype <= ethertype::kLastLlcLength) {
        return parse_snap(frame, link.payload_at);
    }
    return {status_of_other_payload(link.ethertype)};
}

}  // namespace

LinkLayer parse_link_layer(LinkType type, CapturedBytes frame, PacketFields& fields) noexcept {
    switch (type) {
        case LinkType::ethernet:
            return parse_ethernet(frame, 0, fields);
        case LinkType::raw_bsd:
        case LinkType::raw_openbsd:
        case LinkType::raw_ip:
        case LinkType::ipv4:
        case LinkType::ipv6:
            return parse_raw_ip(frame);
        case LinkType::null:
        case LinkType::openbsd_loopback:
            return parse_loopback(frame);
        case LinkType::linux_sll:
            return parse_cooked<16, 14>(frame);
        case LinkType::linux_sll2:
            return parse_cooked<20, 0>(frame);
        case LinkType::cisco_hdlc:
            return parse_cooked<4, 2>(frame);
        case LinkType::ppp:
        case LinkType::ppp_hdlc:
            return parse_ppp_frame(frame);
        case LinkType::pppoe:
            return parse_pppoe(frame, 0);
    }
    return {ParseStatus::unknown_link_type};
}

LinkLayer find_network_layer(CapturedBytes frame, LinkLayer link, std::size_t wire_bytes,
                             const ParseOptions& options, PacketFields& fields) noexcept {
    const std::byte* const outermost_mac = fields.mac_addresses;
    while (link.status == ParseStatus::ok && link.ethertype != ethertype::kIpv4 &&
           link.ethertype != ethertype::kIpv6) {
        link = step_over(frame, link, wire_bytes, options, fields);
    }
    keep_outer_mac(outermost_mac, options.mac_addresses, fields);
    return link;
}

}  // namespace tributary
