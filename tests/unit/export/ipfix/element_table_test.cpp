// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/element_table.hpp"

#include <fixbuf/public.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/record_template.hpp"

using namespace tributary;
using element_table::Element;
using element_table::Group;
using element_table::kElements;

namespace {

/// An element's type and its octets, by libfixbuf's registry or our own.
std::pair<IpfixType, std::size_t> registered(fbInfoModel_t* model, const Element& element) {
    const TributaryElement own = tributary_element(element.name);
    if (own != TributaryElement::none) {
        const EnterpriseElement& found = *enterprise_element(static_cast<std::uint16_t>(own));
        return {found.type, found.octets};
    }
    if (element.group == Group::ntop) {
        return {IpfixType::unsigned32, 4};
    }
    if (element.group == Group::cert) {
        return {IpfixType::unsigned8, 1};
    }
    const fbInfoElement_t* const known = fbInfoModelGetElementByName(model, element.name);
    REQUIRE(known != nullptr);
    return {static_cast<IpfixType>(known->type), known->len};
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

TEST_CASE("Elements: integers are encoded as such, all else as octets, and nothing is too long",
          "[export][unit]") {
    fbInfoModel_t* const model = fbInfoModelAlloc();
    for (const Element& element : kElements) {
        CAPTURE(element.name);
        const auto [type, octets] = registered(model, element);
        CHECK(octets_of(element.encoding) <= octets);
        if (octets_of(element.encoding) > 1) {
            CHECK(takes_octets(element.encoding) != is_integer(type));
        }
        if (!is_integer(type) && type != IpfixType::octet_array) {
            CHECK(octets_of(element.encoding) == octets);
        }
    }
    fbInfoModelFree(model);
}
