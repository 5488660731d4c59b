// SPDX-License-Identifier: Apache-2.0
// Stages that hold flows, through the worker of a queue and through a pipeline.
#include <sysexits.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/pipeline/stage_check.hpp"
#include "flowcache/cache_room.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/exit_code_of.hpp"
#include "tests/support/following_stage.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/test_stage.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// Packets of random flows for ever, in bursts. A quarter of the flows goes on for long.
class RandomFlows {
public:
    explicit RandomFlows(std::uint16_t flows) {
        for (std::uint16_t flow = 0; flow < flows; ++flow) {
            frames_.push_back(ethernet().ipv4().udp(flow, 53).payload(flow).build());
        }
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        for (PacketView& packet : packets_) {
            clock_ += std::chrono::microseconds{random_() % 2000};
            const std::size_t among = random_() % 2 == 0 ? frames_.size() / 4 : frames_.size();
            packet = frames_[random_() % among].view();
            packet.seen_at = packet.clock = clock_;
        }
        return {.frames = packets_, .now = clock_};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}

private:
    std::mt19937 random_{3};
    Timestamp clock_ = kFirstTimestamp;
    std::vector<Frame> frames_;
    std::array<PacketView, 16> packets_;
};

/// A queue whose cache and ring are too small.
const QueueParts kSmall{.flows = {.max_flows = 64, .idle_timeout = 1s, .active_timeout = 2s},
                        .layout = {},
                        .ring_slots = 8,
                        .numa_node = {},
                        .pages = PageUse::offline,
                        .name = "uplink/0"};
constexpr std::uint16_t kFlows = 200;
constexpr std::size_t kEntries = 64;

StageList following(const std::vector<FlowFollower*>& followers) {
    std::vector<std::unique_ptr<BurstStage>> stages;
    for (FlowFollower* const follower : followers) {
        stages.push_back(std::make_unique<FollowingStage>(*follower));
    }
    return StageList(std::move(stages));
}

/// A queue whose steps the test makes. Its ring is drained too slowly, and mostly full.
class SteppedQueue {
public:
    explicit SteppedQueue(StageList stages)
        : worker(make_queue_worker(reader_, kSmall, FlowHasher(1), std::move(stages))) {}

    void steps(int count) {
        std::array<FlowRecord<80>, 4> out{};
        for (int step = 0; step < count; ++step) {
            worker->step();
            if (step % 4 == 0) {
                (void)worker->records().drain(std::as_writable_bytes(std::span(out)), out.size());
            }
        }
    }
    /// As a reload does it, beside an input thread.
    void post(StageList stages) {
        const SetStages command = worker->prepare(stages);
        worker->stage_lists.push_back(std::move(stages));
        REQUIRE(worker->mailbox.post(command));
        steps(1);
        REQUIRE(worker->mailbox.is_done());
        worker->stage_lists.erase(worker->stage_lists.begin(),
                                  std::prev(worker->stage_lists.end()));
    }
    void drain() {
        std::array<FlowRecord<80>, 8> out{};
        while (!worker->drain()) {
            (void)worker->records().drain(std::as_writable_bytes(std::span(out)), out.size());
        }
    }
    [[nodiscard]] std::uint64_t ended() const {
        std::uint64_t sum = 0;
        for (const Counter& reason : worker->cache_counters.ended) {
            sum += reason.read();
        }
        return sum;
    }

private:
    RandomFlows source_{kFlows};
    FrameReader<RandomFlows> reader_{source_, {}};

public:
    std::unique_ptr<QueueWorker> worker;
};

void check(const FlowFollower& follower) {
    INFO(follower.fault);
    CHECK(follower.fault.empty());
    CHECK(follower.flows_held > 100);
    CHECK(follower.compared > 100);
}

}  // namespace

TEST_CASE(
    "QueueWorker: stages get each end of the flows that they hold once, and reloads come and "
    "go amid it, with a ring and a cache that are full",
    "[daemon][unit]") {
    CHECK(entries_for(kSmall.flows) == kEntries);
    FlowFollower all(1, kEntries);
    FlowFollower third(3, kEntries);
    // With flows that can be held from the start, or from a reload on.
    const bool from_start = GENERATE(true, false);
    SteppedQueue queue(from_start ? following({&all, &third}) : StageList{});
    const QueueWorker& worker = *queue.worker;
    std::uint64_t before = 0;
    if (!from_start) {
        queue.steps(500);
        CHECK_FALSE(all.is_attached());
        queue.post(following({&all, &third}));
        before = queue.ended();
    }
    queue.steps(2000);
    check(all);
    check(third);
    CHECK(third.flows_held == all.flows_held / 3);
    CHECK(worker.cache_counters.lost_ring_full.read().records > 100);
    if (from_start) {
        CHECK(all.record_ends + all.gone == queue.ended());
    }
    CHECK(all.record_ends + all.gone <= queue.ended() - before);
    CHECK(all.flows_held > all.flow_ends);  // some are held, and records wait for the ring
    CHECK(queue.worker->has_work());

    const std::uint64_t told = all.record_ends;
    FlowFollower other(3, kEntries);
    queue.post(following({&other}));
    CHECK_FALSE(all.is_attached());
    queue.steps(1000);
    queue.post({});
    CHECK_FALSE(other.is_attached());
    const std::uint64_t told_other = other.record_ends;
    queue.steps(200);
    FlowFollower last(1, kEntries);
    queue.worker->call_stages(following({&last}));
    queue.steps(1000);
    CHECK(last.is_attached());
    queue.drain();
    CHECK_FALSE(last.is_attached());
    check(all);
    check(third);
    check(other);
    check(last);
    CHECK(all.record_ends == told);
    CHECK(other.record_ends == told_other);
    CHECK(last.flow_ends == last.flows_held);
    CHECK(worker.cache_counters.entries.read() == 0);
}

