// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>
#include <utility>

#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace tributary::test::biflow;

TEST_CASE("FlowCache: a biflow's record has both directions", "[flowcache][unit]") {
    BiflowHarness harness(kOptions, kLayout);
    PacketFields there = request(0x002);
    there.ip_class_of_service = 4;
    PacketFields back = answer_to(there, 0x012);
    back.ip_class_of_service = 8;
    harness.packet(there, at_ms(1000));
    harness.packet(back, at_ms(1020));
    harness.packet(back, at_ms(1010));
    harness.packet(there, at_ms(1500));
    harness.packet(back, at_ms(1700));

    auto records = end_all(harness, at_ms(1700));
    REQUIRE(records.size() == 1);
    const FlowRecordCore& core = records[0].core;
    CHECK(core.key.source == ip_address("192.0.2.1"));
    CHECK(core.key.destination == ip_address("198.51.100.2"));
    CHECK(core.key.source_port.value == 40000);
    CHECK(core.key.destination_port.value == 443);
    CHECK(core.packets == 2);
    CHECK(core.octets == 200);
    CHECK(core.tcp_control_bits == 0x002);
    CHECK(core.ip_class_of_service == 4);
    CHECK(core.start == at_ms(1000));
    CHECK(core.end == at_ms(1500));
    const ReverseGroup& reverse = reverse_of(records[0]);
    CHECK(reverse.packets == 3);
    CHECK(reverse.octets == 3000);
    CHECK(reverse.tcp_control_bits == 0x012);
    CHECK(reverse.ip_class_of_service == 8);
    CHECK(reverse.start == at_ms(1010));
    CHECK(reverse.end == at_ms(1700));
    CHECK(reverse.biflow_direction == BiflowDirection::initiator);
    CHECK(harness.counters.packets.read() == 5);
    CHECK(harness.counters.octets.read() == 3200);
}

TEST_CASE("FlowCache: the initiator is the source, whichever end sends first",
          "[flowcache][unit]") {
    struct Case {
        PacketFields first;
        bool by_port;
        bool is_swapped;  // against request()
        BiflowDirection direction;
    };
    const auto [first, by_port, is_swapped, direction] =
        GENERATE(Case{request(0x002), false, false, BiflowDirection::initiator},
                 Case{answer_to(request(), 0x012), false, false, BiflowDirection::initiator},
                 Case{request(), false, false, BiflowDirection::arbitrary},
                 Case{answer_to(request()), false, true, BiflowDirection::arbitrary},
                 Case{answer_to(request()), true, false, BiflowDirection::initiator});
    FlowCacheOptions options = kOptions;
    options.initiator_by_port = by_port;
    BiflowHarness harness(options, kLayout);
    harness.packet(first, at_ms(1000));
    harness.packet(request(), at_ms(1001));
    harness.packet(answer_to(request()), at_ms(1002));

    auto records = end_all(harness, at_ms(1002));
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.key.source_port.value == (is_swapped ? 443 : 40000));
    CHECK(records[0].core.key.source == ip_address(is_swapped ? "198.51.100.2" : "192.0.2.1"));
    CHECK(records[0].core.packets + reverse_of(records[0]).packets == 3);
    CHECK(reverse_of(records[0]).biflow_direction == direction);
}

TEST_CASE("FlowCache: a biflow of one direction, whose initiator is silent", "[flowcache][unit]") {
    BiflowHarness harness(kOptions, kLayout);
    harness.packet(answer_to(request(), 0x012), at_ms(1000));
    harness.packet(answer_to(request(), 0x010), at_ms(2000));
    auto records = end_all(harness, at_ms(2000));
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.key.source_port.value == 40000);
    CHECK(records[0].core.packets == 0);
    CHECK(records[0].core.tcp_control_bits == 0);
    CHECK(records[0].core.start == at_ms(1000));  // not 1970
    CHECK(records[0].core.end == at_ms(1000));
    CHECK(reverse_of(records[0]).packets == 2);
    CHECK(reverse_of(records[0]).end == at_ms(2000));
}

TEST_CASE("FlowCache: ICMP is never paired", "[flowcache][unit]") {
    BiflowHarness harness(kOptions, kLayout);
    for (const bool is_ipv6 : {false, true}) {
        PacketFields echo = request(0);
        echo.ip_version = is_ipv6 ? 6 : 4;
        echo.protocol = is_ipv6 ? ip_protocol::kIcmpV6 : ip_protocol::kIcmp;
        echo.source_port = {0};
        echo.destination_port = {0};  // echo reply has type and code 0: its own other direction
        harness.packet(echo, at_ms(1000));
        std::swap(echo.source, echo.destination);
        harness.packet(echo, at_ms(1000));
    }
    auto records = end_all(harness, at_ms(1000));
    REQUIRE(records.size() == 4);
    for (auto& record : records) {
        CHECK(record.core.packets == 1);
        CHECK(reverse_of(record).packets == 0);
    }
}

