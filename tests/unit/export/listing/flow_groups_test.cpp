// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_groups.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/flow_listing_harness.hpp"

using tributary::FlowListingOptions;
using tributary::FlowOrder;
using tributary::GroupFieldError;
using tributary::ListingFormat;
using tributary::ListingStatus;
using tributary::parse_group_fields;
using tributary::test::Flow;
using tributary::test::flow_file;
using tributary::test::list_octets;
using tributary::test::Listed;

namespace {

std::string fault_of_fields(const std::string& fields) {
    try {
        static_cast<void>(parse_group_fields(fields));
    } catch (const GroupFieldError& error) {
        return error.what();
    }
    return "";
}

const std::vector<Flow> some_flows{
    {.source = 0x0A000001, .packets = 1, .octets = 100},
    {.source = 0x0A000002, .packets = 2, .octets = 1000},
    {.protocol = 6, .source = 0x0A000101, .packets = 4, .octets = 40, .flags = 2},
    {.source = 0x0A000001, .destination_port = 123, .packets = 8, .octets = 80}};

}  // namespace

TEST_CASE("list_flows: by fields, are sums over the flows that agree in them", "[export][unit]") {
    FlowListingOptions options;
    options.by = parse_group_fields("src-net/24,proto");
    Listed listed = list_octets(flow_file(some_flows), options);
    CHECK(listed.result.status == ListingStatus::ok);
    CHECK('\n' + listed.text == R"(
Start                     Duration  Src-net/24   Proto  Flows  Packets  Octets
2023-11-14T22:13:20.123Z     1.377  10.0.0.0/24  UDP        3       11    1180
2023-11-14T22:13:20.123Z     1.377  10.0.1.0/24  TCP        1        4      40
4 records, 15 packets, 1220 octets, 2023-11-14T22:13:20.123Z to 2023-11-14T22:13:21.500Z (1.377 s), 2 groups
)");
    options.order = FlowOrder::packets;
    options.top = 1;
    options.by = parse_group_fields("dst-port");
    options.format = ListingFormat::csv;
    listed = list_octets(flow_file(some_flows), options);
    CHECK('\n' + listed.text == R"(
dst-port,deltaFlowCount,packetDeltaCount,octetDeltaCount,reversePacketDeltaCount,reverseOctetDeltaCount,flowStartMilliseconds,flowEndMilliseconds,segments,retransmissions,duplicates,outOfOrder,zeroWindow,reverseSegments,reverseRetransmissions,reverseDuplicates,reverseOutOfOrder,reverseZeroWindow
123,1,8,80,0,0,1700000000123,1700000001500,,,,,,,,,,
)");
    options.format = ListingFormat::json;
    listed = list_octets(flow_file(some_flows), options);
    CHECK('\n' + listed.text == R"(
{"@type":"group","dst-port":123,"deltaFlowCount":1,"packetDeltaCount":8,"octetDeltaCount":80,"reversePacketDeltaCount":0,"reverseOctetDeltaCount":0,"flowStartMilliseconds":1700000000123,"flowEndMilliseconds":1700000001500,"segments":null,"retransmissions":null,"duplicates":null,"outOfOrder":null,"zeroWindow":null,"reverseSegments":null,"reverseRetransmissions":null,"reverseDuplicates":null,"reverseOutOfOrder":null,"reverseZeroWindow":null}
)");
}

TEST_CASE("list_flows: a field that records do not have is unknown, and no 0", "[export][unit]") {
    using tributary::test::IpfixBytes;
    using tributary::test::template_record;
    const std::string octets =
        IpfixBytes()
            .message(IpfixBytes()
                         .set(2, template_record(256, {{44, 4}, {9, 1}, {2, 4}, {1, 4}}))
                         .set(256, IpfixBytes().u32(0x0A010200).u8(24).u32(1).u32(2)))
            .octets();
    FlowListingOptions options;
    options.by = parse_group_fields(
        "src-host,dst-host,src-net/16,src-net/"
        "28,src-port,proto,ip-version,interface,tos,dscp,flags");
    options.format = ListingFormat::json;
    CHECK(list_octets(octets, options)
              .text.starts_with(
                  R"({"@type":"group","src-host":"10.1.2.0/24","dst-host":"-",)"
                  R"("src-net/16":"10.1.0.0/16","src-net/28":"10.1.2.0/24","src-port":null,)"
                  R"("proto":"-","ip-version":4,"interface":null,"tos":null,"dscp":null,)"
                  R"("flags":"-","deltaFlowCount":1,)"));
    options.format = ListingFormat::csv;
    CHECK(list_octets(octets, options)
              .lines.at(1)
              .starts_with("10.1.2.0/24,-,10.1.0.0/16,10.1.2.0/24,,-,4,,,,-,1,1,2,"));
}

TEST_CASE("list_flows: groups of equal rank, stand in the order of their values",
          "[export][unit]") {
    FlowListingOptions options;
    options.by = parse_group_fields("src-host");
    options.order = FlowOrder::flows;
    options.format = ListingFormat::csv;
    const Listed listed = list_octets(flow_file(some_flows), options);
    REQUIRE(listed.lines.size() == 4);
    CHECK(listed.lines[1].starts_with("10.0.0.1,2,"));
    CHECK(listed.lines[2].starts_with("10.0.0.2,1,"));
    CHECK(listed.lines[3].starts_with("10.0.1.1,1,"));
}

TEST_CASE("list_flows: CSV, has the same columns for every flow", "[export][unit]") {
    FlowListingOptions options;
    options.format = ListingFormat::csv;
    const Listed listed = list_octets(
        flow_file({{.vlan = 7}, {.protocol = 1, .source_port = 0, .destination_port = 0x0301}}),
        options);
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[0].starts_with(
        "flowStartMilliseconds,flowEndMilliseconds,protocolIdentifier,sourceIPAddress,"
        "sourceTransportPort,destinationIPAddress,destinationTransportPort,icmpTypeCode,vlanId,"));
    CHECK(listed.lines[1] ==
          "1700000000123,1700000001500,17,10.0.0.1,5000,10.0.0.2,53,,7,,8,0,1,"
          "100,,,,idle,,,,,,,,,,,,");
    CHECK(listed.lines[2] ==
          "1700000000123,1700000001500,1,10.0.0.1,,10.0.0.2,,769,,,8,0,1,"
          "100,,,,idle,,,,,,,,,,,,");
}

TEST_CASE("parse_group_fields: an unknown field, is reported", "[export][unit]") {
    CHECK(parse_group_fields("src-net/8/32,dst-port").size() == 2);
    CHECK(fault_of_fields("host").starts_with(
        "--by: 'host': no field to group by; there are src-host, "));
    CHECK(fault_of_fields("src-net") ==
          "--by: 'src-net': a prefix length is missing, as in src-net/24");
    CHECK(fault_of_fields("src-host/24") ==
          "--by: 'src-host/24': only src-net and dst-net have a prefix length");
    CHECK(fault_of_fields("src-net/33") ==
          "--by: 'src-net/33': expected a prefix length up to 32, as in "
          "src-net/24 or src-net/24/48");
    CHECK_FALSE(fault_of_fields("src-net/24/129").empty());
    CHECK(fault_of_fields("proto,proto") == "--by: 'proto': it is there twice");
    CHECK_FALSE(fault_of_fields("").empty());
    CHECK_FALSE(fault_of_fields("proto,").empty());
}
