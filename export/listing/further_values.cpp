// SPDX-License-Identifier: Apache-2.0
#include "export/listing/further_values.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "export/ipfix/reverse_elements.hpp"
#include "export/listing/flow_json.hpp"

namespace tributary {
namespace {

/// IANA's elements that the fixed columns of a listing show already, so that they are no further
/// values: counts, addresses and the lengths of prefixes, ports, protocol, class of service, TCP
/// flags, VLAN id, times and the reason of the end. IP version and the direction of a biflow say no
/// more than these do.
constexpr auto kShown = std::to_array<std::uint16_t>(
    {1,  2,  4,   5,   6,   7,   8,   9,   11,  12,  13,  27,  28,  29,  30,  44,  45,  58,  60,
     85, 86, 136, 150, 151, 152, 153, 154, 155, 156, 157, 169, 170, 180, 181, 182, 183, 239, 243});
/// Those of a biflow's reverse direction.
constexpr auto kShownOfReverse =
    std::to_array<std::uint16_t>({1, 2, 6, 85, 86, 150, 151, 152, 153, 154, 155, 156, 157});
constexpr std::uint16_t kIcmpTypeCodeIpv4 = 32;
constexpr std::uint16_t kIcmpTypeCodeIpv6 = 139;

template <std::size_t kSize>
bool has(const std::array<std::uint16_t, kSize>& numbers, std::uint16_t number) noexcept {
    return std::ranges::find(numbers, number) != numbers.end();
}

bool is_shown(const IpfixElement& element, const FlowView& flow) noexcept {
    if (element.is_padding || element.listed || element.listed_reverse) {
        return true;
    }
    if (element.enterprise == kReverseEnterprise) {
        return has(kShownOfReverse, element.number);
    }
    if (element.enterprise != 0) {
        // Without a kind of tunnel there is no text for its column.
        return element.own != TributaryElement::none && flow.tunnel.kind != TunnelKind::none;
    }
    if (element.number == kIcmpTypeCodeIpv4 || element.number == kIcmpTypeCodeIpv6) {
        return flow.has_protocol && is_icmp(flow.core.key);
    }
    return has(kShown, element.number);
}

bool is_number(IpfixType type) noexcept {
    return type >= IpfixType::unsigned8 && type <= IpfixType::float64;
}

}  // namespace

std::vector<FurtherValue> further_values(const IpfixRecord& record, const FlowView& flow) {
    std::vector<FurtherValue> values;
    for (std::size_t index = 0; index < record.values.size(); ++index) {
        const IpfixElement& element = *record.layout->fields[index].element;
        if (!is_shown(element, flow)) {
            values.push_back({.name = element.name,
                              .text = value_text(element.type, record.values[index]),
                              .is_number = is_number(element.type)});
        }
    }
    return values;
}

}  // namespace tributary
