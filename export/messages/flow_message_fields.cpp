// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_message_fields.hpp"

#include <algorithm>
#include <array>

namespace tributary {
namespace {

using Form = FlowMessageForm;

constexpr FlowMessageField number(std::string_view element, ProtobufTag tag) {
    return {.element = element, .form = Form::number, .tag = tag};
}
constexpr FlowMessageField address(std::string_view element, ProtobufTag tag) {
    return {.element = element, .form = Form::address, .tag = tag};
}
constexpr FlowMessageField time(std::string_view element, ProtobufTag tag) {
    return {.element = element, .form = Form::time, .tag = tag};
}
constexpr FlowMessageField in_form(Form form, std::string_view element) {
    return {.element = element, .form = form};
}
/// A field of ours.
constexpr FlowMessageField ours(FlowMessageField field) {
    field.has_presence = true;
    return field;
}
consteval ProtobufTag varint(std::uint32_t field) { return {field, ProtobufWireType::varint}; }
consteval ProtobufTag octets(std::uint32_t field) { return {field, ProtobufWireType::length}; }

constexpr std::array kFields{
    // goflow2's.
    address("sourceIPv4Address", octets(6)),
    address("sourceIPv6Address", octets(6)),
    address("destinationIPv4Address", octets(7)),
    address("destinationIPv6Address", octets(7)),
    number("octetDeltaCount", varint(9)),
    number("packetDeltaCount", varint(10)),
    number("ingressInterface", varint(18)),
    number("protocolIdentifier", varint(20)),
    number("sourceTransportPort", varint(21)),
    number("destinationTransportPort", varint(22)),
    number("ipClassOfService", varint(23)),
    number("minimumTTL", varint(25)),
    number("tcpControlBits", varint(26)),
    number("sourceMacAddress", varint(27)),
    number("destinationMacAddress", varint(28)),
    in_form(Form::vlan, "vlanId"),
    in_form(Form::ether_type, "ipVersion"),
    in_form(Form::icmp, "icmpTypeCodeIPv4"),
    in_form(Form::icmp, "icmpTypeCodeIPv6"),
    number("flowLabelIPv6", varint(37)),
    in_form(Form::fragment_flags, "fragmentFlags"),
    in_form(Form::mpls, "mplsTopLabelStackSection"),
    in_form(Form::mpls, "mplsLabelStackSection2"),
    in_form(Form::mpls, "mplsLabelStackSection3"),
    in_form(Form::mpls, "mplsLabelStackSection4"),
    in_form(Form::mpls, "mplsLabelStackSection5"),
    in_form(Form::mpls, "mplsLabelStackSection6"),
    in_form(Form::mpls, "mplsLabelStackSection7"),
    in_form(Form::mpls, "mplsLabelStackSection8"),
    in_form(Form::mpls, "mplsLabelStackSection9"),
    in_form(Form::mpls, "mplsLabelStackSection10"),
    time("flowStartNanoseconds", varint(111)),
    time("flowEndNanoseconds", varint(112)),
    // Ours.
    ours(number("flowEndReason", varint(603))),
    ours(number("selectorId", varint(604))),
    ours(number("minimumIpTotalLength", varint(605))),
    ours(number("maximumIpTotalLength", varint(606))),
    ours(number("maximumTTL", varint(607))),
    ours(number("layer2OctetDeltaCount", varint(608))),
    ours(number("dot1qVlanId", varint(609))),
    ours(number("dot1qCustomerVlanId", varint(610))),
    ours(number("tcpSynTotalCount", varint(611))),
    ours(number("tcpFinTotalCount", varint(612))),
    ours(number("tcpRstTotalCount", varint(613))),
    ours(number("tcpPshTotalCount", varint(614))),
    ours(number("tcpAckTotalCount", varint(615))),
    ours(number("tcpUrgTotalCount", varint(616))),
    // 617: flow_message::kMplsSections
    ours(number("layer2SegmentId", varint(618))),
    ours(number("tcpSequenceNumber", varint(619))),
    ours(number("tcpWindowSize", varint(620))),
    // Elements of tributary's own: 640 and their number there. Both addresses of an end share one.
    ours(number("tunnelType", varint(641))),
    ours(number("tunnelId", varint(642))),
    ours(address("tunnelSourceIPv4Address", octets(643))),
    ours(address("tunnelDestinationIPv4Address", octets(644))),
    ours(address("tunnelSourceIPv6Address", octets(643))),
    ours(address("tunnelDestinationIPv6Address", octets(644))),
    ours(number("segments", varint(647))),
    ours(number("dataSegments", varint(648))),
    ours(number("retransmissions", varint(649))),
    ours(number("retransmittedOctets", varint(650))),
    ours(number("duplicates", varint(651))),
    ours(number("outOfOrder", varint(652))),
    ours(number("zeroWindow", varint(653))),
    ours(number("keepAlives", varint(654))),
    ours(number("flowSize", varint(655))),
    ours(number("flowDurationNanoseconds", varint(656))),
    ours(number("tcpAnalysisOverflow", varint(657))),
    ours(number("dumpFileNumber", varint(664))),
};

}  // namespace

std::span<const FlowMessageField> flow_message_fields() noexcept { return kFields; }

const FlowMessageField* find_flow_message_field(std::string_view element) noexcept {
    const auto* const found = std::ranges::find(kFields, element, &FlowMessageField::element);
    return found != kFields.end() ? found : nullptr;
}

}  // namespace tributary
