// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace tributary::test::biflow;

TEST_CASE("FlowCache: the initiator is kept across the records of a flow, however they end",
          "[flowcache][unit]") {
    const bool by_walk = GENERATE(false, true);
    BiflowHarness harness(kOptions, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    for (int second = 5; second <= 200; second += 5) {
        const Timestamp time = at_ms(1000 + 1000 * second);
        if (by_walk) {
            harness.expire(time - 1s);
        }
        harness.packet(answer_to(request()), time);  // the responder alone goes on
    }
    auto records = end_all(harness, at_ms(201'000));
    REQUIRE(records.size() == 4);
    std::uint64_t packets = 0;
    for (auto& record : records) {
        CHECK(record.core.key.source_port.value == 40000);
        CHECK(reverse_of(record).biflow_direction == BiflowDirection::initiator);
        packets += record.core.packets + reverse_of(record).packets;
        CHECK(record.core.packets == (&record == records.data() ? 1 : 0));
        CHECK(record.core.start <= record.core.end);
        const bool is_last = &record == &records.back();
        CHECK(record.core.end_reason ==
              (is_last ? FlowEndReason::forced_end : FlowEndReason::active_timeout));
    }
    CHECK(packets == 41);
    CHECK(reverse_of(records[0]).end == at_ms(61'000));
    CHECK(reverse_of(records[1]).start == at_ms(66'000));
    CHECK(records[1].core.start == at_ms(66'000));
}

TEST_CASE("FlowCache: the initiator is kept also while a record that was cut waits for the ring",
          "[flowcache][unit]") {
    const bool by_walk = GENERATE(false, true);
    BiflowHarness harness(kOptions, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    harness.sink.room = 0;
    for (int second = 5; second <= 200; second += 5) {
        const Timestamp time = at_ms(1000 + 1000 * second);
        if (by_walk) {
            harness.expire(time - 1s);
        }
        harness.packet(answer_to(request()), time);
    }
    CHECK(harness.counters.entries.read() == 4);  // three wait
    harness.sink.room = 10;
    auto records = end_all(harness, at_ms(201'000));
    REQUIRE(records.size() == 4);
    std::uint64_t packets = 0;
    for (auto& record : records) {
        CHECK(record.core.key.source_port.value == 40000);
        packets += record.core.packets + reverse_of(record).packets;
    }
    CHECK(packets == 41);
    CHECK(harness.counters.lost_ring_full.read().records == 0);
}

TEST_CASE("FlowCache: the initiator is forgotten after an idle timeout", "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.active_timeout = 5s;
    const bool by_walk = GENERATE(false, true);
    BiflowHarness harness(options, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    harness.packet(answer_to(request()), at_ms(3000));
    harness.expire(at_ms(12'900));
    CHECK(harness.sink.records.size() == 1);  // by the active timeout
    CHECK(harness.counters.entries.read() == 1);
    if (by_walk) {
        harness.expire(at_ms(14'000));
        CHECK(harness.counters.entries.read() == 0);
    }
    harness.packet(answer_to(request()), at_ms(14'000));  // 3 s + 10 s have passed
    auto records = end_all(harness, at_ms(14'000));
    REQUIRE(records.size() == 2);
    CHECK(records[1].core.key.source_port.value == 443);
    CHECK(records[1].core.packets == 1);
}

TEST_CASE("FlowCache: an entry between records takes its deadlines from the next packet",
          "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.active_timeout = 5s;
    BiflowHarness harness(options, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    harness.expire(at_ms(7000));
    CHECK(harness.sink.records.size() == 1);
    harness.packet(answer_to(request()), at_ms(8000));
    harness.expire(at_ms(13'000));
    CHECK(harness.sink.records.size() == 1);
    harness.expire(at_ms(13'600));
    REQUIRE(harness.sink.records.size() == 2);
    CHECK(harness.sink.records[1].core.key.source_port.value == 40000);
    CHECK(harness.sink.records[1].core.end_reason == FlowEndReason::active_timeout);
    CHECK(end_all(harness, at_ms(13'600)).size() == 2);
}

TEST_CASE("FlowCache: an entry between records makes room first, and without a record",
          "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.max_flows = 2;
    options.active_timeout = 5s;
    options.idle_timeout = 60s;
    BiflowHarness harness(options, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    harness.expire(at_ms(7000));
    CHECK(harness.sink.records.size() == 1);
    PacketFields other = request();
    for (const std::uint16_t port : {std::uint16_t{1}, std::uint16_t{2}}) {
        other.source_port = {port};
        harness.packet(other, at_ms(7000));
    }
    CHECK(harness.sink.records.size() == 1);
    CHECK(harness.counters.entries.read() == 2);
    CHECK(end_all(harness, at_ms(7000)).size() == 3);
}

TEST_CASE("FlowCache: an entry between records outlasts a shorter active timeout",
          "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.active_timeout = 20s;
    options.idle_timeout = 30s;
    BiflowHarness harness(options, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    harness.packet(request(), at_ms(15'000));
    harness.expire(at_ms(22'000));
    CHECK(harness.sink.records.size() == 1);
    options.active_timeout = 1s;
    harness.cache.set_timeouts(Timeouts(options));
    if (GENERATE(false, true)) {  // the whole of a reload, or that a packet comes first
        CacheScan scan;
        CHECK(scan.schedule_some(harness.cache, options.max_flows));
    }
    harness.expire(at_ms(44'000));
    CHECK(harness.counters.entries.read() == 1);
    harness.packet(answer_to(request()), at_ms(45'000));  // silent for an idle timeout, no longer
    const auto records = end_all(harness, at_ms(45'000));
    REQUIRE(records.size() == 2);
    CHECK(records[1].core.key.source_port.value == 40000);
    CHECK(records[1].core.packets == 0);
}
