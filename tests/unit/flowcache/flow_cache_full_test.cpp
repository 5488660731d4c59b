// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "flowcache/cache_room.hpp"
#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

std::uint64_t ended(const CacheCounters& counters, FlowEndReason reason) {
    return counters.ended[static_cast<std::size_t>(reason)].read();
}
std::uint64_t evicted(const CacheCounters& counters) {
    return ended(counters, FlowEndReason::lack_of_resources);
}

/// A packet of each of the flows `from` .. `from + count - 1`.
void send(CacheHarness<>& harness, std::uint32_t from, std::uint32_t count, Timestamp time) {
    for (std::uint32_t flow = from; flow < from + count; ++flow) {
        harness.packet(flow_packet(flow), time);
    }
}

}  // namespace

TEST_CASE("FlowCache: long-lived flows outlive a flood of single packets",
          "[flowcache][unit][many]") {
    constexpr std::uint32_t kMaxFlows = 10'000;
    constexpr std::uint32_t kLongLived = 1000;
    constexpr std::uint32_t kFlood = 500'000;
    CacheHarness<> harness({.max_flows = kMaxFlows, .idle_timeout = 30s, .active_timeout = 300s});
    Timestamp clock = at_ms(1'700'000'000'000);
    // Those that were there before the flood lie side by side in the cache.
    constexpr std::uint32_t kBefore = 3;
    for (std::uint32_t n = 0; n < kBefore * kLongLived; ++n) {
        harness.packet(flow_packet(n % kLongLived), clock);
    }
    std::uint32_t next = 0;
    for (std::uint32_t n = 0; n < kFlood; ++n) {
        clock += 100us;  // 50 s in all
        harness.packet(flow_packet(1'000'000 + n), clock);
        if (n % 2 == 0) {  // each long-lived flow has five packets a second
            harness.packet(flow_packet(next % kLongLived), clock);
            ++next;
        }
        if (n % 64 == 0) {
            harness.cache.expire_some(clock, 128, harness.sink);
        }
    }
    CHECK(harness.counters.entries.read() <= kMaxFlows + kMaxFlows / 16);
    CHECK(evicted(harness.counters) > kFlood - 2 * kMaxFlows);
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.packets == 1);  // none of the long-lived ones so far
    }
    harness.sink.records.clear();
    CHECK(harness.cache.end_all(clock, harness.sink));
    const auto whole = std::ranges::count_if(harness.sink.records, [](const auto& record) {
        return record.core.packets == kBefore + kFlood / 2 / kLongLived;
    });
    CHECK(whole == kLongLived);
}

TEST_CASE("FlowCache: long-lived flows outlive a flood that goes on for many active timeouts",
          "[flowcache][unit][many]") {
    constexpr std::uint32_t kMaxFlows = 10'000;
    constexpr std::uint32_t kLongLived = 100;
    const FlowDirection direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    CacheHarness<144> harness(
        {.max_flows = kMaxFlows, .idle_timeout = 3s, .active_timeout = 5s, .direction = direction},
        RecordLayout::of({}, direction));
    Timestamp clock = at_ms(1'700'000'000'000);
    for (std::uint32_t n = 0; n < 2 * kLongLived; ++n) {
        harness.packet(flow_packet(n % kLongLived), clock);
    }
    for (std::uint32_t n = 0; n < 500'000; ++n) {
        clock += 100us;  // 50 s in all; the flood fills the cache anew every second
        harness.packet(flow_packet(1'000'000 + n), clock);
        if (n % 100 == 0) {  // each long-lived flow has one packet a second
            harness.packet(flow_packet(n / 100 % kLongLived), clock);
        }
        if (n % 64 == 0) {
            harness.cache.expire_some(clock, 128, harness.sink);
        }
    }
    std::size_t cut = 0;
    for (const auto& record : harness.sink.records) {
        const bool is_long_lived = (record.core.key.source[2] | record.core.key.source[1] |
                                    record.core.key.destination[2]) == std::byte{0};
        if (is_long_lived) {
            CHECK(record.core.end_reason == FlowEndReason::active_timeout);
            ++cut;
        }
    }
    CHECK(cut == std::size_t{8} * kLongLived);
}