TEST_CASE("FlowCache: IPv6 biflows have the initiator's addresses", "[flowcache][unit]") {
    BiflowHarness harness(kOptions, kLayout);
    PacketFields there = request(0x002);
    there.ip_version = 6;
    const bool is_swapped = GENERATE(false, true);
    there.source = ip_address(is_swapped ? "2001:db8::2" : "2001:db8::1");
    there.destination = ip_address(is_swapped ? "2001:db8::1" : "2001:db8::2");
    harness.packet(there, at_ms(1000));
    harness.packet(answer_to(there), at_ms(1001));
    auto records = end_all(harness, at_ms(1001));
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.key.source == there.source);
    CHECK(records[0].core.key.destination == there.destination);
    CHECK(reverse_of(records[0]).packets == 1);
}

TEST_CASE("FlowCache: each direction has its own groups, which begin with its first packet",
          "[flowcache][unit]") {
    const RecordLayout layout =
        RecordLayout::of(groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup, FlowLabelGroup>(),
                         FlowDirection::biflow);
    CacheHarness<456> harness(kOptions, layout);
    PacketFields there = request(0x002);
    there.ttl = 64;
    there.outer_vlan = {5};
    there.vlan_tags = 1;
    there.flow_label = 7;
    PacketFields back = answer_to(there, 0x012);
    back.ttl = 55;
    back.flow_label = 9;
    harness.packet(there, at_ms(1000), at_ms(1000), 118);
    auto one_direction = end_all(harness, at_ms(1000));
    REQUIRE(one_direction.size() == 1);
    CHECK(one_direction[0].group<ExtremesGroup>(layout.back_at<ExtremesGroup>()).maximum_ttl == 0);
    CHECK(one_direction[0].group<Layer2Group>(layout.back_at<Layer2Group>()).vlan_tags == 0);

    CacheHarness<456> both(kOptions, layout);
    both.packet(there, at_ms(1000), at_ms(1000), 118);
    both.packet(back, at_ms(1001), at_ms(1001), 1018);
    both.packet(back, at_ms(1002), at_ms(1002), 1018);
    auto records = end_all(both, at_ms(1002));
    REQUIRE(records.size() == 1);
    auto& record = records[0];
    CHECK(record.group<ExtremesGroup>(layout.at<ExtremesGroup>()).maximum_ttl == 64);
    CHECK(record.group<ExtremesGroup>(layout.at<ExtremesGroup>()).minimum_ip_total_length == 100);
    CHECK(record.group<ExtremesGroup>(layout.back_at<ExtremesGroup>()).minimum_ttl == 55);
    CHECK(record.group<ExtremesGroup>(layout.back_at<ExtremesGroup>()).maximum_ip_total_length ==
          1000);
    CHECK(record.group<Layer2Group>(layout.at<Layer2Group>()).layer2_octets == 118);
    CHECK(record.group<Layer2Group>(layout.back_at<Layer2Group>()).layer2_octets == 2036);
    CHECK(record.group<Layer2Group>(layout.back_at<Layer2Group>()).dot1q_vlan.value == 5);
    CHECK(record.group<TcpCountsGroup>(layout.at<TcpCountsGroup>()).ack == 0);
    CHECK(record.group<TcpCountsGroup>(layout.back_at<TcpCountsGroup>()).ack == 2);
    CHECK(record.group<FlowLabelGroup>(layout.at<FlowLabelGroup>()).flow_label == 7);
    CHECK(record.group<FlowLabelGroup>(layout.back_at<FlowLabelGroup>()).flow_label == 9);
}

TEST_CASE("FlowCache: a biflow's deadlines are those of both directions", "[flowcache][unit]") {
    BiflowHarness harness(kOptions, kLayout);
    harness.packet(request(0x002), at_ms(1000));
    harness.packet(answer_to(request()), at_ms(9000));
    harness.packet(answer_to(request()), at_ms(18000));
    harness.packet(request(), at_ms(28000));  // exactly at the idle deadline
    harness.packet(request(), at_ms(38001));  // and just past it
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::idle_timeout);
    CHECK(harness.sink.records[0].core.packets == 2);
    CHECK(reverse_of(harness.sink.records[0]).packets == 2);
    CHECK(end_all(harness, at_ms(38001)).size() == 2);
}

