// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/pipeline.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/unified_frames.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// `bursts` bursts of packets, each of another flow, one second of packet time apart.
class FlowSource {
public:
    FlowSource(std::uint32_t first_flow, int bursts) : flow_(first_flow), bursts_left_(bursts) {
        for (std::size_t n = 0; n < kBurstPackets; ++n) {
            frames_.push_back(ethernet().ipv4().udp(1, 2).payload(72).build());
        }
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        if (bursts_left_ == 0) {
            return {{}, clock_};
        }
        --bursts_left_;
        clock_ += 1s;
        for (std::size_t n = 0; n < kBurstPackets; ++n, ++flow_) {
            for (std::size_t byte = 0; byte < 4; ++byte) {
                frames_[n].captured[26 + byte] = static_cast<std::byte>(flow_ >> (8 * byte));
            }
            packets_[n] = frames_[n].view();
            packets_[n].seen_at = packets_[n].clock = clock_;
        }
        return {packets_, clock_};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    [[nodiscard]] bool exhausted() const noexcept { return bursts_left_ == 0; }

private:
    std::uint32_t flow_;
    int bursts_left_;
    Timestamp clock_{1'700'000'000s};
    std::vector<Frame> frames_;
    std::array<PacketView, kBurstPackets> packets_;
};

/// Runs two queues, the first of `first_bursts` and the second of 500 bursts, into `path`.
Ledger run_two_queues(const std::string& path, const QueueParts& parts, std::string* failure,
                      int first_bursts = 500) {
    FlowSource first(0, first_bursts);
    FlowSource second(1U << 20U, 500);
    FrameReader<FlowSource> first_path(first, {});
    FrameReader<FlowSource> second_path(second, {});
    std::vector<std::unique_ptr<QueueWorker>> queues;
    queues.push_back(make_queue_worker(first_path, parts, FlowHasher(1)));
    queues.push_back(make_queue_worker(second_path, parts, FlowHasher(1)));
    ExportOptions options;
    options.collectors.resize(1);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = path;
    Pipeline pipeline({.queues = std::move(queues),
                       .export_options = options,
                       .metering = {.layout = parts.layout},
                       .wall_clock = [] { return Timestamp{1'800'000'000s}; },
                       .on_collector_event = {}});
    std::atomic<bool> ended{false};
    pipeline.start({.inputs = {{.name = "a", .cpu = {}}, {.name = "b", .cpu = {}}},
                    .export_thread = {.name = "e", .cpu = {}},
                    .idle_waits = {sleeping(100us), sleeping(100us)}},
                   [&ended] {
                       ended = true;
                       ended.notify_all();
                   });
    ended.wait(false);
    pipeline.stop();
    *failure = pipeline.export_failure();
    Ledger ledger;
    ledger.queues.resize(2);
    pipeline.read(ledger);
    return ledger;
}

}  // namespace

TEST_CASE("Pipeline: every record of every queue reaches the file, whatever the ring's size",
          "[daemon][unit][threads]") {
    const TemporaryDirectory directory;
    const std::string path = directory / "flows.ipfix";
    const auto slots = GENERATE(8U, 1U << 15U);
    std::string failure;
    const Ledger ledger = run_two_queues(path,
                                         {.flows = {.max_flows = 4096, .idle_timeout = 5s},
                                          .layout = {},
                                          .ring_slots = slots,
                                          .numa_node = {},
                                          .pages = PageUse::offline,
                                          .when_ring_full = WhenRingFull::wait},
                                         &failure);
    CHECK(failure.empty());
    CHECK(imbalance(ledger).empty());
    for (const QueueLedger& queue : ledger.queues) {
        CHECK(queue.exported == RecordTally{32'000, 32'000, 3'200'000});
        CHECK_FALSE(queue.lost.contains("no_collector"));  // with one table there is none such
    }
    CHECK(ledger.tables.empty());
    CHECK(ledger.collectors.at(0).tables.empty());
}

TEST_CASE("Pipeline: a full ring that refuses loses by cause, and the ledger adds up",
          "[daemon][unit][threads]") {
    const TemporaryDirectory directory;
    const std::string path = directory / "flows.ipfix";
    std::string failure;
    const Ledger ledger = run_two_queues(path,
                                         {.flows = {.max_flows = 64, .idle_timeout = 5s},
                                          .layout = {},
                                          .ring_slots = 2,
                                          .numa_node = {},
                                          .pages = PageUse::offline},
                                         &failure);
    CHECK(imbalance(ledger).empty());
    CHECK(ledger.total().lost.at("ring_full").records > 0);
}

TEST_CASE("Pipeline: a full disk is told, and everything is counted as lost",
          "[daemon][unit][threads]") {
    std::string failure;
    const Ledger ledger = run_two_queues("/dev/full",
                                         {.flows = {.max_flows = 4096, .idle_timeout = 5s},
                                          .layout = {},
                                          .numa_node = {},
                                          .pages = PageUse::offline,
                                          .when_ring_full = WhenRingFull::wait},
                                         &failure);
    CHECK_FALSE(failure.empty());
    CHECK(imbalance(ledger).empty());
    CHECK(ledger.total().exported == RecordTally{});
    CHECK(ledger.total().lost.at("write_failed") == RecordTally{64'000, 64'000, 6'400'000});
}

TEST_CASE("Pipeline: a queue that is empty at once does not end the others",
          "[daemon][unit][threads]") {
    const TemporaryDirectory directory;
    const std::string path = directory / "flows.ipfix";
    for (int run = 0; run < 50; ++run) {
        std::string failure;
        const Ledger ledger = run_two_queues(path,
                                             {.flows = {.max_flows = 4096, .idle_timeout = 5s},
                                              .layout = {},
                                              .numa_node = {},
                                              .pages = PageUse::offline,
                                              .when_ring_full = WhenRingFull::wait},
                                             &failure, 0);
        REQUIRE(ledger.queues[1].exported == RecordTally{32'000, 32'000, 3'200'000});
    }
}

TEST_CASE("QueueWorker: what has ended is in the ring after the step; what it refuses is work",
          "[daemon][unit]") {
    const auto slots = GENERATE(8U, 1024U);
    FlowSource source(0, 8);
    FrameReader<FlowSource> path(source, {});
    const auto queue = make_queue_worker(path,
                                         {.flows = {.max_flows = 4096, .idle_timeout = 5s},
                                          .layout = {},
                                          .ring_slots = slots,
                                          .numa_node = {},
                                          .pages = PageUse::offline,
                                          .when_ring_full = WhenRingFull::refuse},
                                         FlowHasher(1));
    const auto ended = [&queue] {
        std::uint64_t sum = 0;
        for (const Counter& reason : queue->cache_counters.ended) {
            sum += reason.read();
        }
        return sum;
    };
    for (int step = 0; step < 100; ++step) {
        queue->step();
        const RingFill ring = queue->ring();
        REQUIRE(ring.records == std::min<std::uint64_t>(ended(), ring.room));
    }
    REQUIRE(ended() > 32);  // more than can wait between two steps

    std::vector<FlowRecord<80>> out(4);
    std::uint64_t drained = 0;
    while (drained < ended()) {
        drained += queue->records().drain(std::as_writable_bytes(std::span(out)), out.size());
        static_cast<void>(queue->has_work());  // the first call reports flows that have ended
        REQUIRE(queue->has_work() == (drained + queue->ring().records < ended()));
        queue->step();
    }
    CHECK_FALSE(queue->has_work());
}

namespace {

/// A NIC queue's ring that repeats one frame of unified headers.
class FrameRing {
public:
    FrameRing(std::size_t frames, std::size_t records)
        : frames_left_(frames), frame_(unified_frame(std::vector<ToldPacket>(records))) {
        packets_.fill(view_of(frame_));
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        const std::size_t count = std::min(frames_left_, kBurstPackets);
        frames_left_ -= count;
        bursts += count > 0 ? 1 : 0;
        return {.frames = std::span(packets_).first(count), .now = {}};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}

    std::size_t bursts = 0;

private:
    std::size_t frames_left_;
    std::vector<std::byte> frame_;
    std::array<PacketView, kBurstPackets> packets_;
};

/// The packets of a ring that are metered when its queue stops.
std::uint64_t received_last(FrameRing& ring) {
    UnifiedHeaderReader<FrameRing, PacketTimes> path(ring, {});
    const auto queue = make_queue_worker(
        path,
        {.flows = {.max_flows = 64}, .layout = {}, .numa_node = {}, .pages = PageUse::offline},
        FlowHasher(1));
    take_last_bursts(*queue);
    return path.counters().received.read();
}

}  // namespace

TEST_CASE("take_last_bursts: a ring of frames with many records each is metered to its end",
          "[daemon][unit]") {
    FrameRing ring(4096, 23);
    CHECK(received_last(ring) == std::uint64_t{4096} * 23);
}

TEST_CASE("take_last_bursts: a source that never ends holds nothing up", "[daemon][unit]") {
    FrameRing ring(1'000'000, 2);
    CHECK(received_last(ring) == std::uint64_t{1024} * kBurstPackets * 2);
    CHECK(ring.bursts == 1024);
}
