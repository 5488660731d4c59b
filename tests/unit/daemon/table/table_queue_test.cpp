// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_queue.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/table/table_stage.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/timed_frames.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

using Texts = std::vector<std::string>;

const Texts kFiveTuple{"sourceAddress",       "destinationAddress",
                       "sourceTransportPort", "destinationTransportPort",
                       "protocolIdentifier",  "vlanId",
                       "ingressInterface"};

TableDeclaration declared(const std::string& name, const Texts& key) {
    TableDeclaration declaration;
    declaration.name = name;
    declaration.key = key;
    return declaration;
}

/// Frames of few hosts and ports, of both IP versions, every 10 ms.
std::vector<Frame> random_frames(std::size_t count, std::uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string source = std::to_string(1 + random() % 4);
        const std::string destination = std::to_string(1 + random() % 4);
        const auto port = static_cast<std::uint16_t>(1 + random() % 3);
        const auto ttl = static_cast<std::uint8_t>(1 + random() % 255);
        PacketBuilder packet = ethernet();
        if (random() % 2 == 0) {
            packet.ipv4(
                {.source = "10.0.0." + source, .destination = "10.0.1." + destination, .ttl = ttl});
        } else {
            packet.ipv6({.source = "2001:db8::" + source,
                         .destination = "2001:db8:1::" + destination,
                         .hop_limit = ttl});
        }
        frames.push_back(packet.udp(port, 53).payload(random() % 100).build());
    }
    return frames;
}

/// A record: all its octets, and its packets.
struct Row {
    std::vector<std::byte> octets;
    std::uint64_t packets;

    friend auto operator<=>(const Row&, const Row&) = default;
};

Row row_of(std::span<const std::byte> record) {
    FlowRecordCore core;
    std::memcpy(&core, record.data(), sizeof core);
    return {{record.begin(), record.end()}, core.packets};
}

std::vector<Row> rows_of(RecordSource& source) {
    std::vector<Row> rows;
    std::vector<std::uint64_t> record(source.record_bytes() / sizeof(std::uint64_t));
    const std::span octets = std::as_writable_bytes(std::span(record));
    while (source.drain(octets, 1) == 1) {
        rows.push_back(row_of(octets));
    }
    std::ranges::sort(rows);
    return rows;
}

std::uint64_t packets_in(RecordSource& source) {
    std::uint64_t sum = 0;
    for (const Row& row : rows_of(source)) {
        sum += row.packets;
    }
    return sum;
}

/// Passes frames of some length.
class LongFrames final : public PacketSelector {
public:
    explicit LongFrames(Readiness readiness = Readiness::ready) noexcept
        : PacketSelector(readiness) {}
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override {
        PacketMask passed = 0;
        for (std::size_t i = 0; i < packets.size(); ++i) {
            passed |= is_long(packets[i]) ? mask_of(i) : 0;
        }
        return passed;
    }
    [[nodiscard]] static bool is_long(const PacketView& frame) noexcept {
        constexpr std::uint32_t kLong = 60;
        return frame.wire_bytes >= kLong;
    }
};

StageList stages_of(TableQueue& queue) {
    std::vector<std::unique_ptr<BurstStage>> stages;
    stages.push_back(std::make_unique<TableStage>(
        queue, StageNeeds{.name = "table", .order = StageOrder::tables}));
    return StageList(std::move(stages));
}

/// What a record of a net has to say.
struct Net {
    std::uint64_t packets{};
    std::uint64_t octets{};
    std::uint64_t least_ttl = 255;
    std::uint64_t most_ttl{};

    void add(std::uint64_t more_packets, std::uint64_t more_octets, std::uint64_t ttl) {
        packets += more_packets;
        octets += more_octets;
        least_ttl = std::min(least_ttl, ttl);
        most_ttl = std::max(most_ttl, ttl);
    }
    friend bool operator==(const Net&, const Net&) = default;
};

