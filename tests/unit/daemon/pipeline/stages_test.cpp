// SPDX-License-Identifier: Apache-2.0
#include <sysexits.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "daemon/base/startup_error.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/stage_check.hpp"
#include "flowcache/input/copied_packets.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "tests/support/exit_code_of.hpp"
#include "tests/support/one_queue_pipeline.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/test_stage.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint32_t kBuffers = 100;

/// Sixteen packets of one flow for ever, which stages may keep. It can hang.
class EndlessSource {
public:
    EndlessSource() {
        for (PacketView& packet : packets_) {
            packet = frame_.view();
            packet.seen_at = packet.clock = kFirstTimestamp;
        }
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        if (hangs) {
            is_hanging = true;
            hangs.wait(true);
            is_hanging = false;
        }
        return {.frames = packets_, .now = kFirstTimestamp, .owner = &copies_};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    [[nodiscard]] const KeptBuffers& kept() const noexcept { return copies_.kept(); }

    std::atomic<bool> hangs{false};
    std::atomic<bool> is_hanging{false};

private:
    Frame frame_ = ethernet().ipv4().udp(1, 2).payload(72).build();
    std::array<PacketView, 16> packets_;
    CopiedPackets copies_{kBuffers};
};

QueueParts small_queue() {
    return {.flows = {.max_flows = 64},
            .layout = {},
            .numa_node = {},
            .pages = PageUse::offline,
            .name = "uplink/0"};
}

StageList counting(std::atomic<std::uint64_t>& bursts, std::function<void()> on_end = {}) {
    return one_stage(
        {.name = "counting"}, [&bursts](auto&, auto) { ++bursts; }, std::move(on_end));
}

class RunningQueue {
public:
    explicit RunningQueue(StageList stages) {
        pipeline = one_queue_pipeline(
            make_queue_worker(reader_, small_queue(), FlowHasher(1), std::move(stages)));
        start_one_queue(*pipeline);
    }
    [[nodiscard]] QueueLedger ledger() const {
        Ledger ledger;
        ledger.queues.resize(1);
        pipeline->read(ledger);
        return ledger.queues[0];
    }

    EndlessSource source;
    std::unique_ptr<Pipeline> pipeline;

private:
    FrameReader<EndlessSource> reader_{source, {}};
};

}  // namespace

TEST_CASE("check_stages: without octets, or without buffers, a stage is refused",
          "[daemon][unit]") {
    const auto code_of = [](const StageNeeds& needs, const StageRoom& room) {
        return exit_code_of([&] { check_stages(one_stage(needs, {}), room); });
    };
    const StageRoom unified{.queue = "dpu/1", .has_octets = false, .kept = 0};
    const StageRoom frames{.queue = "uplink/0", .has_octets = true, .kept = 7};
    check_stages({}, unified);
    check_stages(one_stage({.name = "table"}, {}), unified);
    check_stages(one_stage({.name = "recorder", .octets = true, .kept = 7}, {}), frames);
    CHECK(code_of({.name = "inspection", .octets = true}, unified) == EX_CONFIG);
    CHECK(code_of({.name = "recorder", .kept = 1}, unified) == EX_CONFIG);
    CHECK(code_of({.name = "recorder", .octets = true, .kept = 8}, frames) == EX_CONFIG);
    try {
        check_stages(one_stage({.name = "inspection", .octets = true}, {}), unified);
        FAIL("not refused");
    } catch (const StartupError& error) {
        CHECK(std::string(error.what()) ==
              "queue dpu/1: inspection needs the octets of packets, and unified headers bring "
              "none; set its input's parse to full or trimmed");
    }
}

TEST_CASE("make_queue_worker: a queue that is never started detaches its stages",
          "[daemon][unit]") {
    struct Calls {
        int attached = 0;
        int detached = 0;
    };
    class Attached final : public BurstStage {
    public:
        explicit Attached(Calls& calls)
            : BurstStage({.name = "attached", .flows = true}), calls_(calls) {}
        void attach(RunningFlows& /*flows*/) noexcept override { ++calls_.attached; }
        void detach() noexcept override { ++calls_.detached; }
        void on_burst(FrameBurst& /*burst*/,
                      std::span<const KeyedPacket> /*packets*/) noexcept override {}

    private:
        Calls& calls_;
    };
    Calls calls;
    EndlessSource source;
    FrameReader<EndlessSource> frames(source, {});
    {
        std::vector<std::unique_ptr<BurstStage>> stages;
        stages.push_back(std::make_unique<Attached>(calls));
        const auto worker =
            make_queue_worker(frames, small_queue(), FlowHasher(1), StageList(std::move(stages)));
        CHECK(calls.attached == 1);
        CHECK(calls.detached == 0);
    }
    CHECK(calls.detached == 1);
}

