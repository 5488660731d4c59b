// SPDX-License-Identifier: Apache-2.0
// Declared tables from packets to what `tributary flows` says of their records: input threads,
// export into a file, reader, listing.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/table/table_queue.hpp"
#include "daemon/table/table_stage.hpp"
#include "export/listing/flow_listing.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/timed_frames.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// Queries of 10.0.N.1 for N = 0 .. 3 to servers in turn, each with the transaction id 1000 + N.
std::vector<Frame> queries(std::size_t count) {
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t network = i % 4;
        Frame frame = ethernet()
                          .ipv4({.source = "10.0." + std::to_string(network) + ".1",
                                 .destination = "192.0.2." + std::to_string(1 + i % 8),
                                 .ttl = static_cast<std::uint8_t>(60 + network)})
                          .udp(static_cast<std::uint16_t>(5000 + i), 53)
                          .payload(20)
                          .build();
        const std::uint16_t id = static_cast<std::uint16_t>(1000 + network);
        constexpr std::size_t kPayload = 14 + 20 + 8;
        frame.captured[kPayload] = static_cast<std::byte>(id >> 8U);
        frame.captured[kPayload + 1] = static_cast<std::byte>(id & 0xFFU);
        frames.push_back(std::move(frame));
    }
    return frames;
}

TableDeclaration declared(const std::string& name, const std::vector<std::string>& key,
                          const std::vector<std::string>& values) {
    TableDeclaration declaration;
    declaration.name = name;
    declaration.key = key;
    declaration.values = values;
    return declaration;
}

