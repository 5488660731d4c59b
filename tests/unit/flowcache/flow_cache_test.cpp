// SPDX-License-Identifier: Apache-2.0
#include "flowcache/flow_cache.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kSmall{.max_flows = 64, .idle_timeout = 10s, .active_timeout = 60s};

RecordTally sum_of(const std::vector<FlowRecord<80>>& records) {
    RecordTally sum;
    for (const auto& record : records) {
        sum += record.core.tally();
    }
    return sum;
}

}  // namespace

TEST_CASE("FlowCache: packets of one key become one record", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    PacketFields first = flow_packet(1, 40);
    first.ip_class_of_service = 0x20;
    PacketFields second = flow_packet(1, 1500);
    second.ip_class_of_service = 0x40;
    harness.packet(first, at_ms(5000));
    harness.packet(second, at_ms(7000));
    CHECK(harness.cache.end_all(at_ms(7000), harness.sink));

    REQUIRE(harness.sink.records.size() == 1);
    const FlowRecordCore& core = harness.sink.records[0].core;
    CHECK(core.packets == 2);
    CHECK(core.octets == 1540);
    CHECK(core.ip_class_of_service == 0x20);
    CHECK(core.start == at_ms(5000));
    CHECK(core.end == at_ms(7000));
    CHECK(core.end_reason == FlowEndReason::forced_end);
    CHECK(harness.counters.flows_created.read() == 1);
    CHECK(harness.counters.packets.read() == 2);
    CHECK(harness.counters.octets.read() == 1540);
    CHECK(harness.counters.entries.read() == 0);
}

TEST_CASE("FlowCache: each part of the key separates flows", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    std::vector<PacketFields> packets(7, flow_packet(1));
    packets[1].source[0] = std::byte{9};
    packets[2].destination[3] = std::byte{9};
    packets[3].source_port = L4Port{9};
    packets[4].destination_port = L4Port{9};
    packets[5].protocol = ip_protocol::kTcp;
    packets[6].outer_vlan = VlanId{9};
    for (const PacketFields& fields : packets) {
        harness.packet(fields, at_ms(1000));
    }
    CHECK(harness.counters.flows_created.read() == packets.size());
}

TEST_CASE("FlowCache: without the VLAN in the key tags do not separate flows",
          "[flowcache][unit]") {
    FlowCacheOptions options = kSmall;
    options.key.vlan = false;
    CacheHarness<> harness(options);
    PacketFields tagged = flow_packet(1);
    tagged.outer_vlan = VlanId{9};
    harness.packet(tagged, at_ms(1000));
    harness.packet(flow_packet(1), at_ms(1000));
    CHECK(harness.counters.flows_created.read() == 1);
}

TEST_CASE("FlowCache: a packet exactly at the idle deadline still belongs to the record",
          "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    harness.packet(flow_packet(1), at_ms(1000));
    harness.packet(flow_packet(1), at_ms(11000));
    CHECK(harness.sink.records.empty());
    harness.packet(flow_packet(1), at_ms(21000) + 1ns);
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.packets == 2);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::idle_timeout);
}

TEST_CASE("FlowCache: a long flow is cut by the active timeout", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    for (int second = 1; second <= 70; ++second) {
        harness.packet(flow_packet(1), at_ms(1000L * second));
    }
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.packets == 61);  // seconds 1 .. 61, the deadline included
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::active_timeout);
}