TEST_CASE("make_queue_worker: refuses stages as its reader demands", "[daemon][unit]") {
    EndlessSource source;
    UnifiedHeaderReader<EndlessSource, PacketTimes> unified(source, {});
    FrameReader<EndlessSource> frames(source, {});
    const auto make = [](PacketReader& reader, const StageNeeds& needs) {
        return exit_code_of([&] {
            (void)make_queue_worker(reader, small_queue(), FlowHasher(1), one_stage(needs, {}));
        });
    };
    CHECK(make(unified, {.name = "s", .octets = true}) == EX_CONFIG);
    CHECK(make(frames, {.name = "s", .kept = kBuffers + 1}) == EX_CONFIG);
    CHECK_NOTHROW(
        make_queue_worker(frames, small_queue(), FlowHasher(1),
                          one_stage({.name = "s", .octets = true, .kept = kBuffers}, {})));
}

TEST_CASE("Pipeline: a reload swaps stages between bursts, and destroys them in the main thread",
          "[daemon][unit][threads]") {
    std::atomic<std::uint64_t> first{0};
    std::atomic<std::uint64_t> second{0};
    std::thread::id ended_in;
    RunningQueue queue(counting(first, [&ended_in] { ended_in = std::this_thread::get_id(); }));
    REQUIRE(wait_until([&] { return first > 0; }));
    CHECK(queue.pipeline->set_stages(0, counting(second)));
    CHECK(ended_in == std::this_thread::get_id());
    const std::uint64_t calls = first;
    REQUIRE(wait_until([&] { return second > 10; }));
    CHECK(first == calls);

    CHECK(exit_code_of([&] {
              (void)queue.pipeline->set_stages(
                  0, one_stage({.name = "greedy", .kept = kBuffers + 1}, {}));
          }) == EX_CONFIG);
    const std::uint64_t before = second;
    CHECK(wait_until([&] { return second > before; }));  // the former ones go on

    CHECK(queue.pipeline->set_stages(0, {}));
    const std::uint64_t last = second;
    const std::uint64_t received = queue.ledger().received;
    REQUIRE(wait_until([&] { return queue.ledger().received > received + 1000; }));
    CHECK(second == last);
}

TEST_CASE("Pipeline: stages stay while an input thread that hangs may call them",
          "[daemon][unit][threads]") {
    std::atomic<std::uint64_t> first{0};
    std::atomic<std::uint64_t> second{0};
    std::atomic<int> ended{0};
    const auto count_end = [&ended] { ++ended; };
    RunningQueue queue(counting(first, count_end));
    queue.source.hangs = true;
    REQUIRE(wait_until([&] { return queue.source.is_hanging.load(); }));
    CHECK_FALSE(queue.pipeline->set_stages(0, counting(second, count_end)));
    CHECK(ended == 0);
    queue.source.hangs = false;
    queue.source.hangs.notify_all();
    CHECK(queue.pipeline->set_stages(0, {}));
    CHECK(ended == 2);
}

TEST_CASE("Pipeline: a stage that keeps too many packets is refused by count",
          "[daemon][unit][threads]") {
    std::vector<KeptPacket> held;
    held.reserve(kBuffers);
    std::uint64_t wanted = 0;
    std::uint64_t refused = 0;
    RunningQueue queue(one_stage({.name = "greedy", .octets = true, .kept = kBuffers},
                                 [&](FrameBurst& burst, auto) {
                                     for (std::size_t i = 0; i < burst.frames.size(); ++i) {
                                         ++wanted;
                                         KeptPacket packet = burst.keep(i);
                                         refused += packet ? 0 : 1;
                                         if (packet) {
                                             held.push_back(std::move(packet));
                                         }
                                     }
                                 }));
    REQUIRE(wait_until([&] { return queue.ledger().keep_refused > 1000; }));
    CHECK(queue.pipeline->set_stages(0, {}));
    QueueLedger ledger = queue.ledger();
    CHECK(ledger.kept == kBuffers);
    CHECK(ledger.kept_held == kBuffers);
    CHECK(ledger.keep_refused == refused);
    CHECK(ledger.kept + ledger.keep_refused == wanted);
    held.resize(kBuffers - 30);
    CHECK(queue.ledger().kept_held == kBuffers - 30);
    held.clear();
    queue.pipeline->stop();
    ledger = queue.ledger();
    CHECK(ledger.kept_held == 0);
    CHECK(ledger.received == ledger.metered.packets);
}