/// Meters the frames in the main table and in two declared ones, and writes a file. The tables are
/// gone when it returns: a reader knows of them what the file says.
void write_tables(const std::vector<Frame>& traffic, const std::string& path) {
    const FlowCacheOptions main{.max_flows = 4096};
    const std::vector<OwnField> own{{.name = "dnsTransactionId",
                                     .from = OwnFieldBase::payload,
                                     .offset = 0,
                                     .octets = 2,
                                     .as = OwnFieldType::unsigned16}};
    const TableUse use{.parse = {}, .seed = 1};
    const DeclaredTable dns(
        declared("dns", {"sourceAddress/24/56", "dnsTransactionId"},
                 {"distinct(destinationAddress)", "min(sourceTransportPort)", "max(ipTTL)"}),
        own, use, main, 1);
    const DeclaredTable classes(
        declared("classes", {"ipDiffServCodePoint", "destinationTransportPort"}, {}), own, use,
        main, 2);
    TimedFrames source(traffic);
    FrameReader<TimedFrames> reader(source, {});
    std::vector<std::unique_ptr<TableQueue>> parts;
    std::vector<std::unique_ptr<BurstStage>> stages;
    for (const DeclaredTable* const table : {&dns, &classes}) {
        parts.push_back(
            make_table_queue({.table = *table, .pages = PageUse::offline}, FlowHasher(3)));
        stages.push_back(std::make_unique<TableStage>(
            *parts.back(), StageNeeds{.name = "table", .order = StageOrder::tables}));
    }
    std::vector<std::unique_ptr<QueueWorker>> queues;
    queues.push_back(make_queue_worker(
        reader, {.flows = main, .layout = {}, .pages = PageUse::offline, .name = "test"},
        FlowHasher(1), StageList(std::move(stages))));
    ExportOptions options;
    options.collectors.resize(1);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = path;
    options.collectors[0].tables = {"main", "dns", "classes"};
    Pipeline pipeline(
        {.queues = std::move(queues),
         .export_options = options,
         .metering = {.layout = {}, .further = {dns.for_export(), classes.for_export()}},
         .wall_clock = [] { return Timestamp{1'700'000'000s}; },
         .on_collector_event = {},
         .further_records = {&parts[0]->records(), &parts[1]->records()}});
    std::atomic<bool> has_ended{false};
    pipeline.start(
        {.inputs = {{.name = "in0", .cpu = {}}}, .export_thread = {.name = "ex", .cpu = {}}},
        [&] { has_ended = true; });
    REQUIRE(wait_until([&] { return has_ended.load(); }));
    pipeline.stop();
}

struct Listed {
    ListingResult result;
    std::vector<std::string> lines;
};

Listed listed(FlowListingOptions options, const std::string& path) {
    options.files = {path};
    std::stringstream out;
    Listed all;
    all.result = list_flows(options, out, [](const std::string& text) { FAIL(text); });
    for (std::string line; std::getline(out, line);) {
        all.lines.push_back(line);
    }
    return all;
}

std::vector<nlohmann::json> json_of(const std::string& table, const std::string& filter,
                                    const std::string& path) {
    FlowListingOptions options;
    options.format = ListingFormat::json;
    options.table = table;
    if (!filter.empty()) {
        options.filter = FlowFilter(filter);
    }
    const Listed all = listed(options, path);
    CHECK(all.result.message.empty());
    std::vector<nlohmann::json> records;
    for (const std::string& line : all.lines) {
        records.push_back(nlohmann::json::parse(line));
    }
    return records;
}

}  // namespace

TEST_CASE("list_flows: records of declared tables, from packets to lines", "[daemon][unit]") {
    constexpr std::size_t kPackets = 400;
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    const std::vector<Frame> traffic = queries(kPackets);
    write_tables(traffic, path);
    const std::size_t octets = kPackets * (traffic.front().captured.size() - 14);

    SECTION("each table has all packets, and they are never added up") {
        const Listed all = listed({}, path);
        CHECK(all.result.status == ListingStatus::usage);
        CHECK(all.result.message ==
              "the records are of the tables main, dns, classes: choose one with --table");
        CHECK(all.lines.size() > kPackets + 4);
        for (const char* const table : {"main", "dns", "classes"}) {
            FlowListingOptions options;
            options.table = table;
            const Listed one = listed(options, path);
            CHECK(one.result.message.empty());
            CHECK(one.lines.back().find(" " + std::to_string(kPackets) + " packets, " +
                                        std::to_string(octets) + " octets") != std::string::npos);
        }
        FlowListingOptions top;
        top.top = 3;
        CHECK(listed(top, path).result.status == ListingStatus::usage);
        top.table = "main";
        CHECK(listed(top, path).lines.size() == 5);
    }
    SECTION("prefixes, own fields by their names, values") {
        const std::vector<nlohmann::json> records = json_of("dns", "", path);
        REQUIRE(records.size() == 4);
        for (const nlohmann::json& record : records) {
            CHECK(record["@table"] == "dns");
            const int id = record["32473/dnsTransactionId"];
            const int network = id - 1000;
            CHECK(record["sourceIPv4Prefix"] == "10.0." + std::to_string(network) + ".0");
            CHECK(record["sourceIPv4PrefixLength"] == 24);
            CHECK(record["packetDeltaCount"] == kPackets / 4);
            CHECK(record["distinctCountOfDestinationIPAddress"] == 2);
            CHECK(record["32473/minSourceTransportPort"] == 5000 + network);
            CHECK(record["maximumTTL"] == 60 + network);
            CHECK_FALSE(record.contains("destinationIPv4Address"));
            CHECK_FALSE(record.contains("ipClassOfService"));
        }
        FlowListingOptions options;
        options.table = "dns";
        options.filter = FlowFilter("dnsTransactionId == 1002");
        const Listed one = listed(options, path);
        REQUIRE(one.lines.size() == 3);
        CHECK(one.lines[0].find("Proto") == std::string::npos);
        CHECK(one.lines[0].find("  32473/dnsTransactionId") != std::string::npos);
        CHECK(one.lines[1].find("  10.0.2.0/24  ") != std::string::npos);
    }
    SECTION("filters by prefix, own field and value") {
        CHECK(json_of("dns", "dnsTransactionId == 1002", path).size() == 1);
        CHECK(json_of("dns", "dnsTransactionId > 1001", path).size() == 2);
        CHECK(json_of("dns", "src net 10.0.2.0/23", path).size() == 2);
        CHECK(json_of("dns", "src net 10.0.2.0/25", path).empty());
        CHECK(json_of("dns", "sourceIPv4Prefix == 10.0.0.0/16", path).size() == 4);
        CHECK(json_of("dns", "minSourceTransportPort >= 5002 and maximumTTL < 63", path).size() ==
              1);
        CHECK(json_of("dns", "dst net 0.0.0.0/0", path).empty());
        CHECK(json_of("classes", "dscp 0 and dst port 53", path).size() == 1);
        CHECK(json_of("classes", "dst port 54", path).empty());
        CHECK(json_of("main", "dnsTransactionId == 1002", path).empty());
    }
    SECTION("groups of a table") {
        FlowListingOptions options;
        options.table = "dns";
        options.format = ListingFormat::csv;
        options.by = parse_group_fields("src-net/23");
        const Listed groups = listed(options, path);
        REQUIRE(groups.lines.size() == 3);
        CHECK(groups.lines[1].starts_with("10.0.0.0/23,2,200,"));
        CHECK(groups.lines[2].starts_with("10.0.2.0/23,2,200,"));
    }
}