TEST_CASE("FlowCache: a large cache holds max_flows of ever new flows without evicting one",
          "[flowcache][unit][many]") {
    // 20 000 flows a second that live for one second each, and expiry that never comes by: only the
    // packets that need entries find what is due.
    constexpr std::uint32_t kPerSecond = 20'000;
    CacheHarness<> harness({.max_flows = kPerSecond + 1, .idle_timeout = 1s, .active_timeout = 9s});
    Timestamp clock = at_ms(1'700'000'000'000);
    for (std::uint32_t n = 0; n < 10 * kPerSecond; ++n) {
        clock += 50us;
        harness.packet(flow_packet(n), clock);
    }
    CHECK(evicted(harness.counters) == 0);
    CHECK(harness.cache.end_all(clock, harness.sink));
    CHECK(harness.sink.records.size() == std::size_t{10} * kPerSecond);
}

TEST_CASE("FlowCache: entries between records leave room for due flows that are not found yet",
          "[flowcache][unit]") {
    constexpr std::uint32_t kMaxFlows = 20'000;
    constexpr std::uint32_t kHalf = kMaxFlows / 2;
    constexpr std::uint32_t kCut = kMaxFlows / 32;
    CacheHarness<> harness({.max_flows = kMaxFlows, .idle_timeout = 25s, .active_timeout = 30s});
    send(harness, 0, kCut, at_ms(0));
    send(harness, 0, kCut, at_ms(15'000));
    send(harness, 100'000, kHalf, at_ms(26'000));
    send(harness, 200'000, kHalf, at_ms(26'100));
    send(harness, 0, kCut, at_ms(29'000));
    harness.expire(at_ms(31'000));
    send(harness, 100'000, kHalf, at_ms(40'000));
    harness.expire(at_ms(51'100));
    CHECK(harness.counters.entries.read() ==
          kMaxFlows + kCut);  // and so many entries between records
    CHECK(harness.sink.records.size() == kCut);
    // The later half of the flows is idle now; those that are tested first are not.
    send(harness, 300'000, kHalf, at_ms(51'101));
    CHECK(evicted(harness.counters) == 0);
    CHECK(ended(harness.counters, FlowEndReason::idle_timeout) > kHalf / 2);
    CHECK(harness.cache.end_all(at_ms(51'101), harness.sink));
    CHECK(harness.sink.records.size() == kCut + 3 * kHalf);
}

TEST_CASE("FlowCache: an evicted flow that is due leaves as idle", "[flowcache][unit]") {
    constexpr std::uint32_t kMaxFlows = 20'000;
    constexpr std::uint32_t kHalf = kMaxFlows / 2;
    const FlowCacheOptions options{
        .max_flows = kMaxFlows, .idle_timeout = 100s, .active_timeout = 300s};
    const auto entries = static_cast<std::uint32_t>(entries_for(options));
    CacheHarness<> harness(options);
    send(harness, 0, entries, at_ms(0));
    send(harness, 0, kHalf, at_ms(50'000));
    send(harness, entries, 1, at_ms(101'000));  // too few entries are tested to find one
    CHECK(evicted(harness.counters) == 0);
    CHECK(ended(harness.counters, FlowEndReason::idle_timeout) == 1);
}

TEST_CASE("FlowCache: while the sink is full, entries between records are lost before records",
          "[flowcache][unit]") {
    const FlowCacheOptions options{
        .max_flows = GENERATE(1000U, 20'000U), .idle_timeout = 100s, .active_timeout = 10s};
    const auto entries = static_cast<std::uint32_t>(entries_for(options));
    const std::uint32_t cut = options.max_flows / 40;
    CacheHarness<> harness(options);
    send(harness, 0, cut, at_ms(0));
    harness.expire(at_ms(11'000));
    CHECK(harness.sink.records.size() == cut);  // their entries are between records now
    harness.sink.room = cut;
    send(harness, 100'000, entries - cut, at_ms(11'000));
    send(harness, 200'000, cut, at_ms(11'000));
    CHECK(harness.counters.lost_ring_full.read().records == 0);
    send(harness, 300'000, 1, at_ms(11'000));
    CHECK(harness.counters.lost_ring_full.read().records == 1);
}

TEST_CASE("FlowCache: an entry between records makes room wherever it lies", "[flowcache][unit]") {
    constexpr std::uint32_t kMaxFlows = 20'000;
    constexpr std::uint32_t kCut = kMaxFlows / 8;
    const FlowCacheOptions options{
        .max_flows = kMaxFlows, .idle_timeout = 100s, .active_timeout = 10s};
    CacheHarness<> harness(options);
    send(harness, 0, kMaxFlows / 2, at_ms(600));
    send(harness, 100'000, kCut, at_ms(600));  // side by side, behind more than a small cache has
    send(harness, 0, kMaxFlows / 2, at_ms(10'700));
    harness.expire(at_ms(13'000));
    const auto free = static_cast<std::uint32_t>(entries_for(options) - kMaxFlows / 2 - kCut);
    send(harness, 200'000, free, at_ms(13'000));
    send(harness, 300'000, 1000, at_ms(13'001));
    CHECK(evicted(harness.counters) == 0);
    CHECK(harness.cache.end_all(at_ms(13'001), harness.sink));
    CHECK(harness.sink.records.size() == 2 * (kMaxFlows / 2) + kCut + free + 1000);
}

TEST_CASE("FlowCache: many flows of one second leave spread over half a second",
          "[flowcache][unit][many]") {
    constexpr std::uint32_t kFlows = 100'000;
    CacheHarness<> harness({.max_flows = 200'000, .idle_timeout = 10s, .active_timeout = 60s});
    const Timestamp start = at_ms(1'700'000'000'000);
    for (std::uint32_t n = 0; n < kFlows; ++n) {
        harness.packet(flow_packet(n), start);
    }
    std::size_t most = 0;
    std::size_t before = 0;
    for (Timestamp now = start; now < start + 11s; now += 10us) {
        harness.cache.expire_some(now, 128, harness.sink);
        most = std::max(most, harness.sink.records.size() - before);
        before = harness.sink.records.size();
        if (now == start + 10s) {
            CHECK(before == 0);
        }
        if (now == start + 10s + 300ms) {
            CHECK(before > kFlows / 4);
            CHECK(before < kFlows * 3 / 4);
        }
    }
    CHECK(before == kFlows);
    CHECK(most <= 64);
}

TEST_CASE("FlowCache: flows go on across the years, and past the end of the ticks",
          "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 8,
                            .idle_timeout = std::chrono::seconds(std::int64_t{1} << 31),
                            .active_timeout = std::chrono::seconds(std::int64_t{1} << 31)});
    Timestamp clock = kFirstTimestamp;
    harness.packet(flow_packet(1), clock);
    while (clock < kLastTimestamp - 24h * 300) {
        clock += 24h * 300;
        harness.packet(flow_packet(1), clock);
        harness.packet(flow_packet(2), clock);
        harness.expire(clock);
    }
    // 2^32 s are two active timeouts of 2^31 s.
    CHECK(harness.cache.end_all(clock, harness.sink));
    CHECK(harness.sink.records.size() == 4);
    std::uint64_t packets = 0;
    for (const auto& record : harness.sink.records) {
        packets += record.core.packets;
    }
    CHECK(packets == harness.counters.packets.read());
}

TEST_CASE("FlowCache: a silent flow ends on time where ticks are counted anew in between",
          "[flowcache][unit]") {
    constexpr auto kYear = 365 * 24h;
    // Ticks are counted anew after four years, and would run out after nine.
    const auto sends_for = kYear * GENERATE(2, 8);
    CacheHarness<> harness({.max_flows = 8,
                            .idle_timeout = 3 * kYear,
                            .active_timeout = std::chrono::seconds(std::int64_t{1} << 31)});
    const Timestamp start = at_ms(1'700'000'000'000);
    Timestamp end{};
    for (Timestamp clock = start; clock < start + 13 * kYear; clock += 10 * 24h) {
        if (clock <= start + sends_for) {
            harness.packet(flow_packet(1), clock);
            end = clock;
        }
        harness.packet(flow_packet(2), clock);
        harness.expire(clock);
        REQUIRE(harness.sink.records.size() == (clock > end + 3 * kYear ? 1 : 0));
    }
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.end == end);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::idle_timeout);
}

TEST_CASE("FlowCache: a group of buckets that is full ends one flow for each new one",
          "[flowcache][unit]") {
    constexpr std::size_t kGroup = FlowIndex::kSlots * FlowIndex::kGroupBuckets;
    constexpr std::size_t kFlows = 400;
    CacheHarness<> harness({.max_flows = 2000, .idle_timeout = 30s, .active_timeout = 300s});
    harness.sink.room = GENERATE(std::size_t{20}, std::numeric_limits<std::size_t>::max());
    const PacketView view{.ingress_interface = InterfaceIndex{1}};
    const auto is_of_first_group = [&](const PacketFields& fields) {
        harness.burst.clear();
        harness.burst.add(view, fields);
        return harness.burst.finish().front().home.bucket < FlowIndex::kGroupBuckets;
    };
    std::size_t sent = 0;
    for (std::uint32_t flow = 0; sent < kFlows; ++flow) {  // no one outside could find them
        if (is_of_first_group(flow_packet(flow))) {
            harness.packet(flow_packet(flow), at_ms(1000));
            ++sent;
        }
    }
    CHECK(evicted(harness.counters) == kFlows - kGroup);
    harness.sink.room = std::numeric_limits<std::size_t>::max();
    while (!harness.cache.end_all(at_ms(1000), harness.sink)) {
    }
    CHECK(harness.sink.records.size() == kFlows);
    CHECK(harness.counters.packets.read() == kFlows);
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.packets == 1);
    }
}

TEST_CASE("FlowCache: an IPv6 record that waits for the sink keeps its addresses",
          "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 8, .idle_timeout = 100s, .active_timeout = 10s});
    PacketFields fields = flow_packet(1);
    fields.ip_version = 6;
    for (std::size_t n = 0; n < fields.source.size(); ++n) {
        fields.source[n] = static_cast<std::byte>(n + 1);
        fields.destination[n] = static_cast<std::byte>(n + 101);
    }
    harness.sink.room = 0;
    harness.packet(fields, at_ms(0));
    harness.expire(at_ms(11'000));  // the record waits in an entry of its own, and the flow goes on
    harness.packet(fields, at_ms(11'000));
    CHECK(harness.counters.entries.read() == 2);
    harness.sink.room = 2;
    harness.expire(at_ms(11'000));
    CHECK(harness.cache.end_all(at_ms(11'000), harness.sink));
    REQUIRE(harness.sink.records.size() == 2);
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.key.source == fields.source);
        CHECK(record.core.key.destination == fields.destination);
    }
}

TEST_CASE("FlowCache: however small it is, each entry is one flow's", "[flowcache][unit]") {
    // Some hold fewer entries than a hurried walk would pass at once.
    const std::uint32_t max_flows = GENERATE(1U, 2U, 15U, 16U, 17U, 20U, 33U, 48U, 63U, 64U, 65U);
    const FlowDirection direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    CacheHarness<144> harness(
        {.max_flows = max_flows, .idle_timeout = 2s, .active_timeout = 3s, .direction = direction},
        RecordLayout::of({}, direction));
    std::mt19937 random(max_flows);
    Timestamp clock = at_ms(1'700'000'000'000);
    constexpr std::uint64_t kPackets = 20'000;
    for (std::uint64_t n = 0; n < kPackets; ++n) {
        clock += std::chrono::milliseconds(random() % 100);
        harness.packet(
            flow_packet(static_cast<std::uint32_t>(random() % (std::uint64_t{2} * max_flows))),
            clock);
        if (n % 4 == 0) {
            harness.cache.expire_some(clock, 8, harness.sink);
        }
        REQUIRE(harness.counters.entries.read() <= max_flows);
    }
    CHECK(harness.cache.end_all(clock, harness.sink));
    CHECK(harness.counters.entries.read() == 0);
    CHECK(harness.counters.flows_created.read() == harness.sink.records.size());
    std::uint64_t packets = 0;
    for (const auto& record : harness.sink.records) {
        packets += record.core.packets;
    }
    CHECK(packets == kPackets);
}
