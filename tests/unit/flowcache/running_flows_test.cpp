// SPDX-License-Identifier: Apache-2.0
#include "flowcache/running_flows.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/flow_follower.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kRunningOptions{
    .max_flows = 8, .idle_timeout = 10s, .active_timeout = 15s, .flow_holders = true};

/// A cache as its stages see it.
template <std::size_t kRecordBytes>
struct Fixture {
    explicit Fixture(const FlowCacheOptions& options, const RecordLayout& layout = {})
        : harness(options, layout) {}

    /// Accounts packets of random flows, mostly TCP segments that go on, in `bursts` bursts, and
    /// has a follower follow them.
    void follow(FlowFollower& follower, std::uint32_t most_flows, int bursts) {
        std::mt19937 random(11);
        Timestamp clock = at_ms(1'700'000'000'000);
        std::vector<std::uint32_t> sequences(most_flows);
        std::array<PacketView, kBurstPackets> views{};
        std::array<PacketFields, kBurstPackets> fields{};
        for (int burst = 0; burst < bursts; ++burst) {
            harness.burst.clear();
            const std::size_t count = 1 + random() % kBurstPackets;
            for (std::size_t n = 0; n < count; ++n) {
                clock += std::chrono::microseconds{random() % 2000};
                // A quarter of the flows goes on for long.
                const auto flow = static_cast<std::uint32_t>(
                    random() % (random() % 2 == 0 ? most_flows / 4 : most_flows));
                const auto payload = static_cast<std::uint32_t>(random() % 1000);
                fields[n] = flow_packet(flow, 40 + payload);
                fields[n].ip_version = flow % 3 == 0 ? 6 : 4;
                if (flow % 5 != 0) {
                    fields[n].protocol = ip_protocol::kTcp;
                    fields[n].tcp_control_bits = tcp_flag::kAck;
                    fields[n].has_tcp_segment = true;
                    fields[n].tcp = {.sequence = sequences[flow],
                                     .acknowledgement = 1,
                                     .payload_bytes = payload,
                                     .window = 500,
                                     .copy_id = static_cast<std::uint16_t>(random())};
                    sequences[flow] += payload;
                }
                if (random() % 3 == 0 && harness.cache.layout().reverse_at != 0) {
                    fields[n] = biflow::answer_to(fields[n]);
                }
                views[n] = {.ingress_interface = {1}, .seen_at = clock, .clock = clock};
                harness.burst.add(views[n], fields[n]);
            }
            harness.sink.room =
                burst % 4 == 0 ? harness.sink.records.size() + 3 : harness.sink.records.size();
            const std::span<KeyedPacket> keyed = harness.burst.finish();
            harness.cache.account(keyed, harness.sink);
            follower.on_burst(keyed);
            harness.cache.expire_some(clock, 2 * kBurstPackets, harness.sink);
        }
        harness.sink.room = ~std::size_t{0};
        CHECK(harness.cache.end_all(clock, harness.sink));
    }
    [[nodiscard]] std::uint64_t ended() const {
        std::uint64_t sum = 0;
        for (const Counter& reason : harness.counters.ended) {
            sum += reason.read();
        }
        return sum;
    }

    CacheHarness<kRecordBytes> harness;
    CacheFlows<FlowCache<kRecordBytes>> flows{harness.cache};
};

template <std::size_t kRecordBytes>
void check_follower(const FlowCacheOptions& options, const RecordLayout& layout) {
    Fixture<kRecordBytes> fixture(options, layout);
    FlowFollower follower(1, entries_for(options));
    fixture.flows.replace_holders(1);
    follower.attach(fixture.flows);
    fixture.follow(follower, 600, 2000);
    INFO(follower.fault);
    CHECK(follower.fault.empty());
    CHECK(follower.flows_held > 5000);
    CHECK(follower.flow_ends == follower.flows_held);
    CHECK(follower.record_ends + follower.gone == fixture.ended());
    CHECK(follower.compared > 10'000);
    CHECK(fixture.harness.counters.lost_ring_full.read().records > 0);
    for (const FlowEndReason reason : {FlowEndReason::idle_timeout, FlowEndReason::active_timeout,
                                       FlowEndReason::lack_of_resources}) {
        CHECK(fixture.harness.counters.ended[static_cast<std::size_t>(reason)].read() > 0);
    }
}

}  // namespace

