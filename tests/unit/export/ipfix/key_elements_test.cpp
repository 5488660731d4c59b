// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/record_elements.hpp"
#include "export/metering_process.hpp"
#include "tests/support/declared_group.hpp"

using namespace tributary;

// Which elements records have, and which of these are flow keys, by the key of their table.

namespace {

using Names = std::vector<std::string>;

std::vector<TemplateField> fields_under(const KeyDescriptor& key, const RecordShape& shape,
                                        const RecordLayout& layout = {},
                                        bool has_selector = false) {
    return fields_of(
        shape, layout, TimestampUnit::milliseconds,
        {.partial = {}, .ntop = false, .selector = has_selector, .cert = false, .table = {key}});
}

Names names_of(const std::vector<TemplateField>& fields) {
    Names names;
    for (const TemplateField& field : fields) {
        names.emplace_back(field.element);
    }
    return names;
}
Names keys_of(const std::vector<TemplateField>& fields) {
    Names names;
    for (const TemplateField& field : fields) {
        if (field.is_key) {
            names.emplace_back(field.element);
        }
    }
    return names;
}

/// [sourceAddress/24/56, destinationAddress/24/56, ingressInterface]
KeyDescriptor of_nets() {
    KeyDescriptor key;
    key.source = key.destination = {.ipv4 = 24, .ipv6 = 56};
    key.source_port = key.destination_port = key.protocol = key.vlan = false;
    return key;
}

constexpr RecordShape kIcmp{.icmp = true};
constexpr RecordShape kIcmpV6{.ipv6 = true, .icmp = true};

}  // namespace

TEST_CASE("Record elements: of the default key all are flow keys", "[export][unit]") {
    CHECK(keys_of(fields_under({}, {.vlan = true})) ==
          Names{"sourceIPv4Address", "destinationIPv4Address", "sourceTransportPort",
                "destinationTransportPort", "protocolIdentifier", "ipVersion", "ingressInterface",
                "vlanId"});
    CHECK(keys_of(fields_under({}, kIcmpV6)) ==
          Names{"sourceIPv6Address", "destinationIPv6Address", "sourceTransportPort",
                "destinationTransportPort", "icmpTypeCodeIPv6", "protocolIdentifier", "ipVersion",
                "ingressInterface"});
}

TEST_CASE("Record elements: there are none of what a key does not have", "[export][unit]") {
    CHECK(names_of(fields_under(of_nets(), {})) ==
          Names{"sourceIPv4Prefix", "destinationIPv4Prefix", "ipVersion", "ipClassOfService",
                "tcpControlBits", "ingressInterface", "octetDeltaCount", "packetDeltaCount",
                "flowStartMilliseconds", "flowEndMilliseconds", "flowEndReason"});
    CHECK(keys_of(fields_under(of_nets(), {.ipv6 = true})) ==
          Names{"sourceIPv6Prefix", "destinationIPv6Prefix", "ipVersion", "ingressInterface"});
    KeyDescriptor key;
    key.destination_port = false;
    CHECK(keys_of(fields_under(key, kIcmp)) == Names{"sourceIPv4Address", "destinationIPv4Address",
                                                     "sourceTransportPort", "protocolIdentifier",
                                                     "ipVersion", "ingressInterface"});
    key = {};
    key.source = {.ipv4 = 0, .ipv6 = 1};
    key.destination = {.ipv4 = 1, .ipv6 = 0};
    key.ingress_interface = false;
    CHECK(keys_of(fields_under(key, {})) == Names{"destinationIPv4Prefix", "sourceTransportPort",
                                                  "destinationTransportPort", "protocolIdentifier",
                                                  "ipVersion"});
    CHECK(keys_of(fields_under(key, {.ipv6 = true})) ==
          Names{"sourceIPv6Prefix", "sourceTransportPort", "destinationTransportPort",
                "protocolIdentifier", "ipVersion"});
}

TEST_CASE(
    "Record elements: a record's interface is unknown, and so is its selector, without it in "
    "the key",
    "[export][unit]") {
    const auto has_selector = [](const KeyDescriptor& key) {
        const Names names = names_of(fields_under(key, {}, {}, true));
        return std::ranges::find(names, "selectorId") != names.end();
    };
    KeyDescriptor key;
    CHECK(has_selector(key));
    key.ingress_interface = false;
    CHECK_FALSE(has_selector(key));
}

