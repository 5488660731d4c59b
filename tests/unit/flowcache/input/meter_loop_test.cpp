// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/meter_loop.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "flowcache/input/frame_reader.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/flow_follower.hpp"
#include "tests/support/following_stage.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/test_stage.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// Gives out prepared bursts, then empty ones with the last clock.
class PacketList {
public:
    void add_burst(std::vector<PacketView> packets) {
        const Timestamp now = packets.back().clock;
        bursts_.push_back({std::move(packets), now});
    }
    void add_silence(Timestamp now) { bursts_.push_back({{}, now}); }

    [[nodiscard]] FrameBurst receive() noexcept {
        if (next_ == bursts_.size()) {
            return {{}, bursts_.empty() ? Timestamp{} : bursts_.back().now};
        }
        const Prepared& burst = bursts_[next_++];
        return {burst.packets, burst.now};
    }
    void release(const FrameBurst& burst) noexcept {
        ++released;
        marks = burst.kept | burst.forwarded;
    }

    int released = 0;
    PacketMask marks = 0;  ///< kept or forwarded in the last burst

private:
    struct Prepared {
        std::vector<PacketView> packets;
        Timestamp now;
    };
    std::vector<Prepared> bursts_;
    std::size_t next_ = 0;
};

PacketView seen(const Frame& frame, Timestamp time) {
    PacketView view = frame.view();
    view.ingress_interface = InterfaceIndex{3};
    view.seen_at = view.clock = time;
    return view;
}

constexpr FlowCacheOptions kOptions{.max_flows = 256, .idle_timeout = 10s, .active_timeout = 60s};

struct LoopFixture {
    explicit LoopFixture(const FlowCacheOptions& cache_options = kOptions)
        : options(cache_options) {}

    FlowCacheOptions options;
    std::vector<std::byte> memory = std::vector<std::byte>(FlowCache<80>::bytes_needed(options));
    CacheCounters counters;
    PublishedClock clock;
    FlowCache<80> cache{options, RecordLayout{}, FlowHasher(1), memory, counters};
    RecordList<FlowRecord<80>> sink;
    PacketList source;
    FrameReader<PacketList> path{source, {}};
    MeterLoop<FlowCache<80>, RecordList<FlowRecord<80>>> worker{path, cache, sink, clock};
};

}  // namespace

TEST_CASE("MeterLoop: a burst is metered, packets without IP are ignored by name",
          "[flowcache][unit]") {
    LoopFixture fixture;
    const Frame udp = ethernet().vlan(5).ipv4().udp(1000, 53).payload(20).build();
    const Frame cut = udp.cut(20);
    const Frame arp = ethernet().ethertype(0x0806).payload(46).build();
    const Timestamp time = at_ms(5000);
    fixture.source.add_burst({seen(udp, time), seen(arp, time), seen(udp, time), seen(cut, time)});
    CHECK(fixture.worker.step() == 4);
    CHECK(fixture.source.released == 1);
    CHECK(fixture.clock.read() == time);
    CHECK(fixture.path.counters().received.read() == 4);
    const auto& ignored = fixture.path.counters().ignored;
    CHECK(ignored[static_cast<std::size_t>(ParseStatus::arp)].read() == 1);
    CHECK(ignored[static_cast<std::size_t>(ParseStatus::truncated_ipv4_header)].read() == 1);
    CHECK(fixture.counters.packets.read() == 2);

    CHECK(fixture.worker.drain());
    REQUIRE(fixture.sink.records.size() == 1);
    const FlowRecordCore& core = fixture.sink.records[0].core;
    CHECK(core.packets == 2);
    CHECK(core.octets == 96);
    CHECK(core.key.vlan == VlanId{5});
    CHECK(core.key.ingress_interface == InterfaceIndex{3});
    CHECK(core.key.source == ip_address("192.0.2.1"));
    CHECK(core.key.destination_port == L4Port{53});
}

