// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_elements.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <string_view>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/enterprise_elements.hpp"

namespace tributary {
namespace {

/// All that decides which fields the records of a shape have.
struct Template {
    const RecordShape& shape;
    const RecordLayout& layout;
    TimestampUnit timestamps;
    const ElementChoice& choice;
};

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

bool applies(Condition condition, const Template& made) {
    const RecordShape& shape = made.shape;
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
        case Condition::biflow:
            return made.layout.reverse_at != 0;
        case Condition::milliseconds:
        case Condition::microseconds:
        case Condition::nanoseconds:
            break;
    }
    return applies(condition, made.timestamps);
}

/// Whether an element was chosen, if its group is in the record.
bool is_chosen(FieldGroupId group, std::size_t index, const PartialGroups& partial) {
    return !partial.groups.has(group) || partial.has(group, index);
}

/// Whether another group of the record exports an element of this name.
bool is_in_other_group(std::string_view name, FieldGroupId own, const Template& made) {
    bool is_found = false;
    made.layout.groups().for_each([&](FieldGroupId id) {
        const std::span<const FieldElement> elements = field_group(id).elements;
        for (std::size_t index = 0; index < elements.size(); ++index) {
            is_found = is_found || (id != own && name == elements[index].name &&
                                    is_chosen(id, index, made.choice.partial));
        }
    });
    return is_found;
}

bool is_exported(FieldGroupId group, std::size_t index, const Template& made) {
    const FieldElement& element = field_group(group).elements[index];
    if (element.owner != ElementOwner::iana && !made.choice.enterprise) {
        return false;
    }
    if (element.owner == ElementOwner::ntop) {
        return made.choice.ntop;
    }
    return element.may_be_chosen ? is_chosen(group, index, made.choice.partial)
                                 : !is_in_other_group(element.name, group, made);
}

/// Whether a declared table's own group exports an element of this name, such as ICMP's type and
/// code, which a key may have beside protocol and port.
bool is_in_group_of_table(std::string_view name, const Template& made) {
    bool is_found = false;
    made.layout.groups().for_each([&](FieldGroupId id) {
        const FieldGroup& group = field_group(id);
        const auto is_it = [name](const FieldElement& element) { return name == element.name; };
        is_found = is_found || (group.chosen_by == ChosenBy::table &&
                                std::ranges::any_of(group.elements, is_it));
    });
    return is_found;
}

/// Whether a key has the member of FlowKey that is an element's value.
bool is_in(const KeyDescriptor& key, const FieldElement& element) {
    const bool is_ipv6 = element.condition == Condition::ipv6;
    switch (element.offset - offsetof(FlowRecordCore, key)) {
        case offsetof(FlowKey, source):
            return (is_ipv6 ? key.source.ipv6 : key.source.ipv4) != 0;
        case offsetof(FlowKey, destination):
            return (is_ipv6 ? key.destination.ipv6 : key.destination.ipv4) != 0;
        case offsetof(FlowKey, source_port):
            return key.source_port;
        case offsetof(FlowKey, destination_port):
            return key.destination_port;
        case offsetof(FlowKey, protocol):
            return key.protocol;
        case offsetof(FlowKey, ingress_interface):
            return key.ingress_interface;
        case offsetof(FlowKey, ip_version):
            return key.ip_version;
        default:  // a VLAN id of 0 is in no record (RecordShape)
            return true;
    }
}

/// The name under which an address is exported if the table's key masks it. nullptr: `element` is
/// no address, or the key has the whole address.
///
/// @source  IANA's registry: a prefix is an element of its own
const char* prefix_name(const KeyDescriptor& key, const FieldElement& element) {
    constexpr AddressPrefix kWhole;
    const bool is_source =
        element.offset == offsetof(FlowRecordCore, key) + offsetof(FlowKey, source);
    const AddressPrefix& prefix = is_source ? key.source : key.destination;
    const std::string_view name = element.name;
    if (name.ends_with("IPv4Address") && prefix.ipv4 != kWhole.ipv4) {
        return is_source ? "sourceIPv4Prefix" : "destinationIPv4Prefix";
    }
    if (name.ends_with("IPv6Address") && prefix.ipv6 != kWhole.ipv6) {
        return is_source ? "sourceIPv6Prefix" : "destinationIPv6Prefix";
    }
    return nullptr;
}

/// Whether only records of flows have it, and not those of a declared table.
bool is_value_of_flows(const CoreElement& each) {
    return each.part == CorePart::selector || each.part == CorePart::cert ||
           each.element.offset == offsetof(FlowRecordCore, tcp_control_bits) ||
           each.element.offset == offsetof(FlowRecordCore, ip_class_of_service);
}

bool is_exported(const CoreElement& each, const Template& made) {
    if (each.element.in_key && !is_in(made.choice.table.key, each.element)) {
        return false;
    }
    if (made.choice.table.is_declared &&
        (is_value_of_flows(each) || is_in_group_of_table(each.element.name, made))) {
        return false;
    }
    switch (each.part) {
        case CorePart::biflow:
            return made.layout.reverse_at != 0;
        case CorePart::selector:
            return made.choice.selector;
        case CorePart::cert:
            return made.choice.cert;
        case CorePart::common:
        case CorePart::direction:
            break;
    }
    return true;
}

/// @source  RFC 7125 §3 and RFC 7011 §6.2: tcpControlBits may be of one octet, the lower one
Encoding encoding_of(const FieldElement& element, const ElementChoice& choice) {
    static_assert(std::endian::native == std::endian::little);
    const bool is_reduced =
        choice.tcp_control_bits == 1 && std::string_view(element.name) == "tcpControlBits";
    return is_reduced ? Encoding::octets1 : element.encoding;
}

/// Appends the fields of one direction, and those of both to the forward one.
class Fields {
public:
    Fields(std::vector<TemplateField>& to, const Template& made, bool is_reverse)
        : to_(to), made_(made), is_reverse_(is_reverse) {}

