// SPDX-License-Identifier: Apache-2.0
// Listings of inputs with records of several tables.
#include "export/listing/listed_tables.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/flow_listing_harness.hpp"

using tributary::FlowFilter;
using tributary::FlowListingOptions;
using tributary::ListingFormat;
using tributary::ListingStatus;
using tributary::parse_group_fields;
using tributary::test::flow_data;
using tributary::test::flow_fields;
using tributary::test::IpfixBytes;
using tributary::test::list;
using tributary::test::list_octets;
using tributary::test::Listed;
using tributary::test::Specifier;
using tributary::test::template_record;
using tributary::test::TemporaryFile;

namespace {

constexpr std::uint32_t kCert = 6871;
constexpr std::uint32_t kOwn = 32'473;
constexpr std::uint16_t kNet = 300;      ///< template of the records of a table of nets
constexpr std::uint16_t kOptions = 400;  ///< of names
constexpr std::uint16_t kTypes = 401;    ///< of types
constexpr std::uint16_t kDnsId = 2056;   ///< number of an element of one's own

const IpfixBytes name_template = template_record(kOptions, {{145, 2}, {1000, 65535, kCert}}, 1);
const IpfixBytes types_template =
    template_record(kTypes, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2);

/// Source prefix and its length, protocol, an element of one's own, packets, octets, times,
/// distinctCountOfDestinationIPAddress.
const std::vector<Specifier> net_fields{{44, 4}, {9, 1},   {kDnsId, 2, kOwn}, {2, 4},
                                        {1, 4},  {152, 8}, {153, 8},          {379, 4}};

IpfixBytes name_of(std::uint16_t id, const std::string& name) {
    return IpfixBytes().u16(id).u8(name.size()).text(name);
}

IpfixBytes type_of(std::uint16_t number, std::uint8_t type, const std::string& name) {
    return IpfixBytes().u32(kOwn).u16(number).u8(type).u8(name.size()).text(name);
}

IpfixBytes net_data(std::uint32_t packets, std::uint16_t dns_id = 4242) {
    return IpfixBytes()
        .u32(0x0A010200)
        .u8(24)
        .u16(dns_id)
        .u32(packets)
        .u32(100 * packets)
        .u64(1'700'000'000'123)
        .u64(1'700'000'001'500)
        .u32(17);
}

/// The templates of the tables "main" (256) and "subnets" (300), and their names.
IpfixBytes head() {
    return IpfixBytes()
        .set(3, IpfixBytes().text(name_template.octets() + types_template.octets()))
        .set(kTypes, type_of(kDnsId, 2, "dnsTransactionId"))
        .set(2, template_record(256, flow_fields))
        .set(2, template_record(kNet, net_fields))
        .set(kOptions,
             IpfixBytes().text(name_of(256, "main").octets() + name_of(kNet, "subnets").octets()));
}

/// Two records of flows, and two of nets with the same packets.
std::string two_tables() {
    return IpfixBytes()
        .message(head()
                     .set(256, flow_data({{.packets = 1}, {.packets = 2}}))
                     .set(kNet, net_data(1))
                     .set(256, flow_data({{.packets = 4}}))
                     .set(kNet, net_data(6, 77)))
        .octets();
}

FlowListingOptions of_table(const std::string& name, ListingFormat format = ListingFormat::table) {
    FlowListingOptions options;
    options.table = name;
    options.format = format;
    return options;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr const char* kRefusal =
    "the records are of the tables main, subnets: choose one with --table";

}  // namespace

TEST_CASE("list_flows: records of several tables are listed, and never added up",
          "[export][unit]") {
    const Listed listed = list_octets(two_tables());
    CHECK(listed.result.status == ListingStatus::usage);
    CHECK(listed.result.message == kRefusal);
    CHECK('\n' + listed.text == R"(
Table    Start                     Duration  Proto  Source         Destination  Flags  ToS  Packets  Octets  32473/dnsTransactionId  distinctCountOfDestinationIPAddress  End
main     2023-11-14T22:13:20.123Z     1.377  UDP    10.0.0.1:5000  10.0.0.2:53  -        8        1     100                       -                                    -  idle
main     2023-11-14T22:13:20.123Z     1.377  UDP    10.0.0.1:5000  10.0.0.2:53  -        8        2     100                       -                                    -  idle
subnets  2023-11-14T22:13:20.123Z     1.377  -      10.1.2.0/24    -            -        -        1     100                    4242                                   17  -
main     2023-11-14T22:13:20.123Z     1.377  UDP    10.0.0.1:5000  10.0.0.2:53  -        8        4     100                       -                                    -  idle
subnets  2023-11-14T22:13:20.123Z     1.377  -      10.1.2.0/24    -            -        -        6     600                      77                                   17  -
)");
}

TEST_CASE("list_flows: one table of several, its own columns and sums", "[export][unit]") {
    const Listed nets = list_octets(two_tables(), of_table("subnets"));
    CHECK(nets.result.status == ListingStatus::ok);
    CHECK('\n' + nets.text == R"(
Start                     Duration  Source       Packets  Octets  32473/dnsTransactionId  distinctCountOfDestinationIPAddress  End
2023-11-14T22:13:20.123Z     1.377  10.1.2.0/24        1     100                    4242                                   17  -
2023-11-14T22:13:20.123Z     1.377  10.1.2.0/24        6     600                      77                                   17  -
2 records, 7 packets, 700 octets, 2023-11-14T22:13:20.123Z to 2023-11-14T22:13:21.500Z (1.377 s)
)");
    const Listed main = list_octets(two_tables(), of_table("main"));
    CHECK(main.result.status == ListingStatus::ok);
    REQUIRE(main.lines.size() == 5);
    CHECK(main.lines[0] ==
          "Start                     Duration  Proto  Source         Destination  Flags  ToS  "
          "Packets  Octets  End");
    CHECK(main.lines[4].starts_with("3 records, 7 packets, 300 octets, "));
}

TEST_CASE("list_flows: groups and the top are of one table", "[export][unit]") {
    FlowListingOptions options;
    options.format = GENERATE(ListingFormat::table, ListingFormat::json, ListingFormat::csv);
    const bool has_groups = GENERATE(true, false);
    if (has_groups) {
        options.by = parse_group_fields("src-net/16");
    } else {
        options.top = 1;
    }
    const Listed all = list_octets(two_tables(), options);
    CHECK(all.result.status == ListingStatus::usage);
    CHECK(all.result.message == kRefusal);
    // Nothing but the header of CSV, which comes first.
    CHECK(all.lines.size() == (options.format == ListingFormat::csv ? 1 : 0));
    options.table = "subnets";
    const Listed one = list_octets(two_tables(), options);
    CHECK(one.result.status == ListingStatus::ok);
    const bool has_elements = options.format == ListingFormat::json && !has_groups;
    CHECK(has(one.text, has_groups     ? "10.1.0.0/16"
                        : has_elements ? R"("sourceIPv4Prefix":"10.1.2.0")"
                                       : "10.1.2.0/24"));
}

TEST_CASE("list_flows: JSON tells the table of each record", "[export][unit]") {
    FlowListingOptions options;
    options.format = ListingFormat::json;
    const Listed listed = list_octets(two_tables(), options);
    CHECK(listed.result.status == ListingStatus::ok);
    std::vector<std::string> data;
    std::ranges::copy_if(listed.lines, std::back_inserter(data), [](const std::string& line) {
        return line.starts_with(R"({"@type":"data")");
    });
    REQUIRE(data.size() == 5);
    CHECK(listed.lines.size() == 8);  // and the options records
    CHECK(data[0].starts_with(R"({"@type":"data","@template":256,"@table":"main","@domain":1,)"));
    CHECK(data[2] ==
          R"({"@type":"data","@template":300,"@table":"subnets","@domain":1,)"
          R"("@exportTime":1700000000,"@sequence":7,"sourceIPv4Prefix":"10.1.2.0",)"
          R"("sourceIPv4PrefixLength":24,"32473/dnsTransactionId":4242,"packetDeltaCount":1,)"
          R"("octetDeltaCount":100,"flowStartMilliseconds":1700000000123,)"
          R"("flowEndMilliseconds":1700000001500,"distinctCountOfDestinationIPAddress":17})");
    const Listed one = list_octets(two_tables(), of_table("subnets", ListingFormat::json));
    REQUIRE(one.lines.size() == 2);
    CHECK(one.lines[0] == data[2]);

    const Listed entries =
        list_octets(two_tables(), of_table("subnets", ListingFormat::entry_json));
    REQUIRE(entries.lines.size() == 2);
    CHECK(entries.lines[1] ==
          R"({"@type":"ipfix.entry","iana:sourceIPv4Prefix":"10.1.2.0",)"
          R"("iana:sourceIPv4PrefixLength":24,"en32473:dnsTransactionId":77,)"
          R"("iana:packetDeltaCount":6,"iana:octetDeltaCount":600,)"
          R"("iana:flowStartMilliseconds":"2023-11-14T22:13:20.123Z",)"
          R"("iana:flowEndMilliseconds":"2023-11-14T22:13:21.500Z",)"
          R"("iana:distinctCountOfDestinationIPAddress":17,"iana:observationDomainId":1,)"
          R"("tributary:tableName":"subnets"})");
}

TEST_CASE("list_flows: CSV has a column for the table where the input names tables",
          "[export][unit]") {
    FlowListingOptions options;
    options.format = ListingFormat::csv;
    const Listed all = list_octets(two_tables(), options);
    CHECK(all.result.status == ListingStatus::ok);
    REQUIRE(all.lines.size() == 6);
    CHECK(all.lines[0].ends_with(",reverseZeroWindow,table"));
    CHECK(all.lines[1].ends_with(",main"));
    CHECK(all.lines[3] ==
          "1700000000123,1700000001500,,10.1.2.0/24,,,,,,,,,1,100,,,,,,,,,,,,,,,,,subnets");
    const Listed one = list_octets(two_tables(), of_table("subnets", ListingFormat::csv));
    REQUIRE(one.lines.size() == 3);
    CHECK(one.lines[0].ends_with(",reverseZeroWindow"));
    CHECK(one.lines[1] == "1700000000123,1700000001500,,10.1.2.0/24,,,,,,,,,1,100,,,,,,,,,,,,,,,,");

    INFO("a header without that column is of one table");
    const TemporaryFile plain(tributary::test::flow_file({{}}));
    const TemporaryFile named(two_tables());
    options.files = {plain.path(), named.path()};
    const Listed mixed = list(options);
    CHECK(mixed.result.status == ListingStatus::usage);
    CHECK(mixed.result.message == kRefusal);
    CHECK(mixed.lines.size() == 4);  // of the main table
    options.files = {named.path(), plain.path()};
    const Listed both = list(options);
    CHECK(both.result.status == ListingStatus::ok);
    CHECK(both.lines.back().ends_with(",main"));
}

TEST_CASE("list_flows: a table that no input has is refused, with those that are there",
          "[export][unit]") {
    for (const ListingFormat format :
         {ListingFormat::table, ListingFormat::json, ListingFormat::csv}) {
        const Listed listed = list_octets(two_tables(), of_table("subnet", format));
        CHECK(listed.result.status == ListingStatus::usage);
        CHECK(listed.result.message == "there is no table 'subnet'; the tables are main, subnets");
        CHECK(listed.text.empty());
    }
    const Listed plain = list_octets(tributary::test::flow_file({{}}), of_table("sub\x1Bnet"));
    CHECK(plain.result.message == "there is no table 'sub\\x1bnet'; the tables are main");
    CHECK(list_octets("", of_table("x")).result.message == "there is no table 'x', and no record");
    CHECK(list_octets("", of_table("main")).result.status == ListingStatus::ok);

    INFO("a table without a record is there");
    const Listed empty = list_octets(
        IpfixBytes().message(head().set(256, flow_data({{}}))).octets(), of_table("subnets"));
    CHECK(empty.result.status == ListingStatus::ok);
    CHECK(empty.lines.back() == "0 records, 0 packets, 0 octets");
    const Listed main =
        list_octets(IpfixBytes().message(head().set(256, flow_data({{}}))).octets());
    CHECK(main.result.status == ListingStatus::ok);
    CHECK(main.lines.back().starts_with("1 records, "));
}

TEST_CASE("list_flows: an input that names no table has the main one", "[export][unit]") {
    const TemporaryFile plain(tributary::test::flow_file({{.packets = 8}}));
    const TemporaryFile named(two_tables());
    FlowListingOptions options = of_table("main");
    options.files = {plain.path(), named.path(), plain.path()};
    const Listed main = list(options);
    CHECK(main.result.status == ListingStatus::ok);
    CHECK(main.lines.back().starts_with("5 records, 23 packets, "));
    const Listed alone = list_octets(tributary::test::flow_file({{}}));
    CHECK(alone.result.status == ListingStatus::ok);
    CHECK_FALSE(has(alone.lines[0], "Table"));
}

TEST_CASE("list_flows: a template without a name beside named ones is of no named table",
          "[export][unit]") {
    const std::string octets = IpfixBytes()
                                   .message(head()
                                                .set(2, template_record(310, flow_fields))
                                                .set(256, flow_data({{.packets = 1}}))
                                                .set(310, flow_data({{.packets = 32}})))
                                   .octets();
    const Listed all = list_octets(octets);
    CHECK(all.result.message ==
          "the records are of the tables main, subnets, unnamed: choose one with --table");
    CHECK(all.lines.back().starts_with("unnamed"));
    CHECK(list_octets(octets, of_table("main")).lines.back().starts_with("1 records, 1 packets"));
    CHECK(
        list_octets(octets, of_table("unnamed")).lines.back().starts_with("1 records, 32 packets"));
    FlowListingOptions json;
    json.format = ListingFormat::json;
    CHECK(has(list_octets(octets, json).lines.back(), R"("@table":"unnamed")"));
}

TEST_CASE("list_flows: records that came before the first name are not added up",
          "[export][unit]") {
    const std::string octets = IpfixBytes()
                                   .message(IpfixBytes()
                                                .set(2, template_record(310, flow_fields))
                                                .set(310, flow_data({{.packets = 32}})))
                                   .message(head().set(256, flow_data({{.packets = 1}})))
                                   .octets();
    for (const FlowListingOptions& options : {FlowListingOptions(), of_table("main")}) {
        const Listed listed = list_octets(octets, options);
        CHECK(listed.result.status == ListingStatus::usage);
        CHECK(listed.result.message ==
              "records were read before their tables were named, and may be of any of main, "
              "unnamed, subnets: they are not added up");
        CHECK(listed.lines.size() == 3);
    }
    CHECK(list_octets(octets, of_table("subnets")).result.status == ListingStatus::ok);
}

TEST_CASE("list_flows: names are those of their domain's templates", "[export][unit]") {
    IpfixBytes file;
    file.message(head(), 1)
        .message(IpfixBytes()
                     .set(3, name_template)
                     .set(2, template_record(kNet, flow_fields))
                     .set(kOptions, name_of(kNet, "other")),
                 2)
        .message(IpfixBytes().set(kNet, net_data(1)), 1)
        .message(IpfixBytes().set(kNet, flow_data({{.packets = 2}})), 2);
    CHECK(list_octets(file.octets(), of_table("subnets"))
              .lines.back()
              .starts_with("1 records, 1 packets"));
    CHECK(list_octets(file.octets(), of_table("other"))
              .lines.back()
              .starts_with("1 records, 2 packets"));
}

TEST_CASE("list_flows: IPFIX of one table, and of all, has their names with new ids",
          "[export][unit]") {
    FlowListingOptions convert;
    convert.format = ListingFormat::ipfix;
    const std::string octets =
        IpfixBytes()
            .message(head()
                         .set(3, template_record(402, {{145, 2}, {173, 8}}, 1))
                         .set(402, IpfixBytes().u16(kNet).u64(0b111).u16(999).u64(1))
                         .set(kNet, net_data(6))
                         .set(256, flow_data({{.packets = 1}})))
            .octets();
    const std::string all = list_octets(octets, convert).text;
    FlowListingOptions json;
    json.format = ListingFormat::json;
    const Listed listed = list_octets(all, json);
    CHECK(listed.result.status == ListingStatus::ok);
    std::string template_of_nets;
    for (const std::string& line : listed.lines) {
        const std::string head_of_nets = R"("@table":"subnets")";
        if (has(line, head_of_nets)) {
            template_of_nets = line.substr(line.find("@template") + 11, 3);
        }
    }
    CHECK(std::ranges::count_if(listed.lines, [&](const std::string& line) {
              return has(line, "\"templateId\":" + template_of_nets) &&
                     has(line, R"("flowKeyIndicator":7)");
          }) == 1);
    CHECK(std::ranges::count_if(listed.lines, [](const std::string& line) {
              return has(line, R"("flowKeyIndicator":1)");
          }) == 0);  // of a template that is not known
    CHECK(std::ranges::count_if(listed.lines, [&](const std::string& line) {
              return has(line,
                         "\"templateId\":" + template_of_nets + ",\"templateName\":\"subnets\"");
          }) == 1);
    CHECK(list_octets(all).result.message == kRefusal);

    INFO("of one table: its name, and what describes its elements");
    convert.table = "subnets";
    const std::string one = list_octets(octets, convert).text;
    const Listed nets = list_octets(one);
    CHECK(nets.result.status == ListingStatus::ok);
    CHECK(nets.lines.back().starts_with("1 records, 6 packets"));
    CHECK(has(nets.lines.front(), "32473/dnsTransactionId"));
    CHECK(list_octets(one, of_table("main")).result.message ==
          "there is no table 'main'; the tables are subnets");
}

TEST_CASE("list_flows: a filter and a window are of the chosen table", "[export][unit]") {
    FlowListingOptions options = of_table("subnets");
    options.filter = FlowFilter("dnsTransactionId == 77");
    CHECK(list_octets(two_tables(), options).lines.back().starts_with("1 records, 6 packets"));
    options.filter = FlowFilter("src net 10.1.0.0/16");
    CHECK(list_octets(two_tables(), options).lines.back().starts_with("2 records, 7 packets"));
    options.filter = FlowFilter("host 10.1.2.3");  // who knows
    CHECK(list_octets(two_tables(), options).lines.back().starts_with("0 records"));

    INFO("several tables are refused even if the filter leaves one");
    options.table.reset();
    options.filter = FlowFilter("udp");
    CHECK(list_octets(two_tables(), options).result.message == kRefusal);
}