TEST_CASE("FlowCache: tunnels in the key are paired like the flows in them", "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.tunnel = TunnelMode::inner;
    options.key.extension = KeyExtension::tunnel;
    const RecordLayout layout = RecordLayout::of(groups_of<TunnelGroup>(), FlowDirection::biflow);
    CacheHarness<280> harness(options, layout);
    const std::array<std::byte, 8> outer{std::byte{10}, {}, {}, std::byte{1},
                                         std::byte{10}, {}, {}, std::byte{2}};
    const std::array<std::byte, 8> outer_back{std::byte{10}, {}, {}, std::byte{2},
                                              std::byte{10}, {}, {}, std::byte{1}};
    const auto in_tunnel = [](PacketFields fields, const std::array<std::byte, 8>& addresses,
                              std::uint32_t id) {
        fields.tunnel = {
            .addresses = addresses.data(), .id = id, .kind = TunnelKind::vxlan, .ip_version = 4};
        return fields;
    };
    for (const std::uint32_t vni : {5U, 6U}) {
        harness.packet(in_tunnel(answer_to(request(), 0x012), outer_back, vni), at_ms(1000));
        harness.packet(in_tunnel(request(), outer, vni), at_ms(1001));
        harness.packet(in_tunnel(answer_to(request()), outer_back, vni), at_ms(1002));
    }
    auto records = end_all(harness, at_ms(1002));
    REQUIRE(records.size() == 2);
    for (auto& record : records) {
        CHECK(record.core.packets == 1);
        CHECK(reverse_of(record).packets == 2);
        const auto& tunnel = record.group<TunnelGroup>(layout.at<TunnelGroup>());
        CHECK(tunnel.source[3] == std::byte{1});
        CHECK(record.group<TunnelGroup>(layout.back_at<TunnelGroup>()) == swapped(tunnel, true));
    }
}

TEST_CASE("FlowCache: eviction counts the packets of both directions", "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.max_flows = 2;
    BiflowHarness harness(options, kLayout);
    harness.packet(answer_to(request(), 0x012), at_ms(1000));
    harness.packet(answer_to(request()), at_ms(1000));
    PacketFields other = request();
    for (const std::uint16_t port : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}}) {
        other.source_port = {port};
        harness.packet(other, at_ms(1001));
    }
    REQUIRE(harness.sink.records.size() == 2);
    for (auto& record : harness.sink.records) {
        CHECK(record.core.end_reason == FlowEndReason::lack_of_resources);
        CHECK(record.core.packets == 1);
    }
}

TEST_CASE("FlowCache: a lost biflow counts both directions", "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.max_flows = 1;
    BiflowHarness harness(options, kLayout);
    harness.sink.room = 0;
    harness.packet(request(0x002), at_ms(1000));
    harness.packet(answer_to(request()), at_ms(1001));
    PacketFields other = request();
    other.source_port = {1};
    harness.packet(other, at_ms(1002));
    CHECK(harness.counters.lost_ring_full.read().records == 1);
    CHECK(harness.counters.lost_ring_full.read().packets == 2);
    CHECK(harness.counters.lost_ring_full.read().octets == 1100);
}

TEST_CASE("FlowCache: counts from outside are of the handle's direction", "[flowcache][unit]") {
    BiflowHarness harness(kOptions, kLayout);
    const auto handle_of = [&harness](const PacketFields& fields) {
        return harness.handle_of(fields).value();
    };
    harness.packet(request(0x002), at_ms(1000));
    CHECK_FALSE(harness.cache.add(handle_of(answer_to(request())), {1, 1}, {at_ms(1), at_ms(1)},
                                  harness.sink));
    harness.packet(answer_to(request()), at_ms(1001));
    CHECK(harness.cache.add(handle_of(request()), {2, 200}, {at_ms(1002), at_ms(1003)},
                            harness.sink));
    CHECK(harness.cache.add(handle_of(answer_to(request())), {3, 3000}, {at_ms(1004), at_ms(9000)},
                            harness.sink));
    harness.expire(at_ms(18'900));
    auto records = end_all(harness, at_ms(18'900));
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.packets == 3);
    CHECK(records[0].core.end == at_ms(1003));
    CHECK(reverse_of(records[0]).packets == 4);
    CHECK(reverse_of(records[0]).octets == 4000);
    CHECK(reverse_of(records[0]).end == at_ms(9000));
}