TEST_CASE("MeterLoop: idle flows leave in steps without packets", "[flowcache][unit]") {
    LoopFixture fixture;
    const Frame udp = ethernet().ipv6().udp(1, 2).build();
    fixture.source.add_burst({seen(udp, at_ms(5000))});
    fixture.source.add_silence(at_ms(15000));
    fixture.source.add_silence(at_ms(15600));
    fixture.worker.step();
    fixture.worker.step();
    CHECK(fixture.sink.records.empty());
    CHECK(fixture.worker.step() == 0);
    REQUIRE(fixture.sink.records.size() == 1);
    CHECK(fixture.sink.records[0].core.end_reason == FlowEndReason::idle_timeout);
}

TEST_CASE("MeterLoop: no step allocates", "[flowcache][unit]") {
    LoopFixture fixture;
    std::vector<Frame> frames;
    for (std::uint16_t port = 0; port < 2 * kBurstPackets; ++port) {
        frames.push_back(ethernet().ipv4().udp(port, 53).build());
    }
    for (int burst = 0; burst < 50; ++burst) {  // new flows, hits, timeouts, all in turn
        std::vector<PacketView> packets;
        for (std::size_t n = 0; n < kBurstPackets; ++n) {
            packets.push_back(
                seen(frames[(n + static_cast<std::size_t>(burst) * 7) % frames.size()],
                     at_ms(5000 + 1800 * burst)));
        }
        fixture.source.add_burst(std::move(packets));
    }
    fixture.sink.records.reserve(50 * kBurstPackets);
    std::size_t seen_by_stage = 0;
    const StageList stages = GENERATE(false, true)
                                 ? one_stage({.name = "s"},
                                             [&seen_by_stage](const FrameBurst& burst, auto) {
                                                 seen_by_stage += burst.frames.size();
                                             })
                                 : StageList{};
    REQUIRE(fixture.worker.set_stages(stages.stages()));
    const std::size_t before = allocations();
    for (int burst = 0; burst < 50; ++burst) {
        fixture.worker.step();
    }
    CHECK(allocations() == before);
    CHECK(seen_by_stage == (stages.stages().empty() ? 0 : 50 * kBurstPackets));
    CHECK(fixture.worker.drain());
    CHECK(fixture.sink.records.size() > 2 * kBurstPackets);
}

TEST_CASE("MeterLoop: stages are called in their order, once per burst, and see earlier marks",
          "[flowcache][unit]") {
    LoopFixture fixture;
    const Frame udp = ethernet().ipv4().udp(1000, 53).payload(20).build();
    const Frame arp = ethernet().ethertype(0x0806).payload(46).build();
    std::vector<std::string> calls;
    std::vector<PacketMask> seen_marks;
    std::vector<std::unique_ptr<BurstStage>> made;
    const auto add = [&](const char* name, StageOrder order, PacketMask marks) {
        made.push_back(std::make_unique<TestStage>(
            StageNeeds{.name = name, .order = order},
            [&calls, &seen_marks, &fixture, name, marks](FrameBurst& burst,
                                                         std::span<const KeyedPacket> packets) {
                calls.emplace_back(name);
                seen_marks.push_back(burst.forwarded);
                burst.forwarded |= burst.frames.empty() ? 0 : marks;
                CHECK(fixture.counters.packets.read() == 2);  // they are accounted
                if (!burst.frames.empty()) {
                    CHECK(burst.frames.size() == 3);
                    CHECK(burst.metered == 0b101);
                    CHECK(burst.ignored == 0b010);
                    CHECK(packets.size() == 2);
                    CHECK(burst.index_of(*packets[1].packet) == 2);
                }
            }));
    };
    add("forwarding", StageOrder::forwarding, 0b100);
    add("first table", StageOrder::tables, 0b001);
    add("outlets", StageOrder::outlets, 0);
    add("inspection", StageOrder::inspection, 0);
    add("recorder", StageOrder::recorder, 0b010);
    add("second table", StageOrder::tables, 0);
    add("triggers", StageOrder::triggers, 0);
    const StageList stages(std::move(made));
    REQUIRE(fixture.worker.set_stages(stages.stages()));
    fixture.source.add_burst({seen(udp, at_ms(1)), seen(arp, at_ms(1)), seen(udp, at_ms(1))});
    CHECK(fixture.worker.step() == 3);
    const std::vector<std::string> order{"inspection", "first table", "second table", "triggers",
                                         "recorder",   "outlets",     "forwarding"};
    CHECK(calls == order);
    CHECK(seen_marks == std::vector<PacketMask>{0, 0, 1, 1, 1, 3, 3});
    CHECK(fixture.source.marks == 7);
    CHECK(fixture.worker.step() == 0);
    CHECK(calls.size() == 14);  // an empty burst too
    REQUIRE(fixture.worker.set_stages({}));
    fixture.worker.step();
    CHECK(calls.size() == 14);
    CHECK(fixture.source.marks == 0);
}