TEST_CASE(
    "QueueWorker: with stages that need flows it takes the memory for holders, at start or "
    "at a reload",
    "[daemon][unit]") {
    QueueParts parts = kSmall;
    const std::size_t without = queue_memory(parts)[0];
    parts.flows.flow_holders = true;
    CHECK(queue_memory(parts)[0] == without + 2 * kEntries);
    FlowFollower follower(1, kEntries);
    SteppedQueue queue({});
    CHECK(queue.worker->prepare({}).holder_memory.empty());
    const StageList stages = following({&follower});
    const std::span<std::byte> memory = queue.worker->prepare(stages).holder_memory;
    CHECK(memory.size() >= 2 * kEntries);
    CHECK(queue.worker->prepare(stages).holder_memory.data() == memory.data());
    SteppedQueue holding(following({&follower}));
    CHECK(holding.worker->prepare(stages).holder_memory.empty());
}

TEST_CASE("check_stages: more stages that need flows than can hold some are refused",
          "[daemon][unit]") {
    const StageRoom room{.queue = "uplink/0", .has_octets = true, .kept = 0};
    std::vector<std::unique_ptr<FlowFollower>> followers;
    std::vector<FlowFollower*> most;
    for (std::size_t n = 0; n <= RunningFlows::kMostHolders; ++n) {
        followers.push_back(std::make_unique<FlowFollower>(1, kEntries));
        most.push_back(followers.back().get());
    }
    const StageList too_many = following(most);
    most.pop_back();
    check_stages(following(most), room);
    try {
        check_stages(too_many, room);
        FAIL("not refused");
    } catch (const StartupError& error) {
        CHECK(std::string(error.what()) ==
              "queue uplink/0: 9 of its stages need flows, and at most 8 of one queue can");
    }
    CHECK(exit_code_of([&] { check_stages(too_many, room); }) == EX_CONFIG);
}

TEST_CASE("Pipeline: reloads add and remove stages that hold flows, in the input thread",
          "[daemon][unit][threads]") {
    RandomFlows source(kFlows);
    FrameReader<RandomFlows> reader(source, {});
    std::vector<std::unique_ptr<QueueWorker>> queues;
    queues.push_back(make_queue_worker(reader, kSmall, FlowHasher(1)));
    ExportOptions options;
    options.collectors.resize(1);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = "/dev/null";
    Pipeline pipeline({.queues = std::move(queues),
                       .export_options = options,
                       .metering = {},
                       .wall_clock = [] { return kFirstTimestamp; },
                       .on_collector_event = {}});
    pipeline.start({.inputs = {{.name = "in", .cpu = {}}},
                    .export_thread = {.name = "ex", .cpu = {}},
                    .idle_waits = {}},
                   [] {});
    std::vector<std::unique_ptr<FlowFollower>> followers;
    std::atomic<std::uint64_t> bursts{0};
    std::thread::id detached_in;
    for (int reload = 0; reload < 40; ++reload) {
        std::vector<std::unique_ptr<BurstStage>> stages;
        for (std::size_t n = 0; n < RunningFlows::kMostHolders; ++n) {
            followers.push_back(std::make_unique<FlowFollower>(1 + n, kEntries));
            stages.push_back(std::make_unique<FollowingStage>(
                *followers.back(), [&detached_in] { detached_in = std::this_thread::get_id(); }));
        }
        stages.push_back(std::make_unique<TestStage>(StageNeeds{.name = "count"},
                                                     [&bursts](auto&, auto) { ++bursts; }));
        REQUIRE(pipeline.set_stages(0, StageList(std::move(stages))));
        const std::uint64_t from = bursts;
        REQUIRE(wait_until([&] { return bursts > from + 200; }));
    }
    REQUIRE(pipeline.set_stages(0, {}));
    CHECK(detached_in != std::thread::id{});
    CHECK(detached_in != std::this_thread::get_id());
    pipeline.stop();
    for (const auto& follower : followers) {
        INFO(follower->fault);
        CHECK(follower->fault.empty());
        CHECK(follower->flows_held > 0);
        CHECK_FALSE(follower->is_attached());
    }
    Ledger ledger;
    ledger.queues.resize(1);
    pipeline.read(ledger);
    CHECK(imbalance(ledger).empty());
}