TEST_CASE(
    "RunningFlows: a flow's records have what its packets had, after each burst, and each "
    "holder is told each end once",
    "[flowcache][unit]") {
    FlowCacheOptions options = kRunningOptions;
    options.max_flows = 300;
    options.idle_timeout = 1s;
    options.active_timeout = 3s;
    SECTION("uniflows") { check_follower<80>(options, {}); }
    SECTION("biflows") {
        options.direction = FlowDirection::biflow;
        check_follower<144>(options, biflow::kLayout);
    }
    SECTION("flows that may be compact") {
        options.tcp_analysis = true;
        check_follower<144>(options, RecordLayout::of(groups_of<TcpAnalysisGroup>()));
    }
    SECTION("biflows with all groups") {
        options.direction = FlowDirection::biflow;
        options.tcp_analysis = true;
        check_follower<584>(options, RecordLayout::of(kEveryGroup - groups_of<PacketDumpGroup>(),
                                                      FlowDirection::biflow));
    }
}

TEST_CASE("RunningFlows: the record of a flow is that which would be exported",
          "[flowcache][unit]") {
    Fixture<144> fixture(biflow::kOptions, biflow::kLayout);
    auto& harness = fixture.harness;
    harness.packet(biflow::request(tcp_flag::kSyn), at_ms(1000));
    harness.packet(biflow::answer_to(biflow::request()), at_ms(1001));
    const FlowHandle flow = harness.handle_of(biflow::request()).value();
    const std::span<const std::byte> bytes = fixture.flows.record_of(flow);
    REQUIRE(bytes.size() == sizeof(FlowRecord<144>));
    FlowRecord<144> record{};
    std::memcpy(static_cast<void*>(&record), bytes.data(), bytes.size());
    CHECK(record.core.end_reason == FlowEndReason::none);
    CHECK(harness.cache.end(flow, FlowEndReason::end_of_flow, harness.sink));
    CHECK(fixture.flows.record_of(flow).empty());
    record.core.end_reason = FlowEndReason::end_of_flow;
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(std::memcmp(&record, harness.sink.records.data(), sizeof record) == 0);
    CHECK(fixture.flows.layout() == biflow::kLayout);
    CHECK(fixture.flows.entries() == biflow::kOptions.max_flows);
}

