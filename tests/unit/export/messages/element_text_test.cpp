// SPDX-License-Identifier: Apache-2.0
#include "export/messages/element_text.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/named_field.hpp"
#include "export/messages/json_encoder.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/export_harness.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

std::string text_of(ElementText& element, const std::byte* record) {
    std::vector<std::byte> room(element.most_octets());
    const std::size_t octets = element.put(0, record, room);
    REQUIRE(octets <= room.size());
    return {reinterpret_cast<const char*>(room.data()), octets};
}

/// Of a record without groups.
std::string text_of(const std::string& name, const Record& record) {
    const MeteringProcess metering{};
    ElementText element(name, encoder_options({}, {}, metering), metering);
    return text_of(element, bytes_of(record));
}

}  // namespace

TEST_CASE("ElementText: values of the core, without quotes", "[export][unit]") {
    Record record = record_of(4711);
    CHECK(text_of("sourceIPv4Address", record) == "192.0.0.1");
    CHECK(text_of("destinationIPv4Address", record) == "198.0.0.2");
    CHECK(text_of("sourceTransportPort", record) == "4711");
    CHECK(text_of("protocolIdentifier", record) == "UDP");
    CHECK(text_of("ingressInterface", record) == "7");
    CHECK(text_of("flowStartMilliseconds", record) == "2020-09-13T12:26:40.250Z");
    CHECK(text_of("tcpControlBits", record) == "......");
}

TEST_CASE("ElementText: a record without the element has no text, one name is of both IP versions",
          "[export][unit]") {
    const Record of_ipv4 = record_of(1, 4);
    const Record of_ipv6 = record_of(1, 6);
    CHECK(text_of("sourceIPv4Address", of_ipv6).empty());
    CHECK(text_of("sourceIPv6Address", of_ipv4).empty());
    CHECK(text_of("sourceIPv6Address", of_ipv6) == "c000:1::");
    CHECK(text_of("sourceIPAddress", of_ipv4) == "192.0.0.1");
    CHECK(text_of("sourceIPAddress", of_ipv6) == "c000:1::");
    CHECK(text_of("vlanId", of_ipv4).empty());
    Record tagged = of_ipv4;
    tagged.core.key.vlan = {42};
    CHECK(text_of("vlanId", tagged) == "42");
}

TEST_CASE("ElementText: an element that no record has is told, and has no text", "[export][unit]") {
    const MeteringProcess metering{};
    const ExportOptions options = encoder_options({}, {}, metering);
    const Record record = record_of(1);
    for (const char* const name : {"tunnelId", "biflowDirection", "flowStartNanoseconds", "x"}) {
        ElementText element(name, options, metering);
        CHECK_FALSE(element.is_in_records());
        CHECK(element.most_octets() == 0);
        CHECK(text_of(element, bytes_of(record)).empty());
    }
    CHECK(ElementText("sourceIPAddress", options, metering).is_in_records());
}

TEST_CASE("ElementText: neither a table that ends nor a free place makes an element one of records",
          "[export][unit]") {
    MeteringProcess metering;
    metering.key.destination_port = false;
    metering.further = {{.name = "ports", .layout = {}}};
    const ExportOptions options = encoder_options({}, {}, metering);
    const auto has_port = [&] {
        return ElementText("destinationTransportPort", options, metering).is_in_records();
    };
    CHECK(has_port());
    metering.further[0].is_ending = true;
    CHECK_FALSE(has_port());
    metering.further[0] = {};
    CHECK_FALSE(has_port());
}

TEST_CASE("ElementText: the value of every name is what JSON has, and takes no memory",
          "[export][unit]") {
    const MeteringProcess metering{.layout = RecordLayout::of(kEveryGroup)};
    ExportOptions options;
    options.fields = kEveryGroup;
    options.ntop_elements = true;
    CollectorOptions collector;
    collector.cert_elements = true;
    const ExportOptions own = encoder_options(options, collector, metering);
    JsonEncoder json(own, metering, {.probe_name = "p", .probe_address = {}});
    Record record = record_of(4711, 6);
    record.core.key.protocol = 6;
    record.core.key.vlan = {42};
    auto& layer2 = record.group<Layer2Group>(metering.layout.at<Layer2Group>());
    layer2.has_mac_addresses = true;
    auto& tunnel = record.group<TunnelGroup>(metering.layout.at<TunnelGroup>());
    tunnel.kind = TunnelKind::vxlan;
    tunnel.id = 77;
    tunnel.ip_version = 4;
    record.group<MplsGroup>(metering.layout.at<MplsGroup>()).labels = 3;
    std::vector<std::byte> room(json.most_octets());
    const std::string line(reinterpret_cast<const char*>(room.data()),
                           json.encode(0, bytes_of(record), 0, room));
    std::size_t found = 0;
    for (const std::string& name : field_names()) {
        const std::size_t member = line.find(":" + name + "\":");
        if (member == std::string::npos) {
            continue;
        }
        const std::size_t at = member + name.size() + 3;
        const bool is_quoted = line[at] == '"';
        const std::size_t end = is_quoted ? line.find('"', at + 1) : line.find_first_of(",}", at);
        const std::size_t begin = is_quoted ? at + 1 : at;
        ElementText element(name, own, metering);
        std::vector<std::byte> out(element.most_octets());
        const std::size_t before = allocations();
        static_cast<void>(element.put(0, bytes_of(record), out));
        CHECK(allocations() == before);
        INFO(name);
        CHECK(text_of(element, bytes_of(record)) == line.substr(begin, end - begin));
        ++found;
    }
    CHECK(found > 50);
}

TEST_CASE("field_names: all elements once, without reverse ones", "[export][unit]") {
    const std::vector<std::string> names = field_names();
    const auto has = [&names](const std::string& name) {
        return std::ranges::count(names, name) == 1;
    };
    CHECK(std::ranges::is_sorted(names));
    CHECK(std::ranges::adjacent_find(names) == names.end());
    CHECK(has("sourceIPAddress"));
    CHECK(has("tunnelDestinationIPAddress"));
    CHECK(has("tcpSynTotalCount"));
    CHECK(has("mplsTopLabelStackSection"));
    CHECK_FALSE(has("reverseTcpControlBits"));
    CHECK_FALSE(has("IPAddress"));
    CHECK_FALSE(has(""));
}