/// A queue with a declared table beside the main one.
struct Metering {
    Metering(const std::vector<Frame>& traffic, TableDeclaration declaration,
             const std::vector<OwnField>& own = {}, const std::deque<FilterSlot>* filters = nullptr,
             const FlowCacheOptions& main = {.max_flows = 4096},
             std::uint32_t ring_slots = 1U << 14U)
        : frames(traffic),
          table(declaration, own, {.parse = {}, .seed = 1}, main, 1),
          queue(make_table_queue({.table = table,
                                  .filters = filters,
                                  .ring_slots = ring_slots,
                                  .pages = PageUse::offline},
                                 FlowHasher(3))) {
        worker = make_queue_worker(reader,
                                   {.flows = main,
                                    .layout = RecordLayout::of({}, main.direction),
                                    .pages = PageUse::offline,
                                    .name = "test/0"},
                                   FlowHasher(1), stages_of(*queue));
    }
    void meter() {
        while (!frames.exhausted()) {
            worker->step();
        }
    }
    void run() {
        meter();
        REQUIRE(worker->drain());
    }

    TimedFrames frames;
    FrameReader<TimedFrames> reader{frames, {}};
    DeclaredTable table;
    std::unique_ptr<TableQueue> queue;
    std::unique_ptr<QueueWorker> worker;
};

}  // namespace

TEST_CASE("TableQueue: a table with the main table's key has its records", "[daemon][unit]") {
    const std::vector<Frame> traffic = random_frames(5000);
    for (const FlowDirection direction : {FlowDirection::uniflow, FlowDirection::biflow}) {
        const FlowCacheOptions main{
            .max_flows = 4096, .idle_timeout = 1s, .active_timeout = 5s, .direction = direction};
        TableDeclaration declaration = declared("same", kFiveTuple);
        declaration.direction = direction;
        declaration.max_flows = 4096;
        declaration.idle_timeout = 1s;
        declaration.active_timeout = 5s;
        Metering metering(traffic, declaration, {}, nullptr, main);
        metering.run();
        const std::vector<Row> expected = rows_of(metering.worker->records());
        CHECK(expected.size() > 200);
        CHECK(rows_of(metering.queue->records()) == expected);
        CHECK(metering.queue->records().table() == 1);
        const TableCounters& counters = metering.queue->counters;
        CHECK(counters.matched.read() == traffic.size());
        CHECK(counters.cache.packets.read() == traffic.size());
        CHECK(counters.cache.flows_created.read() == expected.size());
        CHECK(counters.filtered.read() + counters.without_field.read() == 0);
    }
}

TEST_CASE("TableQueue: what its filter and its fields leave out is counted", "[daemon][unit]") {
    const std::vector<Frame> traffic = random_frames(3000, 5);
    LongFrames filter;
    std::deque<FilterSlot> filters;
    filters.emplace_back(&filter);
    // The payload's octets 8 to 11.
    const std::vector<OwnField> own{{.name = "word",
                                     .from = OwnFieldBase::payload,
                                     .offset = 8,
                                     .octets = 4,
                                     .as = OwnFieldType::unsigned32,
                                     .when = {}}};
    Metering metering(traffic, declared("own", {"word", "sourceTransportPort"}), own, &filters);
    metering.run();
    std::uint64_t filtered = 0;
    std::uint64_t without = 0;
    for (const Frame& frame : traffic) {
        const bool is_ipv4 = frame.captured[12] == std::byte{0x08};
        const std::size_t headers = 14 + (is_ipv4 ? 20 : 40) + 8;
        if (!LongFrames::is_long(frame.view())) {
            ++filtered;
        } else if (frame.captured.size() < headers + 12) {
            ++without;
        }
    }
    CHECK(filtered > 100);
    CHECK(without > 100);
    const TableCounters& counters = metering.queue->counters;
    CHECK(counters.filtered.read() == filtered);
    CHECK(counters.without_field.read() == without);
    CHECK(counters.matched.read() == traffic.size() - filtered - without);
    CHECK(packets_in(metering.queue->records()) == counters.matched.read());
    CHECK(packets_in(metering.worker->records()) == traffic.size());
}

