// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_groups.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "export/listing/ip_prefix.hpp"
#include "export/listing/printable_text.hpp"
#include "export/messages/flow_words.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {

/// One kind of field; every one is a row in kKinds.
struct GroupFieldKind {
    std::string_view name;
    bool is_number{};
    bool is_net{};
    std::string (*text)(const GroupField& field, const FlowView& flow);
};

namespace {

constexpr std::uint8_t kIpv4Bits = 32;
constexpr std::uint8_t kIpv6Bits = 128;
constexpr std::uint8_t kUsualIpv6Net = 64;

/// The net by which an address is grouped: its leading bits, as many as `field` says. Where the
/// record itself has only a shorter prefix of the address, nothing more is known, and that prefix
/// is the net.
std::string net_text(const GroupField& field, const IpAddress& address, const FlowAddress& kind,
                     std::uint8_t version) {
    const std::uint8_t bits = version == 4 ? field.ipv4_bits : field.ipv6_bits;
    const bool is_shorter = kind.is_prefix && (!kind.prefix_bits || *kind.prefix_bits < bits);
    if (is_shorter || !field.kind->is_net) {
        return flow_address_text(address, kind, version);
    }
    return flow_address_text(prefix_of(address, bits), {.is_prefix = true, .prefix_bits = bits},
                             version);
}

std::string source_text(const GroupField& field, const FlowView& flow) {
    const FlowKey& key = flow.core.key;
    return flow.has_source() ? net_text(field, key.source, flow.source, key.ip_version)
                             : std::string(GroupField::kUnknown);
}
std::string destination_text(const GroupField& field, const FlowView& flow) {
    const FlowKey& key = flow.core.key;
    return flow.has_destination()
               ? net_text(field, key.destination, flow.destination, key.ip_version)
               : std::string(GroupField::kUnknown);
}

template <class Number>
std::string number_text(const std::optional<Number>& number) {
    return number ? std::to_string(*number) : std::string(GroupField::kUnknown);
}

/// 0 for protocols without ports, among them ICMP.
std::string port_text(bool is_known, const std::optional<std::uint16_t>& port) {
    return is_known ? std::to_string(port.value_or(0)) : std::string(GroupField::kUnknown);
}

using Field = const GroupField&;
using Flow = const FlowView&;

constexpr std::array kKinds{
    GroupFieldKind{"src-host", false, false, &source_text},
    GroupFieldKind{"dst-host", false, false, &destination_text},
    GroupFieldKind{"src-net", false, true, &source_text},
    GroupFieldKind{"dst-net", false, true, &destination_text},
    GroupFieldKind{
        "src-port", true, false,
        [](Field, Flow flow) { return port_text(flow.has_source_port, flow.source_port()); }},
    GroupFieldKind{"dst-port", true, false,
                   [](Field, Flow flow) {
                       return port_text(flow.has_destination_port, flow.destination_port());
                   }},
    GroupFieldKind{"proto", false, false,
                   [](Field, Flow flow) {
                       return flow.has_protocol ? protocol_text(flow.core.key.protocol)
                                                : std::string(GroupField::kUnknown);
                   }},
    GroupFieldKind{"ip-version", true, false,
                   [](Field, Flow flow) {
                       const std::uint8_t version = flow.core.key.ip_version;
                       return number_text(version != 0 ? std::optional(version) : std::nullopt);
                   }},
    GroupFieldKind{"vlan", true, false,
                   [](Field, Flow flow) { return std::to_string(flow.core.key.vlan.value); }},
    GroupFieldKind{"interface", true, false,
                   [](Field, Flow flow) { return number_text(flow.interface()); }},
    GroupFieldKind{"tos", true, false,
                   [](Field, Flow flow) { return number_text(flow.class_of_service()); }},
    GroupFieldKind{"dscp", true, false, [](Field, Flow flow) { return number_text(flow.dscp()); }},
    GroupFieldKind{"flags", false, false,
                   [](Field, Flow flow) {
                       const std::optional<std::uint16_t> flags = flow.tcp_flags();
                       return flags ? tcp_flags_text(ip_protocol::kTcp, *flags)
                                    : std::string(GroupField::kUnknown);
                   }},
    GroupFieldKind{"reason", false, false,
                   [](Field, Flow flow) { return end_reason_text(flow.core.end_reason); }},
    GroupFieldKind{"tunnel", false, false,
                   [](Field, Flow flow) {
                       const bool has_tunnel = flow.tunnel.kind != TunnelKind::none;
                       return has_tunnel ? tunnel_kind_text(flow.tunnel.kind) : std::string("-");
                   }},
    GroupFieldKind{"tunnel-id", true, false,
                   [](Field, Flow flow) { return std::to_string(flow.tunnel.id); }},
};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw GroupFieldError("--by: '" + printable(text) + "': " + why);
}

