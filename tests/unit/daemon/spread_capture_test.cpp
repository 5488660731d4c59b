// SPDX-License-Identifier: Apache-2.0
// A table that is spread by key, over the frames of a capture that several workers share.
#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_source.hpp"
#include "daemon/capture/parsed_capture.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/table/table_exchange.hpp"
#include "daemon/table/table_queue.hpp"
#include "daemon/table/table_stage.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/parsed_frame_reader.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/unit/daemon/capture/capture_builder.hpp"
#include "tests/unit/daemon/capture/nameless_file.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr InterfaceIndex kInterface{7};
constexpr FlowCacheOptions kMain{.max_flows = 4096, .idle_timeout = 1s, .active_timeout = 5s};

TableDeclaration declared(std::vector<std::string> key, FlowDirection direction) {
    TableDeclaration declaration;
    declaration.name = "spread";
    declaration.key = std::move(key);
    declaration.values = {"first(ipTTL)", "last(ipTTL)",        "min(ipTTL)",
                          "or(ipTTL)",    "sum(ipTotalLength)", "distinct(sourceAddress)"};
    if (direction == FlowDirection::biflow) {
        declaration.values.pop_back();  // records of biflows have no room for it twice
    }
    declaration.direction = direction;
    declaration.max_flows = 4096;
    declaration.idle_timeout = 1s;
    declaration.active_timeout = 3s;
    declaration.spread = TableSpread::key;
    return declaration;
}

