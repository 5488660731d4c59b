// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kClockOptions{.max_flows = 1000,
                                         .idle_timeout = std::chrono::seconds(30),
                                         .active_timeout = std::chrono::seconds(300)};
constexpr std::size_t kBudget = 128;

constexpr Timestamp at(std::chrono::seconds time) { return Timestamp{time}; }

template <class Harness>
std::uint64_t ended(const Harness& harness, FlowEndReason reason) {
    return harness.counters.ended[static_cast<std::size_t>(reason)].read();
}

}  // namespace

TEST_CASE("a clock that goes back ends the flows from before, and later ones end in time",
          "[flowcache][unit]") {
    // Ticks count from the first packet: it lies after the time that the clock goes back to, or
    // before.
    const std::chrono::seconds first = GENERATE(9000s, 100s);
    CacheHarness<> harness(kClockOptions);
    harness.packet(flow_packet(0), at(first));
    harness.expire(at(9000s));
    for (std::uint32_t flow = 1; flow <= 500; ++flow) {
        harness.packet(flow_packet(flow), at(9010s));
    }
    harness.expire(at(9010s));
    const std::size_t before = harness.sink.records.size();

    harness.packet(flow_packet(1000), at(5400s));  // in the burst that comes with the step
    harness.cache.expire_some(at(5400s), kBudget, harness.sink);
    CHECK(harness.sink.records.size() - before <= kBudget);
    for (int step = 0; step < 5; ++step) {
        harness.cache.expire_some(at(5400s), kBudget, harness.sink);
    }
    CHECK(ended(harness, FlowEndReason::forced_end) == (first == 9000s ? 501 : 500));
    CHECK(harness.counters.entries.read() == 1);
    CHECK(harness.sink.records.back().core.start == at(9010s));
    CHECK(harness.sink.records.back().core.end == at(9010s));
    CHECK(harness.sink.records.back().core.end_reason == FlowEndReason::forced_end);

    harness.packet(flow_packet(1001), at(5410s));
    harness.expire(at(5429s));
    CHECK(harness.counters.entries.read() == 2);
    harness.expire(at(5431s));
    CHECK(harness.counters.entries.read() == 1);
    CHECK(harness.sink.records.back().core.start == at(5400s));
    CHECK(harness.sink.records.back().core.end_reason == FlowEndReason::idle_timeout);
    harness.expire(at(5441s));
    CHECK(harness.counters.entries.read() == 0);
}

TEST_CASE("a packet that comes before the walk ends its flow from before the clock went back",
          "[flowcache][unit]") {
    CacheHarness<> harness(kClockOptions);
    harness.packet(flow_packet(1), at(8995s));
    harness.packet(flow_packet(1), at(9000s));
    harness.packet(flow_packet(1), at(5400s));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.start == at(8995s));
    CHECK(harness.sink.records[0].core.end == at(9000s));
    CHECK(harness.sink.records[0].core.packets == 2);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::forced_end);
    harness.packet(flow_packet(1), at(5401s));
    harness.expire(at(5432s));
    REQUIRE(harness.sink.records.size() == 2);
    CHECK(harness.sink.records[1].core.start == at(5400s));
    CHECK(harness.sink.records[1].core.end == at(5401s));
    CHECK(harness.sink.records[1].core.packets == 2);
}

TEST_CASE("a clock that goes back by less than a flow lasts ends it with its next packet",
          "[flowcache][unit]") {
    // The packet comes in the burst with the step, or before the walk has come to its flow.
    const bool is_in_first_burst = GENERATE(true, false);
    constexpr std::uint32_t kFlows = 700;
    CacheHarness<> harness(kClockOptions);
    for (const std::chrono::seconds time : {8980s, 9000s}) {
        for (std::uint32_t flow = 0; flow < kFlows; ++flow) {
            harness.packet(flow_packet(flow), at(time));
        }
    }
    harness.expire(at(9000s));
    REQUIRE(harness.sink.records.empty());
    if (!is_in_first_burst) {
        harness.cache.expire_some(at(8985s), 8, harness.sink);
    }
    for (std::uint32_t flow = kFlows; flow > 0; --flow) {
        harness.packet(flow_packet(flow - 1), at(8985s));
    }
    harness.expire(at(8985s));
    CHECK(harness.sink.records.size() == kFlows);
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.start == at(8980s));
        CHECK(record.core.end == at(9000s));
        CHECK(record.core.packets == 2);
        CHECK(record.core.end_reason == FlowEndReason::forced_end);
    }
    CHECK(harness.counters.entries.read() == kFlows);
    harness.expire(at(9020s));
    CHECK(harness.sink.records.size() == 2 * kFlows);
    CHECK(harness.sink.records.back().core.start == at(8985s));
    CHECK(harness.sink.records.back().core.packets == 1);
}

TEST_CASE("a clock that goes back while the sink is full loses no flow", "[flowcache][unit]") {
    CacheHarness<> harness(kClockOptions);
    for (std::uint32_t flow = 0; flow < 300; ++flow) {
        harness.packet(flow_packet(flow), at(9000s));
    }
    harness.expire(at(9000s));
    harness.sink.room = 100;
    harness.expire(at(5400s));
    CHECK(harness.sink.records.size() == 100);
    CHECK(harness.cache.has_waiting());
    harness.sink.room = 1000;
    harness.expire(at(5400s));
    CHECK(harness.sink.records.size() == 300);
    CHECK(harness.counters.entries.read() == 0);
    CHECK(ended(harness, FlowEndReason::forced_end) == 300);
    CHECK(harness.counters.lost_ring_full.records.read() == 0);
}

TEST_CASE("a late packet does not end its flow: the clock has not gone back", "[flowcache][unit]") {
    CacheHarness<> harness(kClockOptions);
    harness.packet(flow_packet(1), at(9000s));
    harness.packet(flow_packet(1), at(8980s), at(9000s));
    harness.expire(at(9000s));
    CHECK(harness.sink.records.empty());
}
