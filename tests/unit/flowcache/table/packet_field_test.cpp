// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/packet_field.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "flowcache/fields/field_groups.hpp"

using namespace tributary;

TEST_CASE("packet_fields: names and ids are unique, and found", "[flowcache][table][unit]") {
    std::set<std::string_view> names;
    std::set<unsigned> ids;
    for (const PacketField& field : packet_fields()) {
        names.insert(field.name);
        ids.insert(field.id);
        CHECK(find_packet_field(field.name) == &field);
        CHECK(field.name.size() + std::string_view("distinct").size() <= 63);
        CHECK(!field.meaning.empty());
        CHECK(field.meaning.find('\n') == std::string_view::npos);
    }
    CHECK(names.size() == packet_fields().size());
    CHECK(ids.size() == packet_fields().size());
    CHECK(find_packet_field("ipttl") == nullptr);
}

TEST_CASE("packet_fields: a field of one side, has a counterpart of the other that is like it",
          "[flowcache][table][unit]") {
    for (const PacketField& field : packet_fields()) {
        INFO(field.name);
        CHECK((field.side == FieldSide::none) == field.counterpart.empty());
        if (field.side == FieldSide::none) {
            continue;
        }
        const PacketField* const other = find_packet_field(field.counterpart);
        REQUIRE(other != nullptr);
        CHECK(other->counterpart == field.name);
        CHECK(other->side != field.side);
        CHECK(other->encoding == field.encoding);
        CHECK(other->in_unified_headers == field.in_unified_headers);
        CHECK((other->key_member == KeyMember::extension) ==
              (field.key_member == KeyMember::extension));
    }
}

TEST_CASE("packet_fields: an element that field groups have, has their number and owner",
          "[flowcache][table][unit]") {
    std::map<std::string_view, const FieldElement*> elements;
    for (const FieldGroup* const group : StandardFieldGroups::kRows) {
        for (const FieldElement& element : group->elements) {
            elements.emplace(element.name, &element);
        }
    }
    std::size_t found = 0;
    for (const PacketField& field : packet_fields()) {
        if (const auto element = elements.find(field.name); element != elements.end()) {
            INFO(field.name);
            ++found;
            CHECK(field.number == element->second->number);
            CHECK(field.owner == element->second->owner);
            CHECK(field.encoding == element->second->encoding);
        } else if (field.owner == ElementOwner::tributary && field.number != 0) {
            CHECK(field.number >= 19);  // those before are the groups'
        }
    }
    // MAC addresses, customer VLAN, flow label, ten sections, tunnel kind and id, fragment flags.
    CHECK(found == 17);
}

TEST_CASE("packet_fields: the ids of fields, which numbers of elements follow from, stay",
          "[flowcache][table][unit]") {
    const std::map<std::string_view, unsigned> ids{{"sourceAddress", 1},
                                                   {"ingressInterface", 8},
                                                   {"ipTTL", 11},
                                                   {"flowLabelIPv6", 16},
                                                   {"vlanTagCount", 24},
                                                   {"ethernetType", 27},
                                                   {"mplsLabelStackDepth", 28},
                                                   {"mplsTopLabelStackSection", 29},
                                                   {"mplsLabelStackSection10", 38},
                                                   {"tunnelType", 39},
                                                   {"dataLinkFrameSize", 43},
                                                   {"observationTimeSeconds", 44}};
    for (const auto& [name, id] : ids) {
        CHECK(find_packet_field(name)->id == id);
    }
}

TEST_CASE("packet_fields: docs/fields.md has a row of each, in their order",
          "[flowcache][table][unit]") {
    std::string rows;
    for (const PacketField& field : packet_fields()) {
        const std::string number = std::to_string(field.number);
        const bool is_own = field.owner == ElementOwner::tributary;
        rows += "| `" + std::string(field.name) + "` | " +
                (field.number == 0 ? "-" : (is_own ? "own " : "") + number) + " | " +
                (field.is_numeric ? "yes" : "no") + " | " +
                (field.in_unified_headers ? "yes" : "no") + " | " + std::string(field.meaning) +
                " |\n";
    }
    std::ifstream page(TRIBUTARY_SOURCE "/docs/fields.md");
    const std::string text(std::istreambuf_iterator<char>(page), {});
    CHECK(text.find("|---|---|---|---|---|\n" + rows + "\n") != std::string::npos);
}

TEST_CASE("packet_fields: their ids are their places in the table of docs/fields.md",
          "[flowcache][table][unit]") {
    unsigned place = 0;
    for (const PacketField& field : packet_fields()) {
        CHECK(field.id == ++place);
    }
}

TEST_CASE("field_instead_of: an element of one IP version, the field of both",
          "[flowcache][table][unit]") {
    CHECK(field_instead_of("sourceIPv4Address") == "sourceAddress");
    CHECK(field_instead_of("tunnelDestinationIPv6Address") == "tunnelDestinationAddress");
    CHECK(field_instead_of("dot1qVlanId") == "vlanId");
    CHECK(field_instead_of("ipTTL").empty());
    CHECK(field_instead_of("").empty());
}