/// Frames of few hosts, in bursts and silences, some of them late.
std::vector<std::byte> random_capture(std::uint32_t seed, std::size_t count) {
    std::mt19937 random(seed);
    CaptureBytes capture = pcap_header(std::endian::little);
    std::uint64_t microseconds = 1'000'000;
    for (std::size_t i = 0; i < count; ++i) {
        // Two hosts talk for a while: most frames of a batch may be one worker's.
        const auto talkers = static_cast<std::uint32_t>(i / 3000);
        const bool is_talk = random() % 4 != 0;
        const std::uint32_t from =
            static_cast<std::uint32_t>(is_talk ? talkers % 9 : random() % 30);
        const std::uint32_t to = static_cast<std::uint32_t>(is_talk ? talkers % 7 : random() % 30);
        const auto ttl = static_cast<std::uint8_t>(1 + random() % 8);
        PacketBuilder packet = ethernet();
        if (random() % 3 == 0) {
            packet.ipv6({.source = "2001:db8::" + std::to_string(1 + from),
                         .destination = "2001:db8::" + std::to_string(1 + to),
                         .hop_limit = ttl});
        } else {
            packet.ipv4({.source = "10.0.0." + std::to_string(1 + from),
                         .destination = "10.0.0." + std::to_string(1 + to),
                         .ttl = ttl});
        }
        const auto port = static_cast<std::uint16_t>(1 + random() % 2);
        const Frame frame = random() % 50 == 0
                                ? ethernet().ethertype(0x0806).build()
                                : packet.udp(port, static_cast<std::uint16_t>(3 - port)).build();
        microseconds += random() % 2000 == 0 ? 2'500'000 : random() % 900;
        const std::uint64_t time = microseconds - (random() % 20 == 0 ? 400'000 : 0);
        add(capture, {.seconds = static_cast<std::uint32_t>(time / 1'000'000),
                      .fraction = static_cast<std::uint32_t>(time % 1'000'000),
                      .data = std::string_view(reinterpret_cast<const char*>(frame.captured.data()),
                                               frame.captured.size()),
                      .wire_bytes = frame.wire_bytes});
    }
    return capture.bytes();
}

using Row = std::vector<std::byte>;

void add_rows(RecordSource& source, std::vector<Row>& rows) {
    Row record(source.record_bytes());
    while (source.drain(record, 1) == 1) {
        rows.push_back(record);
    }
}

std::unique_ptr<QueueWorker> worker_of(PacketReader& reader, TableQueue& queue) {
    std::vector<std::unique_ptr<BurstStage>> stages;
    stages.push_back(std::make_unique<TableStage>(
        queue, StageNeeds{.name = "table", .order = StageOrder::tables}));
    return make_queue_worker(reader,
                             {.flows = kMain,
                              .layout = {},
                              .ring_slots = 1U << 16U,
                              .pages = PageUse::offline,
                              .name = "test"},
                             FlowHasher(1), StageList(std::move(stages)));
}

void run(QueueWorker& worker) {
    do {
        worker.step();
    } while (!worker.ended());
    while (!worker.drain()) {
        std::this_thread::yield();
    }
}

/// The records of a single worker, without rings.
std::vector<Row> rows_of_one(const std::string& path, const TableDeclaration& declaration) {
    const DeclaredTable table(declaration, {}, {.parse = {}, .seed = 1}, kMain, 1);
    const auto queue = make_table_queue(
        {.table = table, .ring_slots = 1U << 16U, .pages = PageUse::offline}, FlowHasher(5));
    CaptureFiles files({path}, 1);
    CaptureCounters counters;
    CaptureSource source(files, counters, kInterface);
    FrameReader<CaptureSource> reader(source, {});
    run(*worker_of(reader, *queue));
    std::vector<Row> rows;
    add_rows(queue->records(), rows);
    std::ranges::sort(rows);
    return rows;
}

struct Worker {
    Worker(ParsedCapture& capture, std::uint16_t number, TableQueue& queue)
        : share(capture, counters, number), worker(worker_of(reader, queue)) {}

    CaptureCounters counters;
    ParsedCaptureShare share;
    ParsedFrameReader<ParsedCaptureShare> reader{share, {}};
    std::unique_ptr<QueueWorker> worker;
};

std::vector<Row> rows_of_workers(const std::string& path, const TableDeclaration& declaration,
                                 std::uint16_t workers) {
    const DeclaredTable table(
        declaration, {}, {.parse = {}, .seed = 1, .packets = TablePackets::gathered}, kMain, 1);
    ExchangeQueues between(workers);
    TableExchange exchange(
        table,
        {.queues = workers,
         .order = SpreadOrder::capture,
         .slots = static_cast<std::uint32_t>(std::bit_ceil(ParsedCapture::kMostFramesBetween + 1))},
        between);
    constexpr bool kIsNumbered = true;
    CaptureFiles files({path}, 1);
    ParsedCapture capture(files, workers, kInterface, {}, kIsNumbered);
    std::vector<std::unique_ptr<TableQueue>> queues;
    std::vector<std::unique_ptr<Worker>> all;
    for (std::uint16_t number = 0; number < workers; ++number) {
        exchange.add_inbox(std::nullopt, PageUse::offline);
        queues.push_back(make_table_queue({.table = table,
                                           .exchange = &exchange,
                                           .queue = number,
                                           .ring_slots = 1U << 16U,
                                           .pages = PageUse::offline},
                                          FlowHasher(7)));
        all.push_back(std::make_unique<Worker>(capture, number, *queues.back()));
    }
    {
        std::vector<std::jthread> threads;
        for (const auto& worker : all) {
            threads.emplace_back([&worker] { run(*worker->worker); });
        }
    }
    std::vector<Row> rows;
    for (const auto& queue : queues) {
        CHECK(queue->counters.refused_ring_full.read() == 0);
        add_rows(queue->records(), rows);
    }
    std::ranges::sort(rows);
    return rows;
}

}  // namespace

TEST_CASE("spread: key: records of a capture are the same for each number of workers",
          "[daemon][unit]") {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        const NamelessFile file(random_capture(seed, 40'000));
        for (const TableDeclaration& declaration :
             {declared({"sourceAddress"}, FlowDirection::uniflow),
              declared({"destinationAddress/31/127", "ipVersion"}, FlowDirection::uniflow),
              declared({"sourceTransportPort", "observationTimeSeconds/10"},
                       FlowDirection::uniflow),
              declared({"sourceAddress", "destinationAddress", "sourceTransportPort",
                        "destinationTransportPort", "protocolIdentifier"},
                       FlowDirection::biflow)}) {
            const std::vector<Row> expected = rows_of_one(file.path(), declaration);
            CHECK(expected.size() > 20);
            for (std::uint16_t workers = 2; workers <= 8; ++workers) {
                CHECK(rows_of_workers(file.path(), declaration, workers) == expected);
            }
        }
    }
}