namespace {

/// A stage that notes its two calls for each burst.
class NotingStage final : public BurstStage {
public:
    struct Call {
        std::string what;
        std::size_t packets;       ///< of the burst
        const KeyedPacket* first;  ///< of them
        std::uint64_t accounted;   ///< packets in the main table by then
    };
    NotingStage(std::string name, const CacheCounters& counters, std::vector<Call>& calls)
        : BurstStage({.name = name}), name_(std::move(name)), counters_(counters), calls_(calls) {}
    void before_burst(const FrameBurst& /*burst*/,
                      std::span<const KeyedPacket> packets) noexcept override {
        note("before " + name_, packets);
    }
    void on_burst(FrameBurst& /*burst*/, std::span<const KeyedPacket> packets) noexcept override {
        note(name_, packets);
    }

private:
    void note(std::string what, std::span<const KeyedPacket> packets) noexcept {
        calls_.push_back({.what = std::move(what),
                          .packets = packets.size(),
                          .first = packets.data(),
                          .accounted = counters_.packets.read()});
    }

    std::string name_;
    const CacheCounters& counters_;
    std::vector<Call>& calls_;
};

}  // namespace

TEST_CASE("MeterLoop: all stages see a burst before it is accounted, and again after it",
          "[flowcache][unit]") {
    LoopFixture fixture;
    std::vector<NotingStage::Call> calls;
    std::vector<std::unique_ptr<BurstStage>> made;
    for (const char* const name : {"a", "b"}) {
        made.push_back(std::make_unique<NotingStage>(name, fixture.counters, calls));
    }
    const StageList stages(std::move(made));
    REQUIRE(fixture.worker.set_stages(stages.stages()));
    const Frame udp = ethernet().ipv4().udp(1000, 53).payload(20).build();
    fixture.source.add_burst({seen(udp, at_ms(1)), seen(udp, at_ms(1))});
    CHECK(fixture.worker.step() == 2);
    CHECK(fixture.worker.step() == 0);
    REQUIRE(calls.size() == 8);  // 4 for each burst; the second one is empty
    const std::vector<std::string> order{"before a", "before b", "a", "b"};
    for (std::size_t place = 0; place < order.size(); ++place) {
        CHECK(calls[place].what == order[place]);
        CHECK(calls[place].packets == 2);
        CHECK(calls[place].first == calls.front().first);
        CHECK(calls[place].accounted == (place < 2 ? 0 : 2));
        CHECK(calls[place + order.size()].what == order[place]);
        CHECK(calls[place + order.size()].packets == 0);
        CHECK(calls[place + order.size()].accounted == 2);
    }
}

namespace {

/// Makes stages, each of which holds all flows that begin.
///
/// @param followers  gets what the stages tell of these flows
std::vector<std::unique_ptr<BurstStage>> following_stages(
    std::size_t count, std::size_t entries, std::vector<std::unique_ptr<FlowFollower>>& followers) {
    std::vector<std::unique_ptr<BurstStage>> made;
    for (std::size_t n = 0; n < count; ++n) {
        followers.push_back(std::make_unique<FlowFollower>(1, entries));
        made.push_back(std::make_unique<FollowingStage>(*followers.back()));
    }
    return made;
}

/// As many of them as can need flows, and what becomes of them. Each holds all flows that begin.
struct HoldingStages {
    static constexpr std::size_t kCount = RunningFlows::kMostHolders;

