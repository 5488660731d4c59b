// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/record_elements.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "flowcache/record/flow_record.hpp"

// Which elements there are, from where in a record each is taken, and when a template has it.
// record_elements.cpp puts templates together from it, and nobody else reads it.
namespace tributary::element_table {

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
    selector,       ///< of the core, where inputs differ in sampling
    cert,           ///< of the core, where they are wanted (kCertElement)
    ntop,           ///< of tcp-analysis, where they are wanted (kNtopElements)
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
inline constexpr std::size_t kDestinationPort = in_key(offsetof(FlowKey, destination_port));
inline constexpr std::size_t kStart = offsetof(FlowRecordCore, start);
inline constexpr std::size_t kEnd = offsetof(FlowRecordCore, end);
inline constexpr std::size_t kOuterSource = offsetof(TunnelGroup, source);
inline constexpr std::size_t kOuterDestination = offsetof(TunnelGroup, destination);

/// @param number  of the section, from 1 at the top of the stack
constexpr Element mpls_section(const char* name, std::size_t number) {
    return {name, Take::octets3, offsetof(MplsGroup, sections) + 3 * (number - 1),
            When::mpls_labels, Group::mpls};
}

constexpr Element tcp_count(const char* name, std::size_t offset) {
    return {name, Take::unsigned4, offset, When::always, Group::tcp_counts};
}

constexpr Element tcp_analysis(const char* name, Take take, std::size_t offset,
                               When when = When::tcp, Group group = Group::tcp_analysis) {
    return {name, take, offset, when, group};
}

// All that is exported, in the order of the wire. Sizes are those of the record; where the registry
// has larger ones that is reduced-size encoding (RFC 7011 §6.2).
inline constexpr std::array kElements{
    Element{"sourceIPv4Address", Take::octets4, in_key(offsetof(FlowKey, source)), When::ipv4},
    Element{"destinationIPv4Address", Take::octets4, in_key(offsetof(FlowKey, destination)),
            When::ipv4},
    Element{"sourceIPv6Address", Take::octets16, in_key(offsetof(FlowKey, source)), When::ipv6},
    Element{"destinationIPv6Address", Take::octets16, in_key(offsetof(FlowKey, destination)),
            When::ipv6},
    Element{"sourceTransportPort", Take::unsigned2, in_key(offsetof(FlowKey, source_port))},
    Element{"destinationTransportPort", Take::unsigned2, kDestinationPort},
    Element{"icmpTypeCodeIPv4", Take::unsigned2, kDestinationPort, When::icmp_over_ipv4},
    Element{"icmpTypeCodeIPv6", Take::unsigned2, kDestinationPort, When::icmp_over_ipv6},
    Element{"protocolIdentifier", Take::octets1, in_key(offsetof(FlowKey, protocol))},
    Element{"ipVersion", Take::octets1, in_key(offsetof(FlowKey, ip_version))},
    Element{"ipClassOfService", Take::octets1, offsetof(FlowRecordCore, ip_class_of_service),
            When::always, Group::core},
    Element{"tcpControlBits", Take::unsigned2, offsetof(FlowRecordCore, tcp_control_bits),
            When::always, Group::core},
    Element{"ingressInterface", Take::unsigned4, in_key(offsetof(FlowKey, ingress_interface))},
    Element{"selectorId", Take::selector, in_key(offsetof(FlowKey, ingress_interface)),
            When::always, Group::selector},
    Element{"vlanId", Take::unsigned2, in_key(offsetof(FlowKey, vlan)), When::vlan},
    Element{"octetDeltaCount", Take::unsigned8, offsetof(FlowRecordCore, octets), When::always,
            Group::core},
    Element{"packetDeltaCount", Take::unsigned8, offsetof(FlowRecordCore, packets), When::always,
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

    Element{"minimumIpTotalLength", Take::unsigned4,
            offsetof(ExtremesGroup, minimum_ip_total_length), When::always, Group::extremes},
    Element{"maximumIpTotalLength", Take::unsigned4,
            offsetof(ExtremesGroup, maximum_ip_total_length), When::always, Group::extremes},
    Element{"minimumTTL", Take::octets1, offsetof(ExtremesGroup, minimum_ttl), When::always,
            Group::extremes},
    Element{"maximumTTL", Take::octets1, offsetof(ExtremesGroup, maximum_ttl), When::always,
            Group::extremes},

    Element{"sourceMacAddress", Take::octets6, offsetof(Layer2Group, source_mac),
            When::mac_addresses, Group::layer2},
    Element{"destinationMacAddress", Take::octets6, offsetof(Layer2Group, destination_mac),
            When::mac_addresses, Group::layer2},
    Element{"layer2OctetDeltaCount", Take::unsigned8, offsetof(Layer2Group, layer2_octets),
            When::always, Group::layer2},
    Element{"dot1qVlanId", Take::unsigned2, offsetof(Layer2Group, dot1q_vlan), When::one_tag,
            Group::layer2},
    Element{"dot1qCustomerVlanId", Take::unsigned2, offsetof(Layer2Group, dot1q_customer_vlan),
            When::two_tags, Group::layer2},

    tcp_count("tcpSynTotalCount", offsetof(TcpCountsGroup, syn)),
    tcp_count("tcpFinTotalCount", offsetof(TcpCountsGroup, fin)),
    tcp_count("tcpRstTotalCount", offsetof(TcpCountsGroup, rst)),
    tcp_count("tcpPshTotalCount", offsetof(TcpCountsGroup, psh)),
    tcp_count("tcpAckTotalCount", offsetof(TcpCountsGroup, ack)),
    tcp_count("tcpUrgTotalCount", offsetof(TcpCountsGroup, urg)),

    Element{"flowLabelIPv6", Take::unsigned4, offsetof(FlowLabelGroup, flow_label), When::ipv6,
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
    Element{"tunnelId", Take::unsigned4, offsetof(TunnelGroup, id), When::any_tunnel,
            Group::tunnel},
    Element{"tunnelSourceIPv4Address", Take::octets4, kOuterSource, When::over_ipv4, Group::tunnel},
    Element{"tunnelDestinationIPv4Address", Take::octets4, kOuterDestination, When::over_ipv4,
            Group::tunnel},
    Element{"tunnelSourceIPv6Address", Take::octets16, kOuterSource, When::over_ipv6,
            Group::tunnel},
    Element{"tunnelDestinationIPv6Address", Take::octets16, kOuterDestination, When::over_ipv6,
            Group::tunnel},
    Element{"layer2SegmentId", Take::vxlan_segment, offsetof(TunnelGroup, id), When::vxlan,
            Group::tunnel},

    Element{"fragmentFlags", Take::octets1, offsetof(FragmentsGroup, fragment_flags), When::always,
            Group::fragments},

    tcp_analysis("segments", Take::unsigned4, offsetof(TcpAnalysisGroup, segments)),
    tcp_analysis("dataSegments", Take::unsigned4, offsetof(TcpAnalysisGroup, data_segments)),
    tcp_analysis("retransmissions", Take::unsigned4, offsetof(TcpAnalysisGroup, retransmissions)),
    tcp_analysis("retransmittedOctets", Take::unsigned8,
                 offsetof(TcpAnalysisGroup, retransmitted_octets)),
    tcp_analysis("duplicates", Take::unsigned4, offsetof(TcpAnalysisGroup, duplicates)),
    tcp_analysis("outOfOrder", Take::unsigned4, offsetof(TcpAnalysisGroup, out_of_order)),
    tcp_analysis("zeroWindow", Take::unsigned2, offsetof(TcpAnalysisGroup, zero_windows)),
    tcp_analysis("keepAlives", Take::unsigned4, offsetof(TcpAnalysisGroup, keep_alives)),
    tcp_analysis("tcpAnalysisOverflow", Take::unsigned2, offsetof(TcpAnalysisGroup, overflow)),
    tcp_analysis("flowSize", Take::unsigned4, offsetof(TcpAnalysisGroup, flow_size),
                 When::tcp_size),
    tcp_analysis("flowDurationNanoseconds", Take::unsigned8, offsetof(TcpAnalysisGroup, duration),
                 When::tcp_size),
    tcp_analysis("tcpSequenceNumber", Take::unsigned4, offsetof(TcpAnalysisGroup, sequence)),
    tcp_analysis("tcpWindowSize", Take::unsigned2, offsetof(TcpAnalysisGroup, window)),
    tcp_analysis("tcpSynTotalCount", Take::unsigned2, offsetof(TcpAnalysisGroup, syn), When::tcp,
                 Group::tcp_flags),
    tcp_analysis("tcpFinTotalCount", Take::unsigned2, offsetof(TcpAnalysisGroup, fin), When::tcp,
                 Group::tcp_flags),
    tcp_analysis("tcpRstTotalCount", Take::unsigned2, offsetof(TcpAnalysisGroup, rst), When::tcp,
                 Group::tcp_flags),
    tcp_analysis("tcpHandshakeNanoseconds", Take::unsigned4, offsetof(TcpAnalysisGroup, handshake),
                 When::tcp, Group::tcp_handshake),
    Element{kCertElement.name, Take::octets1, offsetof(FlowRecordCore, tcp_control_bits),
            When::always, Group::cert},
    tcp_analysis("RETRANSMITTED_IN_PKTS", Take::unsigned4,
                 offsetof(TcpAnalysisGroup, retransmissions), When::tcp, Group::ntop),
    tcp_analysis("OOORDER_IN_PKTS", Take::unsigned4, offsetof(TcpAnalysisGroup, out_of_order),
                 When::tcp, Group::ntop),
};

/// What each is called in the other direction of a biflow; ntop's have names of their own.
inline constexpr auto kReverseNames = [] {
    std::array<ReverseName, kElements.size()> names;
    for (std::size_t index = 0; index < names.size(); ++index) {
        names[index] = ReverseName(kElements[index].name);
    }
    return names;
}();

}  // namespace tributary::element_table
