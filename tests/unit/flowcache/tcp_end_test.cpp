// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using biflow::answer_to;
using biflow::BiflowHarness;
using biflow::end_all;
using biflow::request;
using biflow::reverse_of;
using namespace std::chrono_literals;

namespace {

FlowCacheOptions options_of(FlowDirection direction) {
    return {.max_flows = 64,
            .idle_timeout = 10s,
            .active_timeout = 60s,
            .direction = direction,
            .tcp_end = true};
}
const FlowCacheOptions uniflows = options_of(FlowDirection::uniflow);
const FlowCacheOptions biflows = options_of(FlowDirection::biflow);

template <class Harness>
std::vector<FlowEndReason> reasons_of(const Harness& harness) {
    std::vector<FlowEndReason> reasons;
    for (const auto& record : harness.sink.records) {
        reasons.push_back(record.core.end_reason);
    }
    return reasons;
}
using Reasons = std::vector<FlowEndReason>;
constexpr FlowEndReason kEnd = FlowEndReason::end_of_flow;
constexpr FlowEndReason kForced = FlowEndReason::forced_end;

}  // namespace

TEST_CASE("tcp_end: packets behind FIN or RST belong to the record, until it is silent",
          "[flowcache][unit]") {
    CacheHarness<> harness(uniflows);
    harness.packet(request(biflow::kAck), at_ms(1000));
    harness.packet(request(GENERATE(biflow::kFinAck, biflow::kRst)), at_ms(1001));
    harness.packet(request(biflow::kAck), at_ms(3001));  // exactly at its deadline
    CHECK(harness.sink.records.empty());
    const bool by_walk = GENERATE(true, false);
    if (by_walk) {
        harness.expire(at_ms(5500));  // long before the idle timeout
        CHECK(harness.sink.records.size() == 1);
    }
    harness.packet(request(biflow::kAck), at_ms(5501));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.packets == 3);
    CHECK(harness.sink.records[0].core.end == at_ms(3001));
    CHECK(harness.sink.records[0].core.end_reason == kEnd);
    // The next record has no end yet.
    harness.packet(request(biflow::kAck), at_ms(14'000));
    CHECK(end_all(harness, at_ms(14'000)).size() == 2);
    CHECK(harness.sink.records[1].core.packets == 2);
}

TEST_CASE("tcp_end: a SYN, with or without ACK, ends a record whose end was seen",
          "[flowcache][unit]") {
    const std::uint16_t syn = GENERATE(biflow::kSyn, biflow::kSynAck, biflow::kSynRst);
    CAPTURE(syn);
    CacheHarness<> harness(uniflows);
    harness.packet(request(syn), at_ms(1000));
    harness.packet(request(syn), at_ms(1001));  // without an end it is one more packet
    harness.packet(request(biflow::kFinAck), at_ms(1002));
    harness.packet(request(biflow::kAck), at_ms(1003));
    harness.packet(request(syn), at_ms(1004));
    const std::uint64_t first = (syn & biflow::kRst) == 0 ? 4 : 1;
    REQUIRE_FALSE(harness.sink.records.empty());
    CHECK(harness.sink.records[0].core.packets == first);
    CHECK(harness.sink.records[0].core.end_reason == kEnd);
    CHECK(end_all(harness, at_ms(1004)).back().core.packets == 1);
    CHECK(harness.sink.records.back().core.end_reason == kForced);
}

TEST_CASE("tcp_end: its timeout is no longer than the idle one, and the active one holds",
          "[flowcache][unit]") {
    FlowCacheOptions options = uniflows;
    SECTION("idle") {
        options.tcp_end_timeout = 20s;
        CacheHarness<> harness(options);
        harness.packet(request(biflow::kRst), at_ms(1000));
        harness.packet(request(biflow::kAck), at_ms(11'001));
        CHECK(reasons_of(harness) == Reasons{kEnd});
    }
    SECTION("active, in a later record of which no end is known") {
        options.active_timeout = 3s;
        CacheHarness<> harness(options);
        harness.packet(request(biflow::kFinAck), at_ms(1000));
        harness.packet(request(biflow::kAck), at_ms(3000));
        harness.packet(request(biflow::kAck), at_ms(4001));
        CHECK(reasons_of(harness) == Reasons{FlowEndReason::active_timeout});
        harness.expire(at_ms(7000));
        CHECK(harness.sink.records.size() == 1);
        harness.packet(request(biflow::kAck), at_ms(7001));
        CHECK(end_all(harness, at_ms(7001)).back().core.packets == 2);
    }
    SECTION("both at once") {
        options.active_timeout = 3s;
        CacheHarness<> harness(options);
        harness.packet(request(biflow::kAck), at_ms(1000));
        harness.packet(request(biflow::kFinAck), at_ms(2000));
        harness.packet(request(biflow::kAck), at_ms(4001));
        CHECK(reasons_of(harness) == Reasons{FlowEndReason::active_timeout});
    }
    SECTION("another one while it runs") {
        CacheHarness<> harness(options);
        harness.packet(request(biflow::kFinAck), at_ms(1000));
        options.tcp_end_timeout = 5s;
        harness.cache.set_timeouts(Timeouts(options));
        harness.packet(request(biflow::kAck), at_ms(6000));
        CHECK(harness.sink.records.empty());
        harness.packet(request(biflow::kAck), at_ms(11'001));
        CHECK(reasons_of(harness) == Reasons{kEnd});
    }
}

TEST_CASE("tcp_end: without it FIN and RST change nothing", "[flowcache][unit]") {
    FlowCacheOptions options = uniflows;
    options.tcp_end = false;
    CacheHarness<> harness(options);
    for (const std::uint16_t flags : {biflow::kSyn, biflow::kFinAck, biflow::kRst, biflow::kSyn}) {
        harness.packet(request(flags), at_ms(1000));
    }
    harness.packet(request(biflow::kAck), at_ms(9000));
    CHECK(end_all(harness, at_ms(9000)).size() == 1);
}

TEST_CASE("tcp_end: a biflow's last ACK belongs to it, and its ports serve the next one",
          "[flowcache][unit]") {
    BiflowHarness harness(biflows, biflow::kLayout);
    for (const int begin : {1000, 1010}) {
        harness.packet(request(biflow::kSyn), at_ms(begin));
        harness.packet(answer_to(request(), biflow::kSynAck), at_ms(begin + 1));
        harness.packet(request(biflow::kAck), at_ms(begin + 2));
        harness.packet(request(biflow::kFinAck), at_ms(begin + 3));
        harness.packet(request(biflow::kFinAck), at_ms(begin + 4));  // sent again
        harness.packet(answer_to(request(), biflow::kFinAck), at_ms(begin + 5));
        harness.packet(request(biflow::kAck), at_ms(begin + 6));
    }
    auto records = end_all(harness, at_ms(1017));
    REQUIRE(records.size() == 2);
    CHECK(reasons_of(harness) == Reasons{kEnd, kForced});
    for (auto& record : records) {
        CHECK(record.core.key.source_port.value == 40000);
        CHECK(record.core.packets == 5);
        CHECK(reverse_of(record).packets == 2);
        CHECK(reverse_of(record).biflow_direction == BiflowDirection::initiator);
    }
}

TEST_CASE("tcp_end: one direction's FIN ends no biflow, RST of either does", "[flowcache][unit]") {
    BiflowHarness harness(biflows, biflow::kLayout);
    harness.packet(request(biflow::kSyn), at_ms(1000));
    harness.packet(request(biflow::kFinAck), at_ms(1001));
    harness.packet(answer_to(request()), at_ms(9000));  // half closed
    harness.packet(request(biflow::kSyn),
                   at_ms(9001));  // of the same connection, as far as is known
    CHECK(harness.sink.records.empty());
    harness.packet(
        GENERATE(true, false) ? answer_to(request(), biflow::kRst) : request(biflow::kRst),
        at_ms(9002));
    harness.expire(at_ms(11'600));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.end_reason == kEnd);
    CHECK(harness.counters.entries.read() == 0);
}

TEST_CASE("tcp_end: the second FIN ends a later record, and a SYN an entry between records",
          "[flowcache][unit]") {
    FlowCacheOptions options = biflows;
    options.active_timeout = 2s;
    BiflowHarness harness(options, biflow::kLayout);
    harness.packet(request(biflow::kSyn), at_ms(1000));
    harness.packet(request(biflow::kFinAck), at_ms(1500));
    harness.packet(answer_to(request(), biflow::kAck), at_ms(3500));
    CHECK(harness.sink.records.size() == 1);
    harness.packet(answer_to(request(), biflow::kFinAck), at_ms(3600));
    SECTION("silence") {
        harness.packet(answer_to(request(), biflow::kFinAck), at_ms(3700));
        harness.expire(at_ms(5690));
        CHECK(harness.sink.records.size() == 2);  // cut
        harness.expire(at_ms(8000));
        CHECK(harness.sink.records.size() == 2);
        // The answering end connects with the same ports: it is the source then.
        harness.packet(answer_to(request(), biflow::kSyn), at_ms(8001));
        auto records = end_all(harness, at_ms(8002));
        REQUIRE(records.size() == 3);
        CHECK(records[2].core.key.source_port.value == 443);
        CHECK(reverse_of(records[2]).packets == 0);
    }
    SECTION("SYN") {
        harness.packet(answer_to(request(), biflow::kSyn), at_ms(3700));
        CHECK(harness.sink.records.size() == 2);
        CHECK(harness.sink.records[1].core.end_reason == kEnd);
        auto records = end_all(harness, at_ms(3700));
        CHECK(records[2].core.key.source_port.value == 443);
    }
}

TEST_CASE("tcp_end: a nearly full cache finds a deadline that a FIN has moved forward",
          "[flowcache][unit]") {
    FlowCacheOptions options = uniflows;
    options.max_flows = 4;
    CacheHarness<> harness(options);
    for (std::uint16_t port = 1; port <= 4; ++port) {
        PacketFields fields = request(biflow::kAck);
        fields.source_port = {port};
        harness.packet(fields, at_ms(1000));
    }
    PacketFields fields = request(biflow::kFinAck);
    fields.source_port = {3};
    harness.packet(fields, at_ms(1001));
    fields = request(biflow::kAck);
    fields.source_port = {5};
    harness.packet(fields, at_ms(3002));
    CHECK(reasons_of(harness) == Reasons{kEnd});
}

TEST_CASE("tcp_end: handles of a connection that is over go stale with the next one's SYN",
          "[flowcache][unit]") {
    BiflowHarness harness(biflows, biflow::kLayout);
    harness.packet(request(biflow::kSyn), at_ms(1000));
    const FlowHandle handle = harness.handle_of(request()).value();
    harness.packet(request(biflow::kRst), at_ms(1001));
    CHECK(harness.cache.is_running(handle));
    harness.packet(request(biflow::kSyn), at_ms(1002));
    CHECK_FALSE(harness.cache.is_running(handle));
    CHECK(end_all(harness, at_ms(1003)).size() == 2);
}
