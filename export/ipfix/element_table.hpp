// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/record_elements.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "flowcache/record/flow_record.hpp"

// All elements: where in a record each is taken from, and when a template has it. Only
// record_elements.cpp, which makes the templates, reads this table.
namespace tributary::element_table {

enum class Group : std::uint8_t {
    common,  ///< of the core: values that both directions of a biflow share
    core,    ///< of the core: values of one direction
    biflow,  ///< of the group `reverse`: values of the record as a whole
    extremes,
    layer2,
    tcp_counts,
    flow_label,
    mpls,
    tunnel,
    fragments,
    tcp_analysis,
    tcp_handshake,  ///< of tcp-analysis, in biflows
    tcp_flags,      ///< of tcp-analysis, unless tcp-counts has the same
    selector,       ///< of the core, where inputs differ in sampling
    cert,           ///< of the core, with the option (kCertElement)
    ntop,           ///< of tcp-analysis, with the option (kNtopElements)
};

/// Which templates have an element, provided that its group is chosen.
enum class Condition : std::uint8_t {
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
    Encoding encoding;
    std::size_t offset;  ///< in its group
    Condition condition = Condition::always;
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
    return {name, Encoding::octets3, offsetof(MplsGroup, sections) + 3 * (number - 1),
            Condition::mpls_labels, Group::mpls};
}

constexpr Element tcp_count(const char* name, std::size_t offset) {
    return {name, Encoding::unsigned4, offset, Condition::always, Group::tcp_counts};
}

constexpr Element tcp_analysis(const char* name, Encoding encoding, std::size_t offset,
                               Condition condition = Condition::tcp,
                               Group group = Group::tcp_analysis) {
    return {name, encoding, offset, condition, group};
}

// All exported elements, in the order of the wire. Sizes are those of the record; where the
// registry has larger ones that is reduced-size encoding (RFC 7011 §6.2).
inline constexpr std::array kElements{
    Element{"sourceIPv4Address", Encoding::octets4, in_key(offsetof(FlowKey, source)),
            Condition::ipv4},
    Element{"destinationIPv4Address", Encoding::octets4, in_key(offsetof(FlowKey, destination)),
            Condition::ipv4},
    Element{"sourceIPv6Address", Encoding::octets16, in_key(offsetof(FlowKey, source)),
            Condition::ipv6},
    Element{"destinationIPv6Address", Encoding::octets16, in_key(offsetof(FlowKey, destination)),
            Condition::ipv6},
    Element{"sourceTransportPort", Encoding::unsigned2, in_key(offsetof(FlowKey, source_port))},
    Element{"destinationTransportPort", Encoding::unsigned2, kDestinationPort},
    Element{"icmpTypeCodeIPv4", Encoding::unsigned2, kDestinationPort, Condition::icmp_over_ipv4},
    Element{"icmpTypeCodeIPv6", Encoding::unsigned2, kDestinationPort, Condition::icmp_over_ipv6},
    Element{"protocolIdentifier", Encoding::octets1, in_key(offsetof(FlowKey, protocol))},
    Element{"ipVersion", Encoding::octets1, in_key(offsetof(FlowKey, ip_version))},
    Element{"ipClassOfService", Encoding::octets1, offsetof(FlowRecordCore, ip_class_of_service),
            Condition::always, Group::core},
    Element{"tcpControlBits", Encoding::unsigned2, offsetof(FlowRecordCore, tcp_control_bits),
            Condition::always, Group::core},
    Element{"ingressInterface", Encoding::unsigned4, in_key(offsetof(FlowKey, ingress_interface))},
    Element{"selectorId", Encoding::selector, in_key(offsetof(FlowKey, ingress_interface)),
            Condition::always, Group::selector},
    Element{"vlanId", Encoding::unsigned2, in_key(offsetof(FlowKey, vlan)), Condition::vlan},
    Element{"octetDeltaCount", Encoding::unsigned8, offsetof(FlowRecordCore, octets),
            Condition::always, Group::core},
    Element{"packetDeltaCount", Encoding::unsigned8, offsetof(FlowRecordCore, packets),
            Condition::always, Group::core},
    Element{"flowStartMilliseconds", Encoding::milliseconds, kStart, Condition::milliseconds,
            Group::core},
    Element{"flowEndMilliseconds", Encoding::milliseconds, kEnd, Condition::milliseconds,
            Group::core},
    Element{"flowStartMicroseconds", Encoding::ntp_microseconds, kStart, Condition::microseconds,
            Group::core},
    Element{"flowEndMicroseconds", Encoding::ntp_microseconds, kEnd, Condition::microseconds,
            Group::core},
    Element{"flowStartNanoseconds", Encoding::ntp_nanoseconds, kStart, Condition::nanoseconds,
            Group::core},
    Element{"flowEndNanoseconds", Encoding::ntp_nanoseconds, kEnd, Condition::nanoseconds,
            Group::core},
    Element{"flowEndReason", Encoding::octets1, offsetof(FlowRecordCore, end_reason)},
    Element{"biflowDirection", Encoding::octets1, offsetof(ReverseGroup, biflow_direction),
            Condition::always, Group::biflow},

    Element{"minimumIpTotalLength", Encoding::unsigned4,
            offsetof(ExtremesGroup, minimum_ip_total_length), Condition::always, Group::extremes},
    Element{"maximumIpTotalLength", Encoding::unsigned4,
            offsetof(ExtremesGroup, maximum_ip_total_length), Condition::always, Group::extremes},
    Element{"minimumTTL", Encoding::octets1, offsetof(ExtremesGroup, minimum_ttl),
            Condition::always, Group::extremes},
    Element{"maximumTTL", Encoding::octets1, offsetof(ExtremesGroup, maximum_ttl),
            Condition::always, Group::extremes},

    Element{"sourceMacAddress", Encoding::octets6, offsetof(Layer2Group, source_mac),
            Condition::mac_addresses, Group::layer2},
    Element{"destinationMacAddress", Encoding::octets6, offsetof(Layer2Group, destination_mac),
            Condition::mac_addresses, Group::layer2},
    Element{"layer2OctetDeltaCount", Encoding::unsigned8, offsetof(Layer2Group, layer2_octets),
            Condition::always, Group::layer2},
    Element{"dot1qVlanId", Encoding::unsigned2, offsetof(Layer2Group, dot1q_vlan),
            Condition::one_tag, Group::layer2},
    Element{"dot1qCustomerVlanId", Encoding::unsigned2, offsetof(Layer2Group, dot1q_customer_vlan),
            Condition::two_tags, Group::layer2},

    tcp_count("tcpSynTotalCount", offsetof(TcpCountsGroup, syn)),
    tcp_count("tcpFinTotalCount", offsetof(TcpCountsGroup, fin)),
    tcp_count("tcpRstTotalCount", offsetof(TcpCountsGroup, rst)),
    tcp_count("tcpPshTotalCount", offsetof(TcpCountsGroup, psh)),
    tcp_count("tcpAckTotalCount", offsetof(TcpCountsGroup, ack)),
    tcp_count("tcpUrgTotalCount", offsetof(TcpCountsGroup, urg)),

    Element{"flowLabelIPv6", Encoding::unsigned4, offsetof(FlowLabelGroup, flow_label),
            Condition::ipv6, Group::flow_label},

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

    // The flow's own address elements are not repeated here: a collector that does not expect them
    // twice (RFC 7011 §8) would take the outer addresses for the flow's.
    Element{"tunnelType", Encoding::octets1, offsetof(TunnelGroup, kind), Condition::any_tunnel,
            Group::tunnel},
    Element{"tunnelId", Encoding::unsigned4, offsetof(TunnelGroup, id), Condition::any_tunnel,
            Group::tunnel},
    Element{"tunnelSourceIPv4Address", Encoding::octets4, kOuterSource, Condition::over_ipv4,
            Group::tunnel},
    Element{"tunnelDestinationIPv4Address", Encoding::octets4, kOuterDestination,
            Condition::over_ipv4, Group::tunnel},
    Element{"tunnelSourceIPv6Address", Encoding::octets16, kOuterSource, Condition::over_ipv6,
            Group::tunnel},
    Element{"tunnelDestinationIPv6Address", Encoding::octets16, kOuterDestination,
            Condition::over_ipv6, Group::tunnel},
    Element{"layer2SegmentId", Encoding::vxlan_segment, offsetof(TunnelGroup, id), Condition::vxlan,
            Group::tunnel},

    Element{"fragmentFlags", Encoding::octets1, offsetof(FragmentsGroup, fragment_flags),
            Condition::always, Group::fragments},

    tcp_analysis("segments", Encoding::unsigned4, offsetof(TcpAnalysisGroup, segments)),
    tcp_analysis("dataSegments", Encoding::unsigned4, offsetof(TcpAnalysisGroup, data_segments)),
    tcp_analysis("retransmissions", Encoding::unsigned4,
                 offsetof(TcpAnalysisGroup, retransmissions)),
    tcp_analysis("retransmittedOctets", Encoding::unsigned8,
                 offsetof(TcpAnalysisGroup, retransmitted_octets)),
    tcp_analysis("duplicates", Encoding::unsigned4, offsetof(TcpAnalysisGroup, duplicates)),
    tcp_analysis("outOfOrder", Encoding::unsigned4, offsetof(TcpAnalysisGroup, out_of_order)),
    tcp_analysis("zeroWindow", Encoding::unsigned2, offsetof(TcpAnalysisGroup, zero_windows)),
    tcp_analysis("keepAlives", Encoding::unsigned4, offsetof(TcpAnalysisGroup, keep_alives)),
    tcp_analysis("tcpAnalysisOverflow", Encoding::unsigned2, offsetof(TcpAnalysisGroup, overflow)),
    tcp_analysis("flowSize", Encoding::unsigned4, offsetof(TcpAnalysisGroup, flow_size),
                 Condition::tcp_size),
    tcp_analysis("flowDurationNanoseconds", Encoding::unsigned8,
                 offsetof(TcpAnalysisGroup, duration), Condition::tcp_size),
    tcp_analysis("tcpSequenceNumber", Encoding::unsigned4, offsetof(TcpAnalysisGroup, sequence)),
    tcp_analysis("tcpWindowSize", Encoding::unsigned2, offsetof(TcpAnalysisGroup, window)),
    tcp_analysis("tcpSynTotalCount", Encoding::unsigned2, offsetof(TcpAnalysisGroup, syn),
                 Condition::tcp, Group::tcp_flags),
    tcp_analysis("tcpFinTotalCount", Encoding::unsigned2, offsetof(TcpAnalysisGroup, fin),
                 Condition::tcp, Group::tcp_flags),
    tcp_analysis("tcpRstTotalCount", Encoding::unsigned2, offsetof(TcpAnalysisGroup, rst),
                 Condition::tcp, Group::tcp_flags),
    tcp_analysis("tcpHandshakeNanoseconds", Encoding::unsigned4,
                 offsetof(TcpAnalysisGroup, handshake), Condition::tcp, Group::tcp_handshake),
    Element{kCertElement.name, Encoding::octets1, offsetof(FlowRecordCore, tcp_control_bits),
            Condition::always, Group::cert},
    tcp_analysis("RETRANSMITTED_IN_PKTS", Encoding::unsigned4,
                 offsetof(TcpAnalysisGroup, retransmissions), Condition::tcp, Group::ntop),
    tcp_analysis("OOORDER_IN_PKTS", Encoding::unsigned4, offsetof(TcpAnalysisGroup, out_of_order),
                 Condition::tcp, Group::ntop),
};

/// The name of each in the other direction of a biflow; ntop's have names of their own.
inline constexpr auto kReverseNames = [] {
    std::array<ReverseName, kElements.size()> names;
    for (std::size_t index = 0; index < names.size(); ++index) {
        names[index] = ReverseName(kElements[index].name);
    }
    return names;
}();

}  // namespace tributary::element_table
