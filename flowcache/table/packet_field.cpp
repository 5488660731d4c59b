// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/packet_field.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "flowcache/fields/mpls.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

namespace {

constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();

/// What each field has of its own.
struct Row {
    std::string_view name;
    std::uint8_t id;
    std::uint16_t number;
    Encoding encoding;
    std::size_t offset;
    std::size_t octets;
    std::string_view meaning;
};

/// A number of IANA's in a member of PacketFields. What differs is set by the functions below.
constexpr PacketField number(const Row& row) noexcept {
    return {.name = row.name,
            .id = row.id,
            .number = row.number,
            .owner = ElementOwner::iana,
            .encoding = row.encoding,
            .meaning = row.meaning,
            .source = FieldSource::fields,
            .offset = static_cast<std::uint16_t>(row.offset),
            .octets = static_cast<std::uint8_t>(row.octets),
            .shift = 0,
            .mask = kAll,
            .key_member = KeyMember::extension,
            .side = FieldSide::none,
            .counterpart = {},
            .is_numeric = true,
            .in_unified_headers = true,
            .first_is_element = true};
}
/// Octets that are no number.
constexpr PacketField octets(FieldSource source, const Row& row) noexcept {
    PacketField field = number(row);
    field.source = source;
    field.is_numeric = false;
    field.in_unified_headers = false;
    return field;
}
constexpr PacketField from(FieldSource source, PacketField field) noexcept {
    field.source = source;
    return field;
}
constexpr PacketField bits(unsigned shift, std::uint32_t mask, PacketField field) noexcept {
    field.shift = static_cast<std::uint8_t>(shift);
    field.mask = mask;
    return field;
}
/// A member of KeyDescriptor, which the core of records has.
constexpr PacketField in_key(KeyMember member, PacketField field) noexcept {
    field.key_member = member;
    field.first_is_element = false;
    return field;
}
/// In records the element has another meaning than that of the first packet.
constexpr PacketField not_of_first(PacketField field) noexcept {
    field.first_is_element = false;
    return field;
}
constexpr PacketField of_side(FieldSide side, std::string_view counterpart,
                              PacketField field) noexcept {
    field.side = side;
    field.counterpart = counterpart;
    return field;
}
constexpr PacketField of_frames(PacketField field) noexcept {
    field.in_unified_headers = false;
    return field;
}
constexpr PacketField of_unified_headers(PacketField field) noexcept {
    field.in_unified_headers = true;
    return field;
}
/// An element of tributary's own; 0: one for each IP version.
constexpr PacketField of_tributary(PacketField field) noexcept {
    field.owner = ElementOwner::tributary;
    field.first_is_element = false;
    return field;
}
/// @param section  from 1 at the top of the stack
constexpr PacketField mpls_section(unsigned section) noexcept {
    constexpr unsigned kFirstId = 28;
    constexpr unsigned kEntry = 4;
    const FieldElement& element = kMplsElements[section - 1];
    return octets(FieldSource::mpls_section,
                  {element.name, static_cast<std::uint8_t>(kFirstId + section), element.number,
                   element.encoding, std::size_t{kEntry} * (section - 1), 3,
                   section == 1 ? "label, traffic class and bottom-of-stack bit of the top entry"
                                : "the same of the next entry below; 0 below the bottom"});
}

constexpr std::array kPacketFields = [] {
    using F = PacketFields;
    using V = PacketView;
    using E = Encoding;
    using S = FieldSource;
    using K = KeyMember;
    constexpr std::size_t kClassOfService = offsetof(F, ip_class_of_service);
    constexpr std::size_t kIcmp = offsetof(F, destination_port);
    constexpr std::size_t kTunnelId = offsetof(F, tunnel) + offsetof(TunnelFields, id);
    constexpr std::size_t kTunnelKind = offsetof(F, tunnel) + offsetof(TunnelFields, kind);
    constexpr std::uint32_t kOctet = 0xFF;
    return std::array{
        of_unified_headers(in_key(
            K::source_address,
            of_side(FieldSide::source, "destinationAddress",
                    octets(S::source_address,
                           {"sourceAddress", 1, 0, E::octets16, 0, 16,
                            "`sourceIPv4Address` or `sourceIPv6Address`; with prefix lengths of "
                            "IPv4 and IPv6, as in `sourceAddress/24/56`, that prefix"})))),
        of_unified_headers(in_key(
            K::destination_address,
            of_side(FieldSide::destination, "sourceAddress",
                    octets(S::destination_address, {"destinationAddress", 2, 0, E::octets16, 0, 16,
                                                    "the same of the destination"})))),
        in_key(K::source_port,
               of_side(FieldSide::source, "destinationTransportPort",
                       number({"sourceTransportPort", 3, 7, E::unsigned2, offsetof(F, source_port),
                               2, "0 where there are none"}))),
        in_key(K::destination_port,
               of_side(FieldSide::destination, "sourceTransportPort",
                       number({"destinationTransportPort", 4, 11, E::unsigned2,
                               offsetof(F, destination_port), 2,
                               "0 where there are none; of ICMP type * 256 + code"}))),
        in_key(K::protocol, number({"protocolIdentifier", 5, 4, E::octets1, offsetof(F, protocol),
                                    1, "behind all IPv6 extension headers"})),
        in_key(K::ip_version,
               number({"ipVersion", 6, 60, E::octets1, offsetof(F, ip_version), 1, "4 or 6"})),
        in_key(K::vlan, number({"vlanId", 7, 58, E::unsigned2, offsetof(F, outer_vlan), 2,
                                "of the first tag; 0 without one, and of a priority tag"})),
        in_key(K::ingress_interface, from(S::view, number({"ingressInterface", 8, 10, E::unsigned4,
                                                           offsetof(V, ingress_interface), 4,
                                                           "`interface-index` of the input"}))),
        bits(2, 0x3F,
             number({"ipDiffServCodePoint", 9, 195, E::octets1, kClassOfService, 1,
                     "the upper six bits of ToS or traffic class"})),
        number({"ipClassOfService", 10, 5, E::octets1, kClassOfService, 1, "ToS or traffic class"}),
        number({"ipTTL", 11, 192, E::octets1, offsetof(F, ttl), 1, "or hop limit"}),
        number({"ipTotalLength", 12, 224, E::unsigned4, offsetof(F, ip_bytes), 4,
                "octets of the IP packet"}),
        not_of_first(number({"tcpControlBits", 13, 6, E::unsigned2, offsetof(F, tcp_control_bits),
                             2, "0 unless TCP"})),
        not_of_first(number({"fragmentFlags", 14, 197, E::octets1, offsetof(F, fragment_flags), 1,
                             "0x40 (IPv4: don't fragment), 0x20 (more fragments)"})),
        of_frames(number({"fragmentIdentification", 15, 54, E::unsigned4, offsetof(F, fragment_id),
                          4, "of IPv6 0 without a fragment header"})),
        of_frames(number(
            {"flowLabelIPv6", 16, 31, E::unsigned4, offsetof(F, flow_label), 4, "0 of IPv4"})),
        not_of_first(from(S::icmp, number({"icmpTypeCodeIPv4", 17, 32, E::unsigned2, kIcmp, 2,
                                           "type * 256 + code of ICMP over IPv4; otherwise 0"}))),
        not_of_first(from(S::icmp_v6, number({"icmpTypeCodeIPv6", 18, 139, E::unsigned2, kIcmp, 2,
                                              "the same of ICMPv6 over IPv6"}))),
        bits(8, kOctet,
             from(S::icmp, number({"icmpTypeIPv4", 19, 176, E::octets1, kIcmp, 2,
                                   "of ICMP over IPv4; otherwise 0"}))),
        bits(0, kOctet,
             from(S::icmp, number({"icmpCodeIPv4", 20, 177, E::octets1, kIcmp, 2,
                                   "of ICMP over IPv4, otherwise 0"}))),
        bits(8, kOctet,
             from(S::icmp_v6, number({"icmpTypeIPv6", 21, 178, E::octets1, kIcmp, 2,
                                      "of ICMPv6 over IPv6; otherwise 0"}))),
        bits(0, kOctet,
             from(S::icmp_v6, number({"icmpCodeIPv6", 22, 179, E::octets1, kIcmp, 2,
                                      "of ICMPv6 over IPv6, otherwise 0"}))),
        of_frames(number({"dot1qCustomerVlanId", 23, 245, E::unsigned2, offsetof(F, customer_vlan),
                          2, "of the second tag; 0 without one"})),
        of_frames(of_tributary(number({"vlanTagCount", 24, 19, E::octets1, offsetof(F, vlan_tags),
                                       1, "VLAN tags of the frame, at most 255"}))),
        of_side(FieldSide::source, "destinationMacAddress",
                octets(S::mac_address,
                       {"sourceMacAddress", 25, 56, E::octets6, 6, 6,
                        "of the frame that `flows.mac-addresses` says; 0 on links without"})),
        of_side(FieldSide::destination, "sourceMacAddress",
                octets(S::mac_address, {"destinationMacAddress", 26, 80, E::octets6, 0, 6,
                                        "the same of the destination"})),
        of_frames(from(S::ether_type,
                       number({"ethernetType", 27, 256, E::unsigned2, 0, 2,
                               "behind the VLAN tags of the outermost frame; 0 of frames with a "
                               "length there, and on links without"}))),
        of_frames(number({"mplsLabelStackDepth", 28, 202, E::octets1, offsetof(F, mpls_labels), 1,
                          "entries of the first label stack, at most 255"})),
        mpls_section(1),
        mpls_section(2),
        mpls_section(3),
        mpls_section(4),
        mpls_section(5),
        mpls_section(6),
        mpls_section(7),
        mpls_section(8),
        mpls_section(9),
        mpls_section(10),
        of_frames(of_tributary(number(
            {"tunnelType", 39, 1, E::octets1, kTunnelKind, 1,
             "0 none, 1 IP in IP, 2 GRE, 3 ERSPAN, 4 VXLAN, 5 GENEVE, 6 GTP-U; like the next "
             "three it is that of the tunnel right around the packet, and needs "
             "`flows.tunnel: inner`"}))),
        of_frames(of_tributary(number({"tunnelId", 40, 2, E::unsigned4, kTunnelId, 4,
                                       "VNI, GRE key, ERSPAN session id or TEID; 0 without one"}))),
        of_tributary(of_side(
            FieldSide::source, "tunnelDestinationAddress",
            octets(S::tunnel_source,
                   {"tunnelSourceAddress", 41, 0, E::octets16, 0, 16,
                    "outer source: `tunnelSourceIPv4Address` or `tunnelSourceIPv6Address`; prefix "
                    "lengths as with `sourceAddress`"}))),
        of_tributary(
            of_side(FieldSide::destination, "tunnelSourceAddress",
                    octets(S::tunnel_destination, {"tunnelDestinationAddress", 42, 0, E::octets16,
                                                   0, 16, "the same of the outer destination"}))),
        from(S::view, number({"dataLinkFrameSize", 43, 312, E::unsigned2, offsetof(V, wire_bytes),
                              4, "length of the frame on the wire; in a key at most 65535"})),
        from(S::time,
             number({"observationTimeSeconds", 44, 322, E::unsigned4, 0, 4,
                     "time of the packet, seconds since 1970; with an interval, as in "
                     "`observationTimeSeconds/60`, the multiple of that many seconds before it"})),
    };
}();

constexpr bool are_ids_distinct() noexcept {
    std::uint64_t seen = 0;
    for (const PacketField& field : kPacketFields) {
        const std::uint64_t bit = std::uint64_t{1} << field.id;
        if (field.id == 0 || field.id >= 64 || (seen & bit) != 0) {
            return false;
        }
        seen |= bit;
    }
    return true;
}
static_assert(are_ids_distinct());

/// An element of packets that is no row, and the row to name instead.
struct Instead {
    std::string_view element;
    std::string_view field;
};
constexpr auto kInstead = std::to_array<Instead>({
    {"sourceIPv4Address", "sourceAddress"},
    {"sourceIPv6Address", "sourceAddress"},
    {"sourceIPv4Prefix", "sourceAddress"},
    {"sourceIPv6Prefix", "sourceAddress"},
    {"destinationIPv4Address", "destinationAddress"},
    {"destinationIPv6Address", "destinationAddress"},
    {"destinationIPv4Prefix", "destinationAddress"},
    {"destinationIPv6Prefix", "destinationAddress"},
    {"tunnelSourceIPv4Address", "tunnelSourceAddress"},
    {"tunnelSourceIPv6Address", "tunnelSourceAddress"},
    {"tunnelDestinationIPv4Address", "tunnelDestinationAddress"},
    {"tunnelDestinationIPv6Address", "tunnelDestinationAddress"},
    {"layer2SegmentId", "tunnelId"},
    {"dot1qVlanId", "vlanId"},
    {"udpSourcePort", "sourceTransportPort"},
    {"tcpSourcePort", "sourceTransportPort"},
    {"udpDestinationPort", "destinationTransportPort"},
    {"tcpDestinationPort", "destinationTransportPort"},
    {"minimumTTL", "ipTTL"},
    {"maximumTTL", "ipTTL"},
    {"minimumIpTotalLength", "ipTotalLength"},
    {"maximumIpTotalLength", "ipTotalLength"},
    {"octetDeltaCount", "ipTotalLength"},
    {"layer2OctetDeltaCount", "dataLinkFrameSize"},
    {"layer2OctetTotalCount", "dataLinkFrameSize"},
});

}  // namespace

std::span<const PacketField> packet_fields() noexcept { return kPacketFields; }

const PacketField* find_packet_field(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(kPacketFields, name, &PacketField::name);
    return found == kPacketFields.end() ? nullptr : found;
}

std::string_view field_instead_of(std::string_view element) noexcept {
    const auto* const found = std::ranges::find(kInstead, element, &Instead::element);
    return found == kInstead.end() ? std::string_view() : found->field;
}

}  // namespace tributary
