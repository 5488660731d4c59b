// SPDX-License-Identifier: Apache-2.0
#include "export/record_elements.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "export/enterprise_elements.hpp"
#include "export/reverse_elements.hpp"

namespace tributary {
namespace {

enum class Group : std::uint8_t {
    common,  ///< of the core: what both directions of a biflow share
    core,    ///< of the core: what a direction of its own has
    biflow,  ///< of the group `reverse`: what the record as a whole has
    extremes,
    layer2,
    tcp_counts,
    flow_label,
    mpls,
    tunnel,
    fragments,
    tcp_analysis,
    tcp_handshake,  ///< of tcp-analysis, in biflows
    tcp_flags,      ///< of tcp-analysis, unless tcp-counts tells the same
};

/// In which templates an element stands, provided that its group is chosen.
enum class When : std::uint8_t {
    always,
    ipv4,
    ipv6,
    icmp_over_ipv4,
    icmp_over_ipv6,
    vlan,
    one_tag,
    two_tags,
    mac_addresses,
    mpls_labels,
    any_tunnel,
    over_ipv4,
    over_ipv6,
    vxlan,
    tcp,
    tcp_size,
    milliseconds,
    microseconds,
    nanoseconds,
};

struct Element {
    const char* name;
    Take take;
    std::size_t offset;  ///< in its group
    When when = When::always;
    Group group = Group::common;
};

constexpr std::size_t in_key(std::size_t offset) { return offsetof(FlowRecordCore, key) + offset; }
constexpr std::size_t kDestinationPort = in_key(offsetof(FlowKey, destination_port));
constexpr std::size_t kStart = offsetof(FlowRecordCore, start);
constexpr std::size_t kEnd = offsetof(FlowRecordCore, end);
constexpr std::size_t kOuterSource = offsetof(TunnelGroup, source);
constexpr std::size_t kOuterDestination = offsetof(TunnelGroup, destination);

/// @param number  of the section, from 1 at the top of the stack
constexpr Element mpls_section(const char* name, std::size_t number) {
    return {name, Take::octets3, offsetof(MplsGroup, sections) + 3 * (number - 1),
            When::mpls_labels, Group::mpls};
}

constexpr Element tcp_count(const char* name, std::size_t offset) {
    return {name, Take::octets4, offset, When::always, Group::tcp_counts};
}

constexpr Element tcp_analysis(const char* name, Take take, std::size_t offset,
                               When when = When::tcp, Group group = Group::tcp_analysis) {
    return {name, take, offset, when, group};
}

// All that is exported, in the order of the wire. Sizes are those of the record; where the registry
// has larger ones that is reduced-size encoding (RFC 7011 §6.2).
constexpr std::array kElements{
    Element{"sourceIPv4Address", Take::ipv4_address, in_key(offsetof(FlowKey, source)), When::ipv4},
    Element{"destinationIPv4Address", Take::ipv4_address, in_key(offsetof(FlowKey, destination)),
            When::ipv4},
    Element{"sourceIPv6Address", Take::octets16, in_key(offsetof(FlowKey, source)), When::ipv6},
    Element{"destinationIPv6Address", Take::octets16, in_key(offsetof(FlowKey, destination)),
            When::ipv6},
    Element{"sourceTransportPort", Take::octets2, in_key(offsetof(FlowKey, source_port))},
    Element{"destinationTransportPort", Take::octets2, kDestinationPort},
    Element{"icmpTypeCodeIPv4", Take::octets2, kDestinationPort, When::icmp_over_ipv4},
    Element{"icmpTypeCodeIPv6", Take::octets2, kDestinationPort, When::icmp_over_ipv6},
    Element{"protocolIdentifier", Take::octets1, in_key(offsetof(FlowKey, protocol))},
    Element{"ipVersion", Take::octets1, in_key(offsetof(FlowKey, ip_version))},
    Element{"ipClassOfService", Take::octets1, offsetof(FlowRecordCore, ip_class_of_service),
            When::always, Group::core},
    Element{"tcpControlBits", Take::octets2, offsetof(FlowRecordCore, tcp_control_bits),
            When::always, Group::core},
    Element{"ingressInterface", Take::octets4, in_key(offsetof(FlowKey, ingress_interface))},
    Element{"vlanId", Take::octets2, in_key(offsetof(FlowKey, vlan)), When::vlan},
    Element{"octetDeltaCount", Take::octets8, offsetof(FlowRecordCore, octets), When::always,
            Group::core},
    Element{"packetDeltaCount", Take::octets8, offsetof(FlowRecordCore, packets), When::always,
            Group::core},
    Element{"flowStartMilliseconds", Take::milliseconds, kStart, When::milliseconds, Group::core},
    Element{"flowEndMilliseconds", Take::milliseconds, kEnd, When::milliseconds, Group::core},
    Element{"flowStartMicroseconds", Take::ntp_microseconds, kStart, When::microseconds,
            Group::core},
    Element{"flowEndMicroseconds", Take::ntp_microseconds, kEnd, When::microseconds, Group::core},
    Element{"flowStartNanoseconds", Take::ntp_nanoseconds, kStart, When::nanoseconds, Group::core},
    Element{"flowEndNanoseconds", Take::ntp_nanoseconds, kEnd, When::nanoseconds, Group::core},
    Element{"flowEndReason", Take::octets1, offsetof(FlowRecordCore, end_reason)},
    Element{"biflowDirection", Take::octets1, offsetof(ReverseGroup, biflow_direction),
            When::always, Group::biflow},

    Element{"minimumIpTotalLength", Take::octets4, offsetof(ExtremesGroup, minimum_ip_total_length),
            When::always, Group::extremes},
    Element{"maximumIpTotalLength", Take::octets4, offsetof(ExtremesGroup, maximum_ip_total_length),
            When::always, Group::extremes},
    Element{"minimumTTL", Take::octets1, offsetof(ExtremesGroup, minimum_ttl), When::always,
            Group::extremes},
    Element{"maximumTTL", Take::octets1, offsetof(ExtremesGroup, maximum_ttl), When::always,
            Group::extremes},

    Element{"sourceMacAddress", Take::octets6, offsetof(Layer2Group, source_mac),
            When::mac_addresses, Group::layer2},
    Element{"destinationMacAddress", Take::octets6, offsetof(Layer2Group, destination_mac),
            When::mac_addresses, Group::layer2},
    Element{"layer2OctetDeltaCount", Take::octets8, offsetof(Layer2Group, layer2_octets),
            When::always, Group::layer2},
    Element{"dot1qVlanId", Take::octets2, offsetof(Layer2Group, dot1q_vlan), When::one_tag,
            Group::layer2},
    Element{"dot1qCustomerVlanId", Take::octets2, offsetof(Layer2Group, dot1q_customer_vlan),
            When::two_tags, Group::layer2},

    tcp_count("tcpSynTotalCount", offsetof(TcpCountsGroup, syn)),
    tcp_count("tcpFinTotalCount", offsetof(TcpCountsGroup, fin)),
    tcp_count("tcpRstTotalCount", offsetof(TcpCountsGroup, rst)),
    tcp_count("tcpPshTotalCount", offsetof(TcpCountsGroup, psh)),
    tcp_count("tcpAckTotalCount", offsetof(TcpCountsGroup, ack)),
    tcp_count("tcpUrgTotalCount", offsetof(TcpCountsGroup, urg)),

    Element{"flowLabelIPv6", Take::octets4, offsetof(FlowLabelGroup, flow_label), When::ipv6,
            Group::flow_label},

    mpls_section("mplsTopLabelStackSection", 1),
    mpls_section("mplsLabelStackSection2", 2),
    mpls_section("mplsLabelStackSection3", 3),
    mpls_section("mplsLabelStackSection4", 4),
    mpls_section("mplsLabelStackSection5", 5),
    mpls_section("mplsLabelStackSection6", 6),
    mpls_section("mplsLabelStackSection7", 7),
    mpls_section("mplsLabelStackSection8", 8),
    mpls_section("mplsLabelStackSection9", 9),
    mpls_section("mplsLabelStackSection10", MplsGroup::kSections),

    // Not the flow's own address elements once more: a collector that does not expect them twice
    // (RFC 7011 §8) would take the outer addresses for the flow's.
    Element{"tunnelType", Take::octets1, offsetof(TunnelGroup, kind), When::any_tunnel,
            Group::tunnel},
    Element{"tunnelId", Take::octets4, offsetof(TunnelGroup, id), When::any_tunnel, Group::tunnel},
    Element{"tunnelSourceIPv4Address", Take::ipv4_address, kOuterSource, When::over_ipv4,
            Group::tunnel},
    Element{"tunnelDestinationIPv4Address", Take::ipv4_address, kOuterDestination, When::over_ipv4,
            Group::tunnel},
    Element{"tunnelSourceIPv6Address", Take::octets16, kOuterSource, When::over_ipv6,
            Group::tunnel},
    Element{"tunnelDestinationIPv6Address", Take::octets16, kOuterDestination, When::over_ipv6,
            Group::tunnel},
    Element{"layer2SegmentId", Take::vxlan_segment, offsetof(TunnelGroup, id), When::vxlan,
            Group::tunnel},

    Element{"fragmentFlags", Take::octets1, offsetof(FragmentsGroup, fragment_flags), When::always,
            Group::fragments},

    tcp_analysis("segments", Take::octets4, offsetof(TcpAnalysisGroup, segments)),
    tcp_analysis("dataSegments", Take::octets4, offsetof(TcpAnalysisGroup, data_segments)),
    tcp_analysis("retransmissions", Take::octets4, offsetof(TcpAnalysisGroup, retransmissions)),
    tcp_analysis("retransmittedOctets", Take::octets8,
                 offsetof(TcpAnalysisGroup, retransmitted_octets)),
    tcp_analysis("duplicates", Take::octets4, offsetof(TcpAnalysisGroup, duplicates)),
    tcp_analysis("outOfOrder", Take::octets4, offsetof(TcpAnalysisGroup, out_of_order)),
    tcp_analysis("zeroWindow", Take::octets2, offsetof(TcpAnalysisGroup, zero_windows)),
    tcp_analysis("keepAlives", Take::octets4, offsetof(TcpAnalysisGroup, keep_alives)),
    tcp_analysis("tcpAnalysisOverflow", Take::octets2, offsetof(TcpAnalysisGroup, overflow)),
    tcp_analysis("flowSize", Take::octets4, offsetof(TcpAnalysisGroup, flow_size), When::tcp_size),
    tcp_analysis("flowDurationNanoseconds", Take::octets8, offsetof(TcpAnalysisGroup, duration),
                 When::tcp_size),
    tcp_analysis("tcpSequenceNumber", Take::octets4, offsetof(TcpAnalysisGroup, sequence)),
    tcp_analysis("tcpWindowSize", Take::octets2, offsetof(TcpAnalysisGroup, window)),
    tcp_analysis("tcpSynTotalCount", Take::octets2, offsetof(TcpAnalysisGroup, syn), When::tcp,
                 Group::tcp_flags),
    tcp_analysis("tcpFinTotalCount", Take::octets2, offsetof(TcpAnalysisGroup, fin), When::tcp,
                 Group::tcp_flags),
    tcp_analysis("tcpRstTotalCount", Take::octets2, offsetof(TcpAnalysisGroup, rst), When::tcp,
                 Group::tcp_flags),
    tcp_analysis("tcpHandshakeNanoseconds", Take::octets4, offsetof(TcpAnalysisGroup, handshake),
                 When::tcp, Group::tcp_handshake),
};

constexpr auto kReverseNames = [] {
    std::array<ReverseName, kElements.size()> names;
    for (std::size_t index = 0; index < names.size(); ++index) {
        names[index] = ReverseName(kElements[index].name);
    }
    return names;
}();

std::optional<std::size_t> chosen(std::size_t at) {
    return at == 0 ? std::nullopt : std::optional<std::size_t>(at);
}

/// Where the group lies in a record; nothing when it was not chosen.
std::optional<std::size_t> place_of(Group group, const RecordLayout& layout, bool is_biflow) {
    switch (group) {
        case Group::biflow:
            return chosen(layout.reverse_at);
        case Group::extremes:
            return chosen(layout.extremes_at);
        case Group::layer2:
            return chosen(layout.layer2_at);
        case Group::tcp_counts:
            return chosen(layout.tcp_counts_at);
        case Group::flow_label:
            return chosen(layout.flow_label_at);
        case Group::mpls:
            return chosen(layout.mpls_at);
        case Group::tunnel:
            return chosen(layout.tunnel_at);
        case Group::fragments:
            return chosen(layout.fragments_at);
        case Group::tcp_analysis:
        case Group::tcp_flags:
            return chosen(layout.tcp_analysis_at);
        case Group::tcp_handshake:
            return is_biflow ? chosen(layout.tcp_analysis_at) : std::nullopt;
        case Group::common:
        case Group::core:
            break;
    }
    return 0;
}

/// Where the group lies in the reverse direction's part of a record; nothing when it has none
/// there.
std::optional<std::size_t> reverse_place_of(Group group, const RecordLayout& layout) {
    switch (group) {
        case Group::common:
        case Group::biflow:
            return std::nullopt;
        case Group::core:
            return layout.reverse_at - kReverseShift;
        default:
            return place_of(group, layout.reversed(), true);
    }
}

bool applies(When when, TunnelShape tunnel) {
    const bool is_vxlan =
        tunnel == TunnelShape::vxlan_over_ipv4 || tunnel == TunnelShape::vxlan_over_ipv6;
    const bool over_ipv6 =
        tunnel == TunnelShape::over_ipv6 || tunnel == TunnelShape::vxlan_over_ipv6;
    switch (when) {
        case When::over_ipv4:
            return tunnel != TunnelShape::none && !over_ipv6;
        case When::over_ipv6:
            return over_ipv6;
        case When::vxlan:
            return is_vxlan;
        default:
            return tunnel != TunnelShape::none;
    }
}

bool applies(When when, TimestampUnit timestamps) {
    switch (when) {
        case When::milliseconds:
            return timestamps == TimestampUnit::milliseconds;
        case When::microseconds:
            return timestamps == TimestampUnit::microseconds;
        default:
            return timestamps == TimestampUnit::nanoseconds;
    }
}

bool applies(When when, const RecordShape& shape, TimestampUnit timestamps) {
    switch (when) {
        case When::always:
            return true;
        case When::ipv4:
            return !shape.ipv6;
        case When::ipv6:
            return shape.ipv6;
        case When::icmp_over_ipv4:
            return shape.icmp && !shape.ipv6;
        case When::icmp_over_ipv6:
            return shape.icmp && shape.ipv6;
        case When::vlan:
            return shape.vlan;
        case When::one_tag:
            return shape.dot1q_tags >= 1;
        case When::two_tags:
            return shape.dot1q_tags >= 2;
        case When::mac_addresses:
            return !shape.no_mac_addresses;
        case When::mpls_labels:
            return shape.mpls_labels;
        case When::tcp:
            return shape.tcp != TcpShape::none;
        case When::tcp_size:
            return shape.tcp == TcpShape::with_size;
        case When::any_tunnel:
        case When::over_ipv4:
        case When::over_ipv6:
        case When::vxlan:
            return applies(when, shape.tunnel);
        case When::milliseconds:
        case When::microseconds:
        case When::nanoseconds:
            break;
    }
    return applies(when, timestamps);
}

KeyRole key_role_of(const Element& element) {
    if (element.group == Group::tunnel) {
        return element.when == When::vxlan ? KeyRole::none  // it says the same as tunnelId
                                           : KeyRole::with_tunnel_in_key;
    }
    constexpr std::size_t kKey = in_key(0);
    const bool is_in_key = element.group == Group::common && element.offset >= kKey &&
                           element.offset < kKey + sizeof(FlowKey);
    return is_in_key ? KeyRole::always : KeyRole::none;
}

/// Whether an element was chosen, if its group has a place.
bool is_chosen(const Element& element, const PartialGroups& partial) {
    if (partial == PartialGroups{}) {
        return true;
    }
    const auto* const found =
        std::ranges::find(kGroupElements, std::string_view(element.name), &GroupElement::name);
    return found == kGroupElements.end() || !(partial.groups.*(found->group)) ||
           partial.elements[static_cast<std::size_t>(found - kGroupElements.begin())];
}

/// Whether records of this layout have an element, if its group has a place.
bool is_told(const Element& element, const RecordLayout& layout, const PartialGroups& partial) {
    const bool is_twice = element.group == Group::tcp_flags && layout.tcp_counts_at != 0;
    return is_twice != is_chosen(element, partial);
}

/// Appends the reverse direction's fields, which are those of the first in the same order.
void append_reverse_fields(std::vector<TemplateField>& fields, RecordShape shape,
                           const RecordLayout& layout, TimestampUnit timestamps,
                           const PartialGroups& partial) {
    shape.tunnel = shape.reverse_tunnel();
    for (std::size_t index = 0; index < kElements.size(); ++index) {
        const Element& element = kElements[index];
        const auto place = reverse_place_of(element.group, layout);
        if (place && applies(element.when, shape, timestamps) &&
            is_told(element, layout, partial)) {
            fields.push_back({.element = kReverseNames[index].c_str(),
                              .of_enterprise = true,
                              .key = KeyRole::none,
                              .take = element.take,
                              .from = static_cast<std::uint16_t>(*place + element.offset)});
        }
    }
}

}  // namespace

std::vector<TemplateField> fields_of(const RecordShape& shape, const RecordLayout& layout,
                                     TimestampUnit timestamps, const PartialGroups& partial) {
    std::vector<TemplateField> fields;
    for (const Element& element : kElements) {
        const auto place = place_of(element.group, layout, layout.reverse_at != 0);
        if (place && applies(element.when, shape, timestamps) &&
            is_told(element, layout, partial)) {
            fields.push_back(
                {.element = element.name,
                 .of_enterprise = tributary_element(element.name) != TributaryElement::none,
                 .key = key_role_of(element),
                 .take = element.take,
                 .from = static_cast<std::uint16_t>(*place + element.offset)});
        }
    }
    if (shape.has_reverse()) {
        append_reverse_fields(fields, shape, layout, timestamps, partial);
    }
    return fields;
}

}  // namespace tributary