    explicit HoldingStages(std::size_t entries)
        : list(following_stages(kCount, entries, followers)) {}
    [[nodiscard]] bool are_attached() const {
        const auto count = std::ranges::count_if(
            followers, [](const auto& follower) { return follower->is_attached(); });
        CHECK((count == 0 || count == kCount));
        return count == kCount;
    }
    /// What each of them held.
    [[nodiscard]] std::uint64_t held() const {
        for (const auto& follower : followers) {
            INFO(follower->fault);
            CHECK(follower->fault.empty());
            CHECK(follower->flows_held == followers.front()->flows_held);
        }
        return followers.front()->flows_held;
    }

    std::vector<std::unique_ptr<FlowFollower>> followers;
    StageList list;
};

}  // namespace

TEST_CASE("MeterLoop: stages that need flows are attached and detached, once, with all they hold",
          "[flowcache][unit]") {
    constexpr std::uint32_t kFlows = 4096;
    LoopFixture fixture({.max_flows = kFlows, .flow_holders = true});
    std::vector<Frame> frames;
    for (std::uint16_t port = 0; port < kFlows; ++port) {
        frames.push_back(ethernet().ipv4().udp(port, 53).build());
    }
    for (std::size_t first = 0; first < frames.size(); first += kBurstPackets) {
        std::vector<PacketView> packets;
        for (std::size_t n = 0; n < kBurstPackets; ++n) {
            packets.push_back(seen(frames[first + n], at_ms(5000)));
        }
        fixture.source.add_burst(std::move(packets));
    }
    HoldingStages first(kFlows);
    HoldingStages second(kFlows);
    HoldingStages third(kFlows);
    bool without_need = false;
    const StageList plain = one_stage({.name = "plain"}, [&](auto&, auto) { without_need = true; });

    REQUIRE(fixture.worker.set_stages(first.list.stages()));
    CHECK(first.are_attached());
    for (std::size_t burst = 0; burst < kFlows / kBurstPackets; ++burst) {
        fixture.worker.step();
    }
    CHECK(first.held() == kFlows);
    // The second ones find ids while the first one's flows are still marked; the third do not, and
    // the second go on.
    REQUIRE(fixture.worker.set_stages(second.list.stages()));
    CHECK_FALSE(first.are_attached());
    CHECK(second.are_attached());
    CHECK_FALSE(fixture.worker.set_stages(third.list.stages()));
    CHECK(second.are_attached());
    CHECK_FALSE(third.are_attached());
    int steps = 0;
    while (!fixture.worker.set_stages(third.list.stages())) {
        fixture.worker.step();
        ++steps;
    }
    CHECK(steps <= 4);  // 1024 entries each
    CHECK_FALSE(second.are_attached());
    CHECK(third.are_attached());
    while (!fixture.worker.set_stages(plain.stages())) {
    }
    fixture.worker.step();
    CHECK(without_need);
    while (!fixture.worker.set_stages(first.list.stages())) {
    }
    CHECK(first.are_attached());
    CHECK(fixture.worker.drain());
    CHECK_FALSE(first.are_attached());
    CHECK(fixture.sink.records.size() == kFlows);
    CHECK(first.held() == kFlows);
    CHECK(second.held() == 0);
    CHECK(third.held() == 0);
    CHECK(first.followers.front()->record_ends == 0);  // it held them until others followed
}

namespace {

/// Holds all flows of its cache, and counts the calls of MeterLoop and of the cache.
class CountingWatcher final : public FlowWatcher, FlowHolder {
public:
    void attach(RunningFlows& flows) noexcept override {
        ++attached;
        is_added = flows.add_holder(*this).has_value();
    }
    void detach() noexcept override { ++detached; }
    void on_packet(const KeyedPacket& /*packet*/) noexcept override { ++packets; }

