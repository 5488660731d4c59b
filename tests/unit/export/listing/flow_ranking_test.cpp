// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_ranking.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/flow_listing_harness.hpp"

using tributary::FlowListingOptions;
using tributary::FlowOrder;
using tributary::FlowRanking;
using tributary::list_flows;
using tributary::ListingFormat;
using tributary::test::flow_file;
using tributary::test::IpfixBytes;
using tributary::test::list_octets;
using tributary::test::Listed;
using tributary::test::template_record;

TEST_CASE("list_flows: sorted, the most come first and equals stay as read", "[export][unit]") {
    FlowListingOptions options;
    options.format = GENERATE(ListingFormat::table, ListingFormat::json);
    options.order = GENERATE(FlowOrder::octets, FlowOrder::packets);
    const Listed listed = list_octets(flow_file({{.source_port = 1, .packets = 1, .octets = 50},
                                                 {.source_port = 2, .packets = 9, .octets = 40},
                                                 {.source_port = 3, .packets = 1, .octets = 50}}),
                                      options);
    std::string order;
    for (const std::string& line : listed.lines) {
        for (const char port : {'1', '2', '3'}) {
            const bool here =
                line.find(std::string("10.0.0.1:") + port + " ") != std::string::npos ||
                line.find(std::string("\"sourceTransportPort\":") + port + ",") !=
                    std::string::npos;
            order += here ? std::string(1, port) : "";
        }
    }
    CHECK(order == (options.order == FlowOrder::octets ? "132" : "213"));
}

TEST_CASE("list_flows: top, shows the first by octets and sums up all", "[export][unit]") {
    FlowListingOptions options;
    options.top = 1;
    const Listed listed =
        list_octets(flow_file({{.octets = 10}, {.octets = 30}, {.octets = 20}}), options);
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[1].find("     30  idle") != std::string::npos);
    CHECK(listed.lines[2] ==
          "3 records, 3 packets, 60 octets, 2023-11-14T22:13:20.123Z to 2023-11-14T22:13:21.500Z "
          "(1.377 s); "
          "the first 1 shown");
}

TEST_CASE("FlowRanking: of many items, keeps the best in order", "[export][unit]") {
    FlowRanking<int> ranking(3);
    for (int item = 0; item < 100; ++item) {
        ranking.add(static_cast<std::uint64_t>(item * 37 % 50), item);
    }
    std::vector<int> kept;
    ranking.drain([&kept](int item) { kept.push_back(item); });
    // 37 * 27 % 50 is 49, and 77 has the same; then 37 * 4 % 50 is 48.
    CHECK(kept == std::vector<int>{27, 77, 4});
    CHECK(FlowRanking<int>(0).admits(1) == false);
}

TEST_CASE("list_flows: of biflows both directions are summed up, and ranked by", "[export][unit]") {
    constexpr std::uint32_t kReverse = 29305;
    const std::string file =
        IpfixBytes()
            .message(
                IpfixBytes()
                    .set(2, template_record(256, {{4, 1}, {2, 4}, {1, 4}}))
                    .set(2, template_record(
                                257, {{4, 1}, {2, 4}, {1, 4}, {2, 4, kReverse}, {1, 4, kReverse}}))
                    .set(256, IpfixBytes().u8(6).u32(3).u32(200))
                    .set(257, IpfixBytes().u8(17).u32(1).u32(100).u32(2).u32(101)))
            .octets();
    Listed listed = list_octets(file);
    CHECK(listed.lines.back() == "2 records, 6 packets, 401 octets");
    FlowListingOptions options;
    options.top = 1;
    listed = list_octets(file, options);
    REQUIRE(listed.lines.size() == 3);
    CHECK(listed.lines[1].find("UDP") != std::string::npos);
    CHECK(listed.lines[2] == "2 records, 6 packets, 401 octets; the first 1 shown");
}

TEST_CASE("list_flows: by rate, any counts and times have their place", "[export][unit]") {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t kSecond = 1'700'000'000'000;
    struct Case {
        std::uint64_t octets;
        std::uint64_t reverse_octets;
        std::uint64_t start;
        std::uint64_t end;
    };
    // In the order of their rates; protocol numbers from 200 identify them.
    const std::vector<Case> cases{
        {kMost, kMost, kSecond, kSecond},  // 2^65 - 2, in no time
        {kMost, 0, kSecond, kSecond},
        {kMost - 1, 0, kSecond, kSecond + 1000},
        {kMost / 2 + 1, 0, kSecond, kSecond},  // 2^63
        {kMost, 0, kSecond, kSecond + 4000},
        {1'000'000, 0, kSecond, kSecond - 1},  // ends before it starts: as in one second
        {999'999, 0, 0, kSecond},              // no start
        {1, 0, kSecond, kSecond + 2000},       // less than one octet per second
        {1, 0, kSecond, kSecond + 3000},
        {1, 0, kSecond, kMost},  // the latest time that there is
        {0, 0, kSecond, kSecond},
    };
    IpfixBytes data;
    for (std::size_t index = cases.size(); index-- > 0;) {
        const Case& flow = cases[index];
        data.u8(200 + index).u64(flow.octets).u64(flow.reverse_octets).u8(1);
        data.u64(flow.start).u64(flow.end);
    }
    constexpr std::uint32_t kReverse = 29305;
    const IpfixBytes layout = template_record(
        256, {{4, 1}, {1, 8}, {1, 8, kReverse}, {2, 1, kReverse}, {152, 8}, {153, 8}});
    FlowListingOptions options;
    options.format = GENERATE(ListingFormat::table, ListingFormat::json);
    options.order = FlowOrder::rate;
    const Listed listed = list_octets(
        IpfixBytes().message(IpfixBytes().set(2, layout).set(256, data)).octets(), options);
    REQUIRE(listed.lines.size() == cases.size() + (options.format == ListingFormat::json ? 0 : 2));
    for (std::size_t index = 0; index < cases.size(); ++index) {
        const std::string protocol = std::to_string(200 + index);
        const std::string& line =
            listed.lines[index + (options.format == ListingFormat::json ? 0 : 1)];
        CHECK_THAT(line, Catch::Contains(options.format == ListingFormat::json
                                             ? "\"protocolIdentifier\":" + protocol + ","
                                             : " " + protocol + " "));
    }
}

TEST_CASE("list_flows: sums beyond 64 bits, are exact", "[export][unit]") {
    IpfixBytes data;
    for (int flow = 0; flow < 3; ++flow) {
        data.u64(std::numeric_limits<std::uint64_t>::max()).u64(1ULL << 63U);
    }
    const Listed listed = list_octets(
        IpfixBytes()
            .message(IpfixBytes().set(2, template_record(256, {{1, 8}, {2, 8}})).set(256, data))
            .octets());
    CHECK(listed.lines.back() ==
          "3 records, 27670116110564327424 packets, 55340232221128654845 octets");
}