TEST_CASE("Record elements: a tunnel is a flow key where it is the key's extension",
          "[export][unit]") {
    const RecordLayout layout =
        RecordLayout::of(effective_groups({}, FlowCacheOptions{.tunnel = TunnelMode::inner}));
    KeyDescriptor key = of_nets();
    RecordShape shape;
    shape.variants[kFieldGroupId<TunnelGroup>] = TunnelGroup::vxlan_over_ipv4;
    const Names without = keys_of(fields_under(key, shape, layout));
    CHECK(without.size() == 4);
    key.extension = KeyExtension::tunnel;
    Names expected = without;
    for (const char* name :
         {"tunnelType", "tunnelId", "tunnelSourceIPv4Address", "tunnelDestinationIPv4Address"}) {
        expected.emplace_back(name);
    }
    CHECK(keys_of(fields_under(key, shape, layout)) == expected);
}

TEST_CASE("IpfixEncoder: flow keys are those that the table's key has", "[export][unit]") {
    const IpfixEncoder encoder({}, {}, 1400, kFirstTemplateId, {.key = of_nets()});
    CHECK(encoder.announced_keys()[0].indicator == 0b10'0111);
}

TEST_CASE("MeteringProcess: each layout has the key of its table", "[export][unit]") {
    KeyDescriptor first;
    first.vlan = false;
    const MeteringProcess metering{
        .layout = {},
        .key = first,
        .further = {{.name = "nets", .layout = {}, .elements = {.key = of_nets()}},
                    {.name = "other", .layout = {}}}};
    CHECK(metering.elements_of(0).key == first);
    CHECK(metering.elements_of(1).key == of_nets());
    CHECK(metering.elements_of(2).key == KeyDescriptor{});
}

TEST_CASE("Record elements: a declared table has its key, counts, times and what it declares",
          "[export][unit]") {
    const test::DeclaredExtractor extractor(true);
    const std::uint64_t begins_with = 0;
    const FieldGroup row = test::declared_group(begins_with);
    const FieldGroupId id = add_field_group(row).value();
    FieldGroups groups;
    groups.set(id);
    KeyDescriptor key = of_nets();
    key.source = key.destination = {.ipv4 = 0, .ipv6 = 0};
    key.ip_version = false;
    key.extension = KeyExtension::declared;
    key.extractor = &extractor;
    key.extension_group = static_cast<std::uint8_t>(id);
    const RecordLayout layout = RecordLayout::of(groups, FlowDirection::biflow);
    const std::vector<TemplateField> fields =
        fields_of({.has_reverse = true}, layout, TimestampUnit::milliseconds,
                  {.partial = {}, .table = {.key = key, .is_declared = true}});
    CHECK(names_of(fields) ==
          Names{"ingressInterface", "octetDeltaCount", "packetDeltaCount", "flowStartMilliseconds",
                "flowEndMilliseconds", "flowEndReason", "biflowDirection", "ipDiffServCodePoint",
                "minimumTTL", "maximumTTL", "reverseOctetDeltaCount", "reversePacketDeltaCount",
                "reverseFlowStartMilliseconds", "reverseFlowEndMilliseconds", "reverseMinimumTTL",
                "reverseMaximumTTL"});
    CHECK(keys_of(fields) == Names{"ingressInterface", "ipDiffServCodePoint"});
    remove_field_group(id);
}

TEST_CASE("Record elements: ICMP's type and code, where a declared key names them, come once",
          "[export][unit]") {
    constexpr std::array kElements{FieldElement{.name = "icmpTypeCodeIPv4",
                                                .number = 32,
                                                .encoding = Encoding::unsigned2,
                                                .offset = 0,
                                                .meaning = "",
                                                .in_key = true}};
    FieldGroup row{.name = "declared", .elements = kElements, .chosen_by = ChosenBy::table};
    row.octets = row.key_octets = 8;
    const FieldGroupId id = add_field_group(row).value();
    FieldGroups groups;
    groups.set(id);
    const std::vector<TemplateField> fields =
        fields_of(kIcmp, RecordLayout::of(groups), TimestampUnit::milliseconds,
                  {.partial = {}, .table = {.key = {}, .is_declared = true}});
    const Names names = names_of(fields);
    CHECK(std::ranges::count(names, "icmpTypeCodeIPv4") == 1);
    CHECK(names.back() == "icmpTypeCodeIPv4");
    CHECK(std::ranges::count(names, "destinationTransportPort") == 1);
    remove_field_group(id);
}
