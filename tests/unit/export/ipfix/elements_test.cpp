// SPDX-License-Identifier: Apache-2.0
#include <fixbuf/public.h>

#include <algorithm>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "flowcache/fields/field_groups.hpp"

using namespace tributary;

namespace {

/// IANA's elements that a record can have.
std::vector<FieldElement> iana_elements() {
    std::vector<FieldElement> elements;
    for (const CoreElement& each : kCoreElements) {
        elements.push_back(each.element);
    }
    for (FieldGroupId id = 0; id < kStandardFieldGroups; ++id) {
        const auto of_group = field_group(id).elements;
        elements.insert(elements.end(), of_group.begin(), of_group.end());
    }
    std::erase_if(elements,
                  [](const FieldElement& element) { return element.owner != ElementOwner::iana; });
    return elements;
}

/// Whether values of this type are integers, which are sent in network byte order.
bool is_integer(IpfixType type) {
    switch (type) {
        case IpfixType::octet_array:
        case IpfixType::mac_address:
        case IpfixType::ipv4_address:
        case IpfixType::ipv6_address:
            return false;
        default:
            return true;
    }
}

bool takes_octets(Encoding encoding) { return encoding <= Encoding::octets16; }

}  // namespace

TEST_CASE("Elements: IANA's have the numbers and types of libfixbuf's registry", "[export][unit]") {
    fbInfoModel_t* const model = fbInfoModelAlloc();
    for (const FieldElement& element : iana_elements()) {
        CAPTURE(element.name);
        const fbInfoElement_t* const known = fbInfoModelGetElementByName(model, element.name);
        REQUIRE(known != nullptr);
        CHECK(known->num == element.number);
        CHECK(known->ent == 0);
        const auto type = static_cast<IpfixType>(known->type);
        const std::size_t octets = octets_of(element.encoding);
        CHECK(octets <= known->len);
        if (octets > 1) {
            CHECK(takes_octets(element.encoding) != is_integer(type));
        }
        if (!is_integer(type) && type != IpfixType::octet_array) {
            CHECK(octets == known->len);
        }
    }
    fbInfoModelFree(model);
}

TEST_CASE("Elements: no group has two of one name, nor more than can be chosen", "[export][unit]") {
    for (FieldGroupId id = 0; id < kStandardFieldGroups; ++id) {
        std::vector<std::string> names;
        for (const FieldElement& element : field_group(id).elements) {
            CHECK(std::ranges::count(names, element.name) == 0);
            names.emplace_back(element.name);
            CHECK(element.offset < field_group(id).octets);
        }
        CHECK(names.size() <= 64);
    }
}
