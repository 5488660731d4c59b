// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <optional>

#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kHandleOptions{
    .max_flows = 8, .idle_timeout = 10s, .active_timeout = 60s};

}  // namespace

TEST_CASE("FlowCache: counts and an end may come from outside", "[flowcache][unit]") {
    CacheHarness<> harness(kHandleOptions);
    CHECK_FALSE(harness.handle_of(flow_packet(1)).has_value());
    harness.packet(flow_packet(1, 100), at_ms(1000));
    const FlowHandle handle = harness.handle_of(flow_packet(1)).value();
    CHECK(harness.cache.is_running(handle));
    CHECK(harness.cache.add(handle, {7, 700}, {at_ms(900), at_ms(5000)}, harness.sink));
    CHECK(harness.cache.end(handle, FlowEndReason::end_of_flow, harness.sink));

    REQUIRE(harness.sink.records.size() == 1);
    const FlowRecordCore& core = harness.sink.records[0].core;
    CHECK(core.packets == 8);
    CHECK(core.octets == 800);
    CHECK(core.start == at_ms(900));
    CHECK(core.end == at_ms(5000));
    CHECK(core.end_reason == FlowEndReason::end_of_flow);
    CHECK(harness.counters.packets.read() == 8);
    CHECK(harness.counters.octets.read() == 800);
}

TEST_CASE("FlowCache: a handle goes stale with its flow, whatever the entry holds next",
          "[flowcache][unit]") {
    CacheHarness<> harness(kHandleOptions);
    harness.packet(flow_packet(1), at_ms(1000));
    const FlowHandle stale = harness.handle_of(flow_packet(1)).value();
    harness.packet(flow_packet(1), at_ms(20000));  // a new record of the same flow
    const FlowHandle handle = harness.handle_of(flow_packet(1)).value();
    CHECK(harness.cache.is_running(handle));
    CHECK_FALSE(harness.cache.is_running(stale));
    CHECK_FALSE(harness.cache.add(stale, {1, 1}, {at_ms(1000), at_ms(1000)}, harness.sink));
    CHECK_FALSE(harness.cache.end(stale, FlowEndReason::end_of_flow, harness.sink));
    CHECK_FALSE(harness.cache.is_running(FlowHandle{}));
    CHECK(harness.counters.packets.read() == 2);
}

TEST_CASE("FlowCache: counts from outside move the idle deadline", "[flowcache][unit]") {
    CacheHarness<> harness(kHandleOptions);
    harness.packet(flow_packet(1), at_ms(1000));
    const FlowHandle handle = harness.handle_of(flow_packet(1)).value();
    CHECK(harness.cache.add(handle, {1, 100}, {at_ms(9000), at_ms(9000)}, harness.sink));
    harness.expire(at_ms(19000));
    CHECK(harness.cache.is_running(handle));
    harness.expire(at_ms(19600));
    CHECK_FALSE(harness.cache.is_running(handle));
}

TEST_CASE("FlowCache: counts from outside that come after a record's deadline are not its",
          "[flowcache][unit]") {
    CacheHarness<> harness(kHandleOptions);
    harness.packet(flow_packet(1), at_ms(1000));
    const FlowHandle handle = harness.handle_of(flow_packet(1)).value();
    // Expiry has not come by.
    CHECK_FALSE(harness.cache.add(handle, {1, 100}, {at_ms(11'001), at_ms(12'000)}, harness.sink));
    CHECK_FALSE(harness.cache.is_running(handle));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.packets == 1);
    CHECK(harness.sink.records[0].core.end == at_ms(1000));
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::idle_timeout);
    CHECK(harness.counters.packets.read() == 1);
}

TEST_CASE("FlowCache: a handle stays good through the records that the active timeout cuts",
          "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 8, .idle_timeout = 10s, .active_timeout = 15s});
    harness.packet(flow_packet(1), at_ms(0));
    harness.packet(flow_packet(1), at_ms(9000));
    const FlowHandle handle = harness.handle_of(flow_packet(1)).value();
    harness.expire(at_ms(15'600));
    CHECK(harness.sink.records.size() == 1);
    CHECK(harness.cache.is_running(handle));
    // The next record begins with a packet, not with counts from outside.
    CHECK_FALSE(harness.cache.add(handle, {1, 100}, {at_ms(16'000), at_ms(16'000)}, harness.sink));
    harness.packet(flow_packet(1), at_ms(17'000));
    CHECK(harness.cache.add(handle, {1, 100}, {at_ms(18'000), at_ms(18'000)}, harness.sink));
    harness.expire(at_ms(28'600));
    CHECK_FALSE(harness.cache.is_running(handle));
    REQUIRE(harness.sink.records.size() == 2);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::active_timeout);
    CHECK(harness.sink.records[0].core.packets == 2);
    CHECK(harness.sink.records[1].core.end_reason == FlowEndReason::idle_timeout);
    CHECK(harness.sink.records[1].core.packets == 2);
    CHECK(harness.sink.records[1].core.start == at_ms(17'000));
    CHECK(harness.counters.entries.read() == 0);
}

TEST_CASE("FlowCache: every octet of their addresses separates IPv6 flows", "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 64, .idle_timeout = 10s, .active_timeout = 60s});
    PacketFields fields = flow_packet(1);
    fields.ip_version = 6;
    for (std::size_t octet = 0; octet < 16; ++octet) {
        PacketFields source = fields;
        source.source[octet] ^= std::byte{0x80};
        PacketFields destination = fields;
        destination.destination[octet] ^= std::byte{0x80};
        for (int packets = 0; packets < 2; ++packets) {
            harness.packet(source, at_ms(1000));
            harness.packet(destination, at_ms(1000));
        }
    }
    CHECK(harness.counters.flows_created.read() == 32);
    CHECK(harness.cache.end_all(at_ms(1000), harness.sink));
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.packets == 2);
        CHECK(record.core.key.ip_version == 6);
    }
}