TEST_CASE("FlowCache: of two passed deadlines the earlier one is the reason", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    harness.packet(flow_packet(1), at_ms(1000));
    harness.packet(flow_packet(1), at_ms(500'000));  // idle at 11 s, active at 61 s
    CHECK(harness.sink.records.at(0).core.end_reason == FlowEndReason::idle_timeout);
}

TEST_CASE("FlowCache: deadlines are tested against the clock, not the packet's time",
          "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    harness.packet(flow_packet(1), at_ms(1000));
    harness.packet(flow_packet(1), at_ms(2000), at_ms(11001));  // late by nine seconds
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.packets == 1);
}

TEST_CASE("FlowCache: out-of-order packets widen the record both ways", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    harness.packet(flow_packet(1), at_ms(5000));
    harness.packet(flow_packet(1), at_ms(4000), at_ms(5000));
    CHECK(harness.cache.end_all(at_ms(5000), harness.sink));
    CHECK(harness.sink.records.at(0).core.start == at_ms(4000));
    CHECK(harness.sink.records.at(0).core.end == at_ms(5000));
}

TEST_CASE("FlowCache: idle flows leave when only the clock moves", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    harness.packet(flow_packet(1), at_ms(1000));
    harness.packet(flow_packet(2), at_ms(5000));
    harness.expire(at_ms(11000));
    CHECK(harness.sink.records.empty());
    harness.expire(at_ms(11600));
    CHECK(harness.sink.records.size() == 1);
    harness.expire(at_ms(100'000'000));
    CHECK(harness.sink.records.size() == 2);
    CHECK(harness.counters.entries.read() == 0);
}

TEST_CASE("FlowCache: expire_some visits no more entries than its budget", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    for (std::uint32_t flow = 0; flow < 50; ++flow) {
        harness.packet(flow_packet(flow), at_ms(1000));
    }
    std::size_t before = 0;
    for (int step = 0; step < 40; ++step) {
        harness.cache.expire_some(at_ms(20000), 5, harness.sink);
        CHECK(harness.sink.records.size() - before <= 5);
        before = harness.sink.records.size();
    }
    CHECK(before == 50);
}

TEST_CASE("FlowCache: a timeout of an hour is exact", "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 4, .idle_timeout = 3600s, .active_timeout = 7200s});
    harness.packet(flow_packet(1), at_ms(1000));
    for (int second = 2; second <= 3601; ++second) {
        harness.cache.expire_some(at_ms(1000L * second), 100, harness.sink);
    }
    CHECK(harness.sink.records.empty());
    harness.expire(at_ms(3'602'000));
    CHECK(harness.sink.records.size() == 1);
}

TEST_CASE(
    "FlowCache: max_flows flows fit, one more evicts the one with fewest packets, longest ago",
    "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 8, .idle_timeout = 10s, .active_timeout = 60s});
    for (std::uint32_t flow = 0; flow < 8; ++flow) {
        harness.packet(flow_packet(flow), at_ms(1000 + flow));
    }
    harness.packet(flow_packet(0), at_ms(2000));
    CHECK(harness.sink.records.empty());
    harness.packet(flow_packet(8), at_ms(2001));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.key.source == flow_packet(1).source);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::lack_of_resources);
    CHECK(harness.counters.entries.read() == 8);
}

TEST_CASE("FlowCache: a full cache ends due flows before it evicts", "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 8, .idle_timeout = 10s, .active_timeout = 60s});
    for (std::uint32_t flow = 0; flow < 7; ++flow) {
        harness.packet(flow_packet(flow), at_ms(1000));
    }
    harness.packet(flow_packet(7), at_ms(500));  // its end is earliest, but it is not due first
    harness.packet(flow_packet(7), at_ms(1000));
    harness.packet(flow_packet(6), at_ms(2000));
    // One nanosecond past the deadline of flows 0 .. 5 and 7: no tick of the due times has passed.
    harness.packet(flow_packet(9), at_ms(11000) + 1ns);
    REQUIRE_FALSE(harness.sink.records.empty());
    for (const auto& record : harness.sink.records) {
        CHECK(record.core.end_reason == FlowEndReason::idle_timeout);
    }
}

TEST_CASE("FlowCache: while the sink is full an ended record waits and takes no more packets",
          "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    harness.sink.room = 0;
    harness.packet(flow_packet(1), at_ms(1000));
    harness.packet(flow_packet(1), at_ms(20000));
    CHECK(harness.counters.flows_created.read() == 2);
    CHECK(harness.counters.entries.read() == 2);
    harness.sink.room = 10;
    harness.cache.expire_some(at_ms(20000), 10, harness.sink);
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.packets == 1);
    CHECK(harness.sink.records[0].core.end == at_ms(1000));
}

TEST_CASE("FlowCache: cache and sink full, the record that waited longest is lost and counted",
          "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 4, .idle_timeout = 10s, .active_timeout = 60s});
    harness.sink.room = 0;
    for (std::uint32_t flow = 0; flow < 100; ++flow) {
        harness.packet(flow_packet(flow, 10 + flow), at_ms(1000 + flow));
    }
    CHECK(harness.counters.lost_ring_full.read().records == 96);
    harness.sink.room = 100;
    CHECK(harness.cache.end_all(at_ms(2000), harness.sink));
    CHECK(harness.sink.records.size() == 4);
    RecordTally sum = sum_of(harness.sink.records);
    sum += harness.counters.lost_ring_full.read();
    CHECK(sum == RecordTally{harness.counters.flows_created.read(), harness.counters.packets.read(),
                             harness.counters.octets.read()});
}