    int attached = 0;
    int detached = 0;
    bool is_added = false;
    std::uint64_t packets = 0;
    std::uint64_t flows_ended = 0;

private:
    [[nodiscard]] bool holds_all() const noexcept override { return true; }
    void record_ended(FlowHandle /*flow*/, FlowEndReason /*reason*/,
                      std::span<const std::byte> /*record*/) noexcept override {}
    void flow_ended(FlowHandle /*flow*/, FlowEndReason /*reason*/) noexcept override {
        ++flows_ended;
    }
};

/// A stage with a watcher. The test fails if MeterLoop attaches or detaches the stage itself.
class WatchedStage final : public BurstStage {
public:
    explicit WatchedStage(FlowWatcher& watcher)
        : BurstStage({.name = "watched", .order = StageOrder::triggers, .flows = true}),
          watcher_(watcher) {}
    [[nodiscard]] FlowWatcher* watcher() noexcept override { return &watcher_; }
    void attach(RunningFlows& /*flows*/) noexcept override {
        FAIL_CHECK("its watcher is attached");
    }
    void detach() noexcept override { FAIL_CHECK("its watcher is detached"); }
    void on_burst(FrameBurst& /*burst*/,
                  std::span<const KeyedPacket> /*packets*/) noexcept override {}

private:
    FlowWatcher& watcher_;
};

/// A watched stage, and as many others as may need flows beside it.
struct WatchedStages {
    WatchedStages(FlowWatcher& watcher, std::size_t entries) {
        auto made = following_stages(RunningFlows::kMostHolders - 1, entries, followers);
        made.push_back(std::make_unique<WatchedStage>(watcher));
        list = StageList(std::move(made));
    }

    std::vector<std::unique_ptr<FlowFollower>> followers;
    StageList list;
};

}  // namespace

TEST_CASE("MeterLoop: a watcher goes on with the flows that it holds when other stages follow",
          "[flowcache][unit]") {
    constexpr std::uint32_t kFlows = 64;
    LoopFixture fixture({.max_flows = kFlows, .flow_holders = true});
    CountingWatcher watcher;
    CountingWatcher other;
    const WatchedStages first(watcher, kFlows);
    const WatchedStages second(watcher, kFlows);
    const WatchedStages third(other, kFlows);
    const auto udp = [](std::uint16_t port) { return ethernet().ipv4().udp(port, 53).build(); };
    const std::vector<Frame> frames{udp(1), udp(2), udp(3)};
    const auto step = [&](const Frame& frame) {
        fixture.source.add_burst({seen(frame, at_ms(5000))});
        fixture.worker.step();
    };

    REQUIRE(fixture.worker.set_stages(first.list.stages()));
    CHECK(watcher.is_added);
    step(frames[0]);
    REQUIRE(fixture.worker.set_stages(second.list.stages()));
    step(frames[1]);
    CHECK(watcher.attached == 1);
    CHECK(watcher.detached == 0);
    CHECK(watcher.packets == 2);

    SECTION("to the end") {
        CHECK(fixture.worker.drain());
        CHECK(watcher.flows_ended == 2);  // also the one that began before the second stages
        CHECK(watcher.detached == 1);
    }
    SECTION("until another one takes its place") {
        while (!fixture.worker.set_stages(third.list.stages())) {
            fixture.worker.step();
        }
        CHECK(watcher.detached == 1);
        CHECK(other.is_added);
        step(frames[2]);
        CHECK(watcher.packets == 2);
        CHECK(other.packets == 1);
        CHECK(fixture.worker.drain());
        CHECK(watcher.flows_ended == 0);
        CHECK(other.flows_ended == 1);  // those that ran before its time are not held
        CHECK(other.detached == 1);
    }
    SECTION("until no stage has one") {
        while (!fixture.worker.set_stages({})) {
            fixture.worker.step();
        }
        CHECK(watcher.detached == 1);
        step(frames[2]);
        CHECK(watcher.packets == 2);
        CHECK(fixture.worker.drain());
        CHECK(watcher.flows_ended == 0);
    }
}
