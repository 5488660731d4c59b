// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "flowcache/cache_scan.hpp"
#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr FlowCacheOptions kScanOptions{.max_flows = 1000,
                                        .idle_timeout = std::chrono::seconds(30),
                                        .active_timeout = std::chrono::seconds(300)};

/// Flows 0 .. count - 1, one packet each, in the first second.
void open_flows(CacheHarness<>& harness, std::uint32_t count) {
    for (std::uint32_t flow = 0; flow < count; ++flow) {
        harness.packet(flow_packet(flow), at_ms(flow));
    }
}

void set_idle_timeout(CacheHarness<>& harness, std::chrono::seconds timeout) {
    FlowCacheOptions changed = kScanOptions;
    changed.idle_timeout = timeout;
    harness.cache.set_timeouts(Timeouts(changed));
}

}  // namespace

TEST_CASE("CacheScan: copies every running flow's record once, and changes nothing",
          "[flowcache][unit]") {
    CacheHarness<> harness(kScanOptions);
    open_flows(harness, 100);
    harness.packet(flow_packet(7), at_ms(500));
    CacheScan scan;
    std::set<std::int64_t> starts;
    std::uint64_t packets = 0;
    int steps = 0;
    bool is_through = false;
    while (!is_through) {
        std::size_t looks = 0;
        is_through = scan.copy_some(harness.cache, 8, [&](const auto& record) {
            ++looks;
            starts.insert(record.core.start.time_since_epoch().count());
            packets += record.core.packets;
            CHECK(record.core.end_reason == FlowEndReason::none);
            return true;
        });
        CHECK(looks <= 8);
        ++steps;
    }
    CHECK(steps == 13);
    CHECK(starts.size() == 100);
    CHECK(packets == 101);
    CHECK(harness.sink.records.empty());
    CHECK(harness.counters.entries.read() == 100);
}

TEST_CASE("CacheScan: after a look has stopped the scan, it goes on behind that record",
          "[flowcache][unit]") {
    CacheHarness<> harness(kScanOptions);
    open_flows(harness, 10);
    CacheScan scan;
    int seen = 0;
    const auto one = [&](const auto&) {
        ++seen;
        return false;
    };
    for (int step = 0; step < 9; ++step) {
        CHECK_FALSE(scan.copy_some(harness.cache, 100, one));
    }
    CHECK(scan.copy_some(harness.cache, 100, one));
    CHECK(seen == 10);
}

TEST_CASE("CacheScan: ends the flows that it meets, and waits for a full sink",
          "[flowcache][unit]") {
    CacheHarness<> harness(kScanOptions);
    open_flows(harness, 100);
    harness.sink.room = 40;
    CacheScan scan;
    CHECK_FALSE(scan.end_some(harness.cache, 30, at_ms(1000), harness.sink));
    CHECK(harness.sink.records.size() == 30);
    CHECK_FALSE(scan.end_some(harness.cache, 30, at_ms(1000), harness.sink));
    CHECK_FALSE(scan.end_some(harness.cache, 30, at_ms(1000), harness.sink));
    CHECK(harness.sink.records.size() == 40);
    harness.packet(flow_packet(3), at_ms(1001));  // one that was ended begins anew
    harness.sink.room = 1000;
    while (!scan.end_some(harness.cache, 30, at_ms(1002), harness.sink)) {
    }
    harness.cache.expire_some(at_ms(1002), 1000, harness.sink);  // what waited
    CHECK(harness.counters.ended[static_cast<std::size_t>(FlowEndReason::forced_end)].read() >=
          100);
    CHECK(harness.counters.lost_ring_full.read().records == 0);
    CHECK(harness.cache.end_all(at_ms(1003), harness.sink));
    CHECK(harness.sink.records.size() == 101);
}

TEST_CASE("CacheScan: shorter timeouts reach flows that no packet touches", "[flowcache][unit]") {
    CacheHarness<> harness(kScanOptions);
    open_flows(harness, 100);
    set_idle_timeout(harness, std::chrono::seconds(2));
    CacheScan scan;
    int steps = 0;
    while (!scan.schedule_some(harness.cache, 8)) {
        ++steps;
    }
    CHECK(steps == 12);
    harness.expire(at_ms(1500));
    CHECK(harness.sink.records.empty());
    harness.expire(at_ms(3200));
    CHECK(harness.sink.records.size() == 100);
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.end_reason == FlowEndReason::idle_timeout);
    }
}

TEST_CASE("CacheScan: longer timeouts hold for flows that run", "[flowcache][unit]") {
    CacheHarness<> harness(kScanOptions);
    open_flows(harness, 10);
    set_idle_timeout(harness, std::chrono::seconds(100));
    CacheScan scan;
    CHECK(scan.schedule_some(harness.cache, 1000));
    harness.expire(at_ms(90'000));
    CHECK(harness.sink.records.empty());
    harness.expire(at_ms(101'000));
    CHECK(harness.sink.records.size() == 10);
}

TEST_CASE("CacheScan: an entry between records waits for one idle timeout of now",
          "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 10,
                            .idle_timeout = std::chrono::seconds(30),
                            .active_timeout = std::chrono::seconds(10)});
    harness.packet(flow_packet(1), at_ms(0));
    harness.expire(at_ms(11'000));  // its record has left, its flow runs
    REQUIRE(harness.sink.records.size() == 1);
    REQUIRE(harness.counters.entries.read() == 1);
    harness.cache.set_timeouts(Timeouts(
        {.idle_timeout = std::chrono::seconds(20), .active_timeout = std::chrono::seconds(300)}));
    CacheScan scan;
    CHECK(scan.schedule_some(harness.cache, 10));
    harness.expire(at_ms(19'000));
    CHECK(harness.counters.entries.read() == 1);
    harness.expire(at_ms(21'000));
    CHECK(harness.counters.entries.read() == 0);
    CHECK(harness.sink.records.size() == 1);
}