TEST_CASE("Pipeline: records of tables are exported beside those of the queues", "[daemon][unit]") {
    constexpr std::size_t kQueues = 2;
    const TemporaryDirectory directory;
    const FlowCacheOptions main{.max_flows = 4096};
    TableDeclaration declaration = declared("nets", {"sourceAddress/31/127"});
    declaration.values = {"min(ipTTL)", "max(ipTTL)"};
    const DeclaredTable table(declaration, {}, {.parse = {}, .seed = 1}, main, 1);

    std::vector<std::vector<Frame>> traffic;
    std::vector<std::unique_ptr<TimedFrames>> sources;
    std::vector<std::unique_ptr<FrameReader<TimedFrames>>> readers;
    std::vector<std::unique_ptr<TableQueue>> parts_of_table;
    std::vector<std::unique_ptr<QueueWorker>> queues;
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
        traffic.push_back(random_frames(4000, 20 + static_cast<std::uint32_t>(queue)));
        sources.push_back(std::make_unique<TimedFrames>(traffic.back()));
        readers.push_back(
            std::make_unique<FrameReader<TimedFrames>>(*sources.back(), FrameParserParts{}));
        parts_of_table.push_back(
            make_table_queue({.table = table, .pages = PageUse::offline}, FlowHasher(3)));
        queues.push_back(make_queue_worker(
            *readers.back(),
            {.flows = main, .layout = {}, .pages = PageUse::offline, .name = "test"}, FlowHasher(1),
            stages_of(*parts_of_table.back())));
    }
    ExportOptions options;
    options.collectors.resize(1);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = directory / "flows.ipfix";
    options.collectors[0].tables = {"main", "nets"};
    Pipeline pipeline(
        {.queues = std::move(queues),
         .export_options = options,
         .metering = {.layout = {}, .further = {table.for_export()}},
         .wall_clock = [] { return Timestamp{1'700'000'000s}; },
         .on_collector_event = {},
         .further_records = {&parts_of_table[0]->records(), &parts_of_table[1]->records()}});
    std::atomic<bool> has_ended{false};
    pipeline.start({.inputs = {{.name = "in0", .cpu = {}}, {.name = "in1", .cpu = {}}},
                    .export_thread = {.name = "ex", .cpu = {}}},
                   [&] { has_ended = true; });
    REQUIRE(wait_until([&] { return has_ended.load(); }));
    pipeline.stop();

    Ledger ledger;
    ledger.queues.resize(kQueues);
    pipeline.read(ledger);
    REQUIRE(ledger.tables.size() == 1);
    TableLedger& account = ledger.tables[0];
    for (const auto& part : parts_of_table) {
        read_cache(part->counters.cache, account);
        account.matched += part->counters.matched.read();
        account.metered += part->counters.metered.read();
    }
    CHECK(account.name == "nets");
    CHECK(account.metered == 8000);
    CHECK(account.created.records > 4);
    CHECK(account.created.packets == 8000);
    CHECK(account.exported == account.created);
    CHECK(ledger.total().exported.packets == 8000);
    CHECK(imbalance(ledger).empty());
    const CollectorLedger& file = ledger.collectors.at(0);
    CHECK(file.tables.at("nets").at("records") == account.created.records);
    CHECK(file.tables.at("main").at("records") == ledger.total().metered.records);
    CHECK(file.counts.at("records") == account.created.records + ledger.total().metered.records);
    // Only where there are tables to take can a record have no collector.
    CHECK(account.lost.contains("no_collector"));
    CHECK(ledger.queues[0].lost.contains("no_collector"));
    CHECK_FALSE(file.lost_by_cause.contains("no_collector"));

    // By net of the source, of both IP versions, whatever queue had it: the sum of each record.
    std::map<Octets, Net> expected;
    for (const std::vector<Frame>& frames : traffic) {
        for (const Frame& frame : frames) {
            const bool is_ipv4 = frame.captured[12] == std::byte{0x08};
            const std::size_t at = is_ipv4 ? 26 : 22;
            const std::size_t octets = is_ipv4 ? 4 : 16;
            Octets source(frame.captured.begin() + static_cast<std::ptrdiff_t>(at),
                          frame.captured.begin() + static_cast<std::ptrdiff_t>(at + octets));
            source.back() &= std::byte{0xfe};
            expected[source].add(1, frame.captured.size() - 14,
                                 std::to_integer<std::uint64_t>(frame.captured[is_ipv4 ? 22 : 21]));
        }
    }
    std::map<Octets, Net> exported;
    std::uint64_t packets_of_main = 0;
    for (const DecodedMessage& message : decode_file(options.collectors[0].path)) {
        for (const DecodedRecord& record : message.records) {
            if (record.is_option) {
                continue;
            }
            const bool is_main = record.has(8) || record.has(27);  // whole source addresses
            const std::uint64_t packets = record.number(2);
            if (is_main) {
                packets_of_main += packets;
                continue;
            }
            const bool is_ipv4 = record.has(44);
            REQUIRE(record.number(is_ipv4 ? 9 : 29) == (is_ipv4 ? 31 : 127));
            Net& net = exported[record.values.at(is_ipv4 ? 44 : 170)];
            net.add(packets, record.number(1), record.number(52));
            net.add(0, 0, record.number(53));
        }
    }
    CHECK(packets_of_main == 8000);
    CHECK(exported == expected);
}

TEST_CASE("TableQueue: before all of its filters can decide, nothing matches", "[daemon][unit]") {
    const std::vector<Frame> traffic = random_frames(100);
    LongFrames ready;
    LongFrames not_ready(PacketSelector::Readiness::not_ready);
    std::deque<FilterSlot> filters;
    filters.emplace_back(&ready);
    const bool is_compiled = GENERATE(false, true);
    filters.emplace_back(is_compiled ? &not_ready : nullptr);
    Metering metering(traffic, declared("waits", {"sourceAddress/24/64"}), {}, &filters);
    metering.run();
    CHECK(metering.queue->counters.filter_not_ready.read() == traffic.size());
    CHECK(metering.queue->counters.matched.read() == 0);
    CHECK(rows_of(metering.queue->records()).empty());
}

TEST_CASE("TableQueue: records for which its ring has no room wait, and the end waits for them",
          "[daemon][unit]") {
    const std::vector<Frame> traffic = random_frames(2000, 9);
    Metering metering(traffic, declared("small", kFiveTuple), {}, nullptr, {.max_flows = 4096}, 16);
    metering.meter();
    RecordSource& records = metering.queue->records();
    std::vector<Row> rows;
    bool is_through = false;
    std::size_t waits = 0;
    while (!is_through) {
        is_through = metering.worker->drain();
        waits += is_through ? 0 : 1;
        const std::vector<Row> more = rows_of(records);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    std::ranges::sort(rows);
    CHECK(waits > 0);
    CHECK(rows == rows_of(metering.worker->records()));
    const CacheCounters& counters = metering.queue->counters.cache;
    CHECK(counters.lost_ring_full.records.read() == 0);
    CHECK(counters.entries.read() == 0);
}

TEST_CASE("DeclaredTable: a name of a field group is refused", "[daemon][unit]") {
    const FlowCacheOptions main;
    const auto make = [&](const std::string& name) {
        DeclaredTable table(declared(name, {"ipTTL"}), {}, {.parse = {}, .seed = 1}, main, 1);
    };
    CHECK_NOTHROW(make("subnets"));
    CHECK_NOTHROW(make("subnets"));  // the one before has gone
    CHECK_THROWS_AS(make("extremes"), TableError);
}
