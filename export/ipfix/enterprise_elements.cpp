// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/enterprise_elements.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "export/ipfix/reverse_elements.hpp"

namespace tributary {

namespace {

/// Calls `use(id, element)` for each element of these groups.
template <class Use>
void for_each_element(FieldGroups groups, Use use) {
    groups.for_each([&use](FieldGroupId id) {
        for (const FieldElement& element : field_group(id).elements) {
            use(id, element);
        }
    });
}

/// Lengths of outer addresses that the key of a declared table has in part. They are in no group
/// that is compiled in.
constexpr std::array kOuterPrefixLengths{
    tributary_element("tunnelSourceIPv4PrefixLength", 20, Encoding::octets1, 0, ""),
    tributary_element("tunnelDestinationIPv4PrefixLength", 21, Encoding::octets1, 0, ""),
    tributary_element("tunnelSourceIPv6PrefixLength", 22, Encoding::octets1, 0, ""),
    tributary_element("tunnelDestinationIPv6PrefixLength", 23, Encoding::octets1, 0, "")};

EnterpriseElement enterprise_element(FieldGroupId id, const FieldElement& element) noexcept {
    return {.element = &element,
            .group = id,
            .type = type_of(element.encoding),
            .octets = octets_of(element.encoding)};
}

}  // namespace

std::vector<EnterpriseElement> enterprise_elements(ElementOwner owner, FieldGroups groups) {
    std::vector<EnterpriseElement> found;
    for_each_element(groups, [&](FieldGroupId id, const FieldElement& element) {
        if (element.owner == owner) {
            found.push_back(enterprise_element(id, element));
        }
    });
    std::ranges::sort(found, {},
                      [](const EnterpriseElement& each) { return each.element->number; });
    return found;
}

std::optional<EnterpriseElement> own_element(std::uint16_t number, FieldGroups groups) noexcept {
    std::optional<EnterpriseElement> found;
    for (const FieldElement& element : kOuterPrefixLengths) {
        if (element.number == number) {
            found = enterprise_element(kFieldGroupId<TunnelGroup>, element);
        }
    }
    for_each_element(groups, [&](FieldGroupId id, const FieldElement& element) {
        if (element.owner == ElementOwner::tributary && element.number == number) {
            found = enterprise_element(id, element);
        }
    });
    return found;
}

IpfixType type_of(Encoding encoding) noexcept {
    switch (encoding) {
        case Encoding::octets1:
            return IpfixType::unsigned8;
        case Encoding::unsigned2:
            return IpfixType::unsigned16;
        case Encoding::unsigned4:
            return IpfixType::unsigned32;
        case Encoding::unsigned8:
        case Encoding::selector:
        case Encoding::vxlan_segment:
            return IpfixType::unsigned64;
        case Encoding::octets4:
            return IpfixType::ipv4_address;
        case Encoding::octets6:
            return IpfixType::mac_address;
        case Encoding::octets16:
            return IpfixType::ipv6_address;
        case Encoding::milliseconds:
            return IpfixType::date_time_milliseconds;
        case Encoding::ntp_microseconds:
            return IpfixType::date_time_microseconds;
        case Encoding::ntp_nanoseconds:
            return IpfixType::date_time_nanoseconds;
        case Encoding::text:
            return IpfixType::string;
        case Encoding::octets3:
        case Encoding::octet_array:
            break;
    }
    return IpfixType::octet_array;
}

const char* name_of(IpfixType type) noexcept {
    switch (type) {
        case IpfixType::unsigned8:
            return "unsigned8";
        case IpfixType::unsigned16:
            return "unsigned16";
        case IpfixType::unsigned32:
            return "unsigned32";
        case IpfixType::unsigned64:
            return "unsigned64";
        case IpfixType::ipv4_address:
            return "ipv4Address";
        case IpfixType::ipv6_address:
            return "ipv6Address";
        case IpfixType::mac_address:
            return "macAddress";
        case IpfixType::string:
            return "string";
        default:
            return "octetArray";
    }
}

const char* reverse_name_of(const FieldElement& element) {
    if (element.reverse_name != nullptr) {
        return element.reverse_name;
    }
    // Templates are made at start and by reloads, in any thread; there are some hundred names. They
    // are copied, because those of a declared table go with it.
    static std::mutex mutex;
    static std::map<std::string, ReverseName> names;
    const std::lock_guard lock(mutex);
    return names.try_emplace(element.name, std::string_view(element.name)).first->second.c_str();
}

}  // namespace tributary
