// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_elements.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <string_view>

#include "export/ipfix/element_table.hpp"
#include "export/ipfix/enterprise_elements.hpp"

namespace tributary {
namespace {

using element_table::Condition;
using element_table::Element;
using element_table::Group;
using element_table::kElements;
using element_table::kReverseNames;

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
        case Group::ntop:
            return chosen(layout.tcp_analysis_at);
        case Group::tcp_handshake:
            return is_biflow ? chosen(layout.tcp_analysis_at) : std::nullopt;
        case Group::common:
        case Group::core:
        case Group::selector:
        case Group::cert:
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
        case Group::selector:
            return std::nullopt;
        case Group::core:
        case Group::cert:
            return layout.reverse_at - kReverseShift;
        default:
            return place_of(group, layout.reversed(), true);
    }
}

bool applies(Condition condition, TunnelShape tunnel) {
    const bool is_vxlan =
        tunnel == TunnelShape::vxlan_over_ipv4 || tunnel == TunnelShape::vxlan_over_ipv6;
    const bool over_ipv6 =
        tunnel == TunnelShape::over_ipv6 || tunnel == TunnelShape::vxlan_over_ipv6;
    switch (condition) {
        case Condition::over_ipv4:
            return tunnel != TunnelShape::none && !over_ipv6;
        case Condition::over_ipv6:
            return over_ipv6;
        case Condition::vxlan:
            return is_vxlan;
        default:
            return tunnel != TunnelShape::none;
    }
}

bool applies(Condition condition, TimestampUnit timestamps) {
    switch (condition) {
        case Condition::milliseconds:
            return timestamps == TimestampUnit::milliseconds;
        case Condition::microseconds:
            return timestamps == TimestampUnit::microseconds;
        default:
            return timestamps == TimestampUnit::nanoseconds;
    }
}

bool applies(Condition condition, const RecordShape& shape, TimestampUnit timestamps) {
    switch (condition) {
        case Condition::always:
            return true;
        case Condition::ipv4:
            return !shape.ipv6;
        case Condition::ipv6:
            return shape.ipv6;
        case Condition::icmp_over_ipv4:
            return shape.icmp && !shape.ipv6;
        case Condition::icmp_over_ipv6:
            return shape.icmp && shape.ipv6;
        case Condition::vlan:
            return shape.vlan;
        case Condition::one_tag:
            return shape.dot1q_tags >= 1;
        case Condition::two_tags:
            return shape.dot1q_tags >= 2;
        case Condition::mac_addresses:
            return !shape.no_mac_addresses;
        case Condition::mpls_labels:
            return shape.mpls_labels;
        case Condition::tcp:
            return shape.tcp != TcpShape::none;
        case Condition::tcp_size:
            return shape.tcp == TcpShape::with_size;
        case Condition::any_tunnel:
        case Condition::over_ipv4:
        case Condition::over_ipv6:
        case Condition::vxlan:
            return applies(condition, shape.tunnel);
        case Condition::milliseconds:
        case Condition::microseconds:
        case Condition::nanoseconds:
            break;
    }
    return applies(condition, timestamps);
}

KeyRole key_role_of(const Element& element) {
    if (element.group == Group::tunnel) {
        return element.condition == Condition::vxlan
                   ? KeyRole::none  // it has the same value as tunnelId
                   : KeyRole::with_tunnel_in_key;
    }
    constexpr std::size_t kKey = offsetof(FlowRecordCore, key);
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
bool is_in_record(const Element& element, const RecordLayout& layout, const ElementChoice& choice) {
    if (element.group == Group::ntop) {
        return choice.ntop && choice.enterprise;
    }
    if (element.group == Group::cert) {
        return choice.cert;
    }
    if (!choice.enterprise && tributary_element(element.name) != TributaryElement::none) {
        return false;
    }
    if (element.group == Group::selector) {
        return choice.selector;
    }
    if (element.group == Group::tcp_flags) {
        // In each record, except the elements that group tcp-counts has already.
        return layout.tcp_counts_at == 0 || !is_chosen(element, choice.partial);
    }
    return is_chosen(element, choice.partial);
}

/// @source  RFC 7125 §3 and RFC 7011 §6.2: tcpControlBits may be of one octet, the lower one
Encoding encoding_of(const Element& element, const ElementChoice& choice) {
    static_assert(std::endian::native == std::endian::little);
    const bool is_reduced =
        choice.tcp_control_bits == 1 && std::string_view(element.name) == "tcpControlBits";
    return is_reduced ? Encoding::octets1 : element.encoding;
}

/// The name of an element in the other direction of a biflow.
const char* reverse_name_of(std::size_t element) {
    const auto* const of_ntop = std::ranges::find(
        kNtopElements, std::string_view(kElements.at(element).name), &NtopElement::in);
    return of_ntop != kNtopElements.end() ? of_ntop->out : kReverseNames.at(element).c_str();
}

/// Appends the reverse direction's fields, which are those of the first in the same order.
void append_reverse_fields(std::vector<TemplateField>& fields, RecordShape shape,
                           const RecordLayout& layout, TimestampUnit timestamps,
                           const ElementChoice& choice) {
    shape.tunnel = shape.reverse_tunnel();
    for (std::size_t index = 0; index < kElements.size(); ++index) {
        const Element& element = kElements[index];
        const auto place = reverse_place_of(element.group, layout);
        if (place && applies(element.condition, shape, timestamps) &&
            is_in_record(element, layout, choice)) {
            fields.push_back({.element = reverse_name_of(index),
                              .of_enterprise = true,
                              .key = KeyRole::none,
                              .encoding = encoding_of(element, choice),
                              .from = static_cast<std::uint16_t>(*place + element.offset)});
        }
    }
}

bool is_of_enterprise(const Element& element) {
    return element.group == Group::ntop || element.group == Group::cert ||
           tributary_element(element.name) != TributaryElement::none;
}

}  // namespace

std::vector<TemplateField> fields_of(const RecordShape& shape, const RecordLayout& layout,
                                     TimestampUnit timestamps, const ElementChoice& choice) {
    std::vector<TemplateField> fields;
    for (const Element& element : kElements) {
        const auto place = place_of(element.group, layout, layout.reverse_at != 0);
        if (place && applies(element.condition, shape, timestamps) &&
            is_in_record(element, layout, choice)) {
            fields.push_back({.element = element.name,
                              .of_enterprise = is_of_enterprise(element),
                              .key = key_role_of(element),
                              .encoding = encoding_of(element, choice),
                              .from = static_cast<std::uint16_t>(*place + element.offset)});
        }
    }
    if (shape.has_reverse()) {
        append_reverse_fields(fields, shape, layout, timestamps, choice);
    }
    return fields;
}

}  // namespace tributary