TEST_CASE("RunningFlows: a flow that has ended, or is between records, has no record",
          "[flowcache][unit]") {
    Fixture<80> fixture(kRunningOptions);
    auto& harness = fixture.harness;
    harness.packet(flow_packet(1), at_ms(0));
    const FlowHandle flow = harness.handle_of(flow_packet(1)).value();
    harness.packet(flow_packet(1), at_ms(9000));
    harness.expire(at_ms(15'600));
    CHECK(fixture.flows.is_running(flow));
    CHECK(fixture.flows.record_of(flow).empty());
    harness.packet(flow_packet(1), at_ms(16'000));
    CHECK_FALSE(fixture.flows.record_of(flow).empty());
    harness.expire(at_ms(40'000));
    CHECK_FALSE(fixture.flows.is_running(flow));
    CHECK(fixture.flows.record_of(flow).empty());
    CHECK(fixture.flows.record_of({}).empty());
    harness.packet(flow_packet(1), at_ms(41'000));  // in the same entry
    CHECK(fixture.flows.record_of(flow).empty());
}

TEST_CASE("CacheFlows: as many holders as are admitted, and none stays when others follow",
          "[flowcache][unit]") {
    Fixture<80> fixture(kRunningOptions);
    auto& cache = fixture.harness.cache;
    FlowFollower first(1, kRunningOptions.max_flows);
    FlowFollower second(1, kRunningOptions.max_flows);
    FlowFollower third(1, kRunningOptions.max_flows);
    CHECK_FALSE(fixture.flows.add_holder(first).has_value());
    fixture.flows.replace_holders(2);
    first.attach(fixture.flows);
    second.attach(fixture.flows);
    CHECK_FALSE(fixture.flows.add_holder(third).has_value());
    fixture.harness.packet(flow_packet(1), at_ms(0));
    const FlowHandle flow = fixture.harness.handle_of(flow_packet(1)).value();
    CHECK(fixture.flows.hold(flow, HolderId{0}));
    CHECK(fixture.flows.hold(flow, HolderId{1}));
    fixture.flows.let_go(flow, HolderId{1});
    CHECK_FALSE(fixture.flows.is_held_by(flow, HolderId{1}));
    CHECK(fixture.flows.is_held_by(flow, HolderId{0}));

    first.detach();
    second.detach();
    fixture.flows.replace_holders(1);
    third.attach(fixture.flows);
    CHECK_FALSE(fixture.flows.is_held_by(flow, HolderId{0}));
    CHECK_FALSE(fixture.flows.hold(flow, HolderId{0}));
    CHECK(cache.end_all(at_ms(1), fixture.harness.sink));
    CHECK(first.fault.empty());
    CHECK(second.fault.empty());
    CHECK(third.fault.empty());
}

TEST_CASE("FlowCache: flows can be held from some burst on, also those that ran before",
          "[flowcache][unit]") {
    FlowCacheOptions options = kRunningOptions;
    options.flow_holders = false;
    Fixture<80> fixture(options);
    auto& harness = fixture.harness;
    harness.packet(flow_packet(1), at_ms(0));
    const FlowHandle flow = harness.handle_of(flow_packet(1)).value();
    CHECK(harness.cache.make_room_for_holders(0));
    CHECK_FALSE(harness.cache.make_room_for_holders(1));
    harness.expire(at_ms(1));

    std::vector<std::byte> memory(FlowCache<80>::holder_bytes_needed(options));
    CHECK(memory.size() == 2 * entries_for(options));
    harness.cache.allow_holders(memory);
    CHECK(harness.cache.make_room_for_holders(FlowHolders::kMost));
    CHECK_FALSE(harness.cache.make_room_for_holders(FlowHolders::kMost + 1));
    fixture.flows.replace_holders(1);
    FlowFollower follower(1, options.max_flows);
    follower.attach(fixture.flows);
    CHECK(fixture.flows.hold(flow, HolderId{0}));
    harness.cache.allow_holders(memory);  // forgets nothing
    CHECK(fixture.flows.is_held_by(flow, HolderId{0}));
    fixture.flows.let_go(flow, HolderId{0});
    CHECK(harness.cache.end(flow, FlowEndReason::forced_end, harness.sink));

    fixture.follow(follower, 16, 200);
    INFO(follower.fault);
    CHECK(follower.fault.empty());
    CHECK(follower.flows_held > 0);
    CHECK(follower.flow_ends == follower.flows_held);
}

namespace {

/// Holds all flows, and writes a number into each record that leaves.
class MarkingHolder final : public FlowHolder {
public:
    [[nodiscard]] bool holds_all() const noexcept override { return true; }
    void record_ends(FlowHandle /*flow*/, FlowEndReason /*reason*/,
                     std::span<std::byte> record) noexcept override {
        ++marked;
        std::memcpy(&record[kMarkedLayout.at<PacketDumpGroup>()], &marked, sizeof marked);
    }
    void record_ended(FlowHandle /*flow*/, FlowEndReason /*reason*/,
                      std::span<const std::byte> record) noexcept override {
        std::uint32_t mark = 0;
        std::memcpy(&mark, &record[kMarkedLayout.at<PacketDumpGroup>()], sizeof mark);
        is_marked = is_marked && mark == marked;
    }
    void flow_ended(FlowHandle /*flow*/, FlowEndReason /*reason*/) noexcept override { ++ended; }

    static const RecordLayout kMarkedLayout;
    std::uint32_t marked = 0;
    std::uint32_t ended = 0;
    bool is_marked = true;
};
const RecordLayout MarkingHolder::kMarkedLayout = RecordLayout::of(groups_of<PacketDumpGroup>());

}  // namespace

TEST_CASE(
    "FlowHolder: one that holds all is told of flows that begin and end within a burst, and "
    "what it writes into records leaves",
    "[flowcache][unit]") {
    Fixture<144> fixture(kRunningOptions, MarkingHolder::kMarkedLayout);
    auto& harness = fixture.harness;
    MarkingHolder holder;
    harness.packet(flow_packet(100), at_ms(0));  // before it is there
    fixture.flows.replace_holders(1);
    REQUIRE(fixture.flows.add_holder(holder).has_value());
    std::vector<TimedPacket> packets;
    for (std::uint32_t flow = 0; flow < 40; ++flow) {  // room is for 8
        packets.push_back({flow_packet(flow), at_ms(flow), at_ms(flow)});
    }
    harness.packets(packets);
    harness.sink.room = harness.sink.records.size();  // the others wait in the cache
    harness.expire(at_ms(60'000));
    harness.sink.room = 1000;
    harness.expire(at_ms(60'000));
    CHECK(holder.marked == 40);
    CHECK(holder.ended == 40);
    CHECK(holder.is_marked);
    REQUIRE(harness.sink.records.size() == 41);
    std::vector<std::uint32_t> marks;
    for (FlowRecord<144>& record : harness.sink.records) {
        marks.push_back(
            record.group<PacketDumpGroup>(MarkingHolder::kMarkedLayout.at<PacketDumpGroup>())
                .file_number);
    }
    std::ranges::sort(marks);
    for (std::uint32_t mark = 0; mark <= 40; ++mark) {
        CHECK(marks[mark] == mark);
    }
}