void add_counts(const ListedValues& counts, CountSums& sums) noexcept {
    for (std::size_t index = 0; index < sums.size(); ++index) {
        if (const auto& count = counts.at(index)) {
            sums[index] = sums[index].value_or(0) + *count;
        }
    }
}

std::uint8_t parse_bits(std::string_view field, std::string_view text, std::uint8_t most) {
    const auto bits = parse_number(text, most);
    if (!bits) {
        refuse(field, "expected a prefix length up to " + std::to_string(most) +
                          ", as in src-net/24 or src-net/24/48");
    }
    return static_cast<std::uint8_t>(*bits);
}

GroupField parse_field(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::string_view name = text.substr(0, slash);
    const auto* const kind =
        std::find_if(kKinds.begin(), kKinds.end(),
                     [name](const GroupFieldKind& candidate) { return candidate.name == name; });
    if (kind == kKinds.end()) {
        refuse(text, "no field to group by; there are " + group_field_names());
    }
    GroupField field{std::string(text), kind, kIpv4Bits, kIpv6Bits};
    if (kind->is_net != (slash != std::string_view::npos)) {
        refuse(text, kind->is_net ? "a prefix length is missing, as in src-net/24"
                                  : "only src-net and dst-net have a prefix length");
    }
    if (kind->is_net) {
        const std::string_view bits = text.substr(slash + 1);
        const std::size_t second = bits.find('/');
        field.ipv4_bits = parse_bits(text, bits.substr(0, second), kIpv4Bits);
        field.ipv6_bits = second == std::string_view::npos
                              ? kUsualIpv6Net
                              : parse_bits(text, bits.substr(second + 1), kIpv6Bits);
    }
    return field;
}

}  // namespace

std::string GroupField::text(const FlowView& flow) const { return kind->text(*this, flow); }

bool GroupField::is_number() const noexcept { return kind->is_number; }

std::vector<GroupField> parse_group_fields(std::string_view text) {
    std::vector<GroupField> fields;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        fields.push_back(parse_field(text.substr(at, comma - at)));
        const auto same = [&fields](const GroupField& field) {
            return field.name == fields.back().name;
        };
        if (std::find_if(fields.begin(), fields.end(), same) != fields.end() - 1) {
            refuse(fields.back().name, "it is there twice");
        }
        at = comma + 1;
    }
    return fields;
}

std::string group_field_names() {
    std::string names;
    for (const GroupFieldKind& kind : kKinds) {
        names += names.empty() ? "" : ", ";
        names += kind.name;
        names += kind.is_net ? "/BITS" : "";
    }
    return names;
}

std::optional<WideCount> FlowGroup::count(std::size_t place) const noexcept {
    const std::optional<WideCount>& forward = counts.at(place);
    const std::optional<WideCount>& reverse = reverse_counts.at(place);
    return forward || reverse ? std::optional(forward.value_or(0) + reverse.value_or(0))
                              : std::nullopt;
}

void FlowGroup::add(const FlowView& flow) noexcept {
    ++flows;
    packets += flow.core.packets;
    octets += flow.core.octets;
    reverse_packets += flow.reverse.packets;
    reverse_octets += flow.reverse.octets;
    add_counts(flow.counts, counts);
    add_counts(flow.reverse_counts, reverse_counts);
    if (flow.is_timed()) {
        start = std::min(start, flow.start());
        end = std::max(end, flow.end());
    }
}

void FlowGroups::add(const FlowView& flow) {
    std::vector<std::string> values;
    std::string key;
    for (const GroupField& field : fields_) {
        values.push_back(field.text(flow));
        key += values.back();
        key += '\n';  // in no value
    }
    FlowGroup& group = groups_[key];
    if (group.flows == 0) {
        group.values = std::move(values);
    }
    group.add(flow);
}

std::vector<const FlowGroup*> FlowGroups::groups() const {
    std::vector<const FlowGroup*> all;
    all.reserve(groups_.size());
    for (const auto& [key, group] : groups_) {
        all.push_back(&group);
    }
    std::sort(all.begin(), all.end(),
              [](const FlowGroup* a, const FlowGroup* b) { return a->values < b->values; });
    return all;
}

}  // namespace tributary