    void append_core(bool behind_groups) {
        for (const CoreElement& each : kCoreElements) {
            const bool is_of_direction =
                each.part == CorePart::direction || each.part == CorePart::cert;
            if ((each.part == CorePart::cert) == behind_groups &&
                (is_of_direction || !is_reverse_) && applies(each.element.condition, made_) &&
                is_exported(each, made_)) {
                FieldElement element = each.element;
                const char* const prefix = prefix_name(made_.choice.table.key, element);
                element.name = prefix != nullptr ? prefix : element.name;
                append(element, place_of(each.part),
                       element.in_key && each.part != CorePart::selector);
            }
        }
    }
    void append_groups() {
        made_.layout.groups().for_each([this](FieldGroupId id) { append_group(id); });
    }

private:
    void append_group(FieldGroupId id) {
        const FieldGroup& group = field_group(id);
        const bool is_of_table = group.chosen_by == ChosenBy::table;
        const bool is_in_key =
            is_of_table || made_.choice.table.key.extension == KeyExtension::tunnel;
        const bool has_own_back = is_reverse_ && group.variant_of_both == nullptr;
        const auto& variants = has_own_back ? made_.shape.reverse_variants : made_.shape.variants;
        const std::size_t place =
            is_reverse_ ? made_.layout.reverse_places.at(id) : made_.layout.places.at(id);
        for (std::size_t index = 0; index < group.elements.size(); ++index) {
            const FieldElement& element = group.elements[index];
            if (is_reverse_ && element.in_key && is_of_table) {
                continue;  // of both directions, and there already
            }
            if ((element.variants >> variants.at(id) & 1U) != 0 &&
                applies(element.condition, made_) && is_exported(id, index, made_)) {
                append(element, place, element.in_key && is_in_key);
            }
        }
    }
    void append(const FieldElement& element, std::size_t place, bool is_key) {
        to_.push_back({.element = is_reverse_ ? reverse_name_of(element) : element.name,
                       .of_enterprise = is_reverse_ || element.owner != ElementOwner::iana,
                       .is_key = is_key && !is_reverse_,
                       .encoding = encoding_of(element, made_.choice),
                       .from = static_cast<std::uint16_t>(place + element.offset),
                       .text_octets = element.text_octets});
    }
    [[nodiscard]] std::size_t place_of(CorePart part) const noexcept {
        if (part == CorePart::biflow) {
            return made_.layout.reverse_at;
        }
        return is_reverse_ ? made_.layout.reverse_at - kReverseShift : 0;
    }

    std::vector<TemplateField>& to_;
    const Template& made_;
    bool is_reverse_;
};

}  // namespace

std::vector<TemplateField> fields_of(const RecordShape& shape, const RecordLayout& layout,
                                     TimestampUnit timestamps, const ElementChoice& choice) {
    std::vector<TemplateField> fields;
    const Template made{shape, layout, timestamps, choice};
    for (const bool is_reverse : {false, true}) {
        if (is_reverse && !shape.has_reverse) {
            break;
        }
        Fields direction(fields, made, is_reverse);
        direction.append_core(false);
        direction.append_groups();
        direction.append_core(true);
    }
    return fields;
}

}  // namespace tributary