TEST_CASE("FlowCache: end_all waits for a full sink and then goes on", "[flowcache][unit]") {
    CacheHarness<> harness(kSmall);
    for (std::uint32_t flow = 0; flow < 20; ++flow) {
        harness.packet(flow_packet(flow), at_ms(1000));
    }
    harness.sink.room = 5;
    CHECK_FALSE(harness.cache.end_all(at_ms(1000), harness.sink));
    harness.sink.room = 20;
    CHECK(harness.cache.end_all(at_ms(1000), harness.sink));
    CHECK(harness.sink.records.size() == 20);
}

TEST_CASE("FlowCache: groups hold the values of their elements", "[flowcache][unit]") {
    const RecordLayout layout =
        RecordLayout::of(groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup>());
    CacheHarness<152> harness(kSmall, layout);
    const std::array<std::byte, 12> macs{std::byte{1}, {}, {}, {}, {}, std::byte{2},
                                         std::byte{3}, {}, {}, {}, {}, std::byte{4}};
    PacketFields fields = flow_packet(1, 60);
    fields.protocol = ip_protocol::kTcp;
    fields.mac_addresses = macs.data();
    fields.outer_vlan = VlanId{5};
    fields.customer_vlan = VlanId{6};
    fields.vlan_tags = 2;
    fields.tcp_control_bits = tcp_flag::kSyn;
    harness.packet(fields, at_ms(1000), at_ms(1000), 82);
    fields.tcp_control_bits = tcp_flag::kAck | tcp_flag::kPsh;
    fields.ttl = 3;
    fields.ip_bytes = 1500;
    harness.packet(fields, at_ms(1001), at_ms(1001), 1522);
    CHECK(harness.cache.end_all(at_ms(1001), harness.sink));

    auto& record = harness.sink.records.at(0);
    const auto& extremes = record.group<ExtremesGroup>(layout.at<ExtremesGroup>());
    CHECK(extremes.minimum_ttl == 3);
    CHECK(extremes.maximum_ttl == 64);
    CHECK(extremes.minimum_ip_total_length == 60);
    CHECK(extremes.maximum_ip_total_length == 1500);
    const auto& layer2 = record.group<Layer2Group>(layout.at<Layer2Group>());
    CHECK(layer2.layer2_octets == 82 + 1522);
    CHECK(layer2.destination_mac[0] == std::byte{1});
    CHECK(layer2.source_mac[5] == std::byte{4});
    CHECK(layer2.dot1q_vlan == VlanId{5});
    CHECK(layer2.dot1q_customer_vlan == VlanId{6});
    CHECK(layer2.vlan_tags == 2);
    const auto& counts = record.group<TcpCountsGroup>(layout.at<TcpCountsGroup>());
    CHECK(counts.syn == 1);
    CHECK(counts.ack == 1);
    CHECK(counts.psh == 1);
    CHECK(counts.fin + counts.rst + counts.urg == 0);
    CHECK(record.core.tcp_control_bits == (tcp_flag::kSyn | tcp_flag::kAck | tcp_flag::kPsh));
}

TEST_CASE("FlowCache: a flood of new flows under a full cache keeps the ledger",
          "[flowcache][unit]") {
    std::mt19937 random(11);
    CacheHarness<> harness({.max_flows = 100, .idle_timeout = 2s, .active_timeout = 5s});
    Timestamp clock = at_ms(1'700'000'000'000);
    for (int n = 0; n < 20'000; ++n) {
        clock += std::chrono::microseconds(random() % 3000);
        harness.sink.room = harness.sink.records.size() + (random() % 3 == 0 ? 1 : 0);
        harness.packet(flow_packet(static_cast<std::uint32_t>(random())), clock);
    }
    harness.sink.room = std::numeric_limits<std::size_t>::max();
    CHECK(harness.cache.end_all(clock, harness.sink));
    RecordTally sum = sum_of(harness.sink.records);
    sum += harness.counters.lost_ring_full.read();
    CHECK(sum == RecordTally{harness.counters.flows_created.read(), harness.counters.packets.read(),
                             harness.counters.octets.read()});
    CHECK(harness.counters.lost_ring_full.read().records > 0);
    CHECK(harness.counters.entries.read() == 0);
}
