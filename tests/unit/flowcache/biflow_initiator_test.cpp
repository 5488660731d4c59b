// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using biflow::answer_to;
using biflow::BiflowHarness;
using biflow::end_all;
using biflow::kOptions;
using biflow::request;
using biflow::reverse_of;
using namespace std::chrono_literals;

TEST_CASE("FlowCache: a SYN shows the initiator of a biflow that began with an old packet",
          "[flowcache][unit]") {
    BiflowHarness harness(kOptions, biflow::kLayout);
    harness.packet(answer_to(request(), biflow::kAck), at_ms(1000));
    harness.packet(answer_to(request(), biflow::kAck), at_ms(1010));
    harness.packet(request(biflow::kSyn), at_ms(1020));
    harness.packet(answer_to(request(), biflow::kSynAck), at_ms(1030));
    harness.packet(request(biflow::kAck), at_ms(1040));
    auto records = end_all(harness, at_ms(1050));
    REQUIRE(records.size() == 1);
    const FlowRecordCore& core = records[0].core;
    const ReverseGroup& reverse = reverse_of(records[0]);
    CHECK(core.key.source_port.value == 40000);
    CHECK(core.key.destination_port.value == 443);
    CHECK(reverse.biflow_direction == BiflowDirection::initiator);
    CHECK(core.packets == 2);
    CHECK(core.octets == 200);
    CHECK(core.tcp_control_bits == (biflow::kSyn | biflow::kAck));
    CHECK(core.start == at_ms(1020));
    CHECK(core.end == at_ms(1040));
    CHECK(reverse.packets == 3);
    CHECK(reverse.octets == 3000);
    CHECK(reverse.tcp_control_bits == (biflow::kSyn | biflow::kAck));
    CHECK(reverse.start == at_ms(1000));
    CHECK(reverse.end == at_ms(1030));
}

TEST_CASE("FlowCache: only SYN without ACK corrects the initiator, and only an arbitrary one",
          "[flowcache][unit]") {
    BiflowHarness harness(kOptions, biflow::kLayout);
    SECTION("SYN and ACK does not") {
        harness.packet(request(biflow::kAck), at_ms(1000));
        harness.packet(request(biflow::kSynAck), at_ms(1001));
        auto records = end_all(harness, at_ms(1001));
        CHECK(records.at(0).core.key.source_port.value == 40000);
        CHECK(reverse_of(records[0]).biflow_direction == BiflowDirection::arbitrary);
    }
    SECTION("the source's own SYN confirms it") {
        harness.packet(request(biflow::kAck), at_ms(1000));
        harness.packet(request(biflow::kSyn), at_ms(1001));
        harness.packet(answer_to(request(), biflow::kSyn),
                       at_ms(1002));  // both connect: the first is the initiator
        auto records = end_all(harness, at_ms(1002));
        CHECK(records.at(0).core.key.source_port.value == 40000);
        CHECK(records[0].core.packets == 2);
        CHECK(reverse_of(records[0]).biflow_direction == BiflowDirection::initiator);
    }
    SECTION("a confirmed initiator stays") {
        harness.packet(answer_to(request(), biflow::kSynAck), at_ms(1000));
        harness.packet(answer_to(request(), biflow::kSyn), at_ms(1001));
        CHECK(end_all(harness, at_ms(1001)).at(0).core.key.source_port.value == 40000);
    }
}

TEST_CASE("FlowCache: directions that have changed places keep their FINs", "[flowcache][unit]") {
    FlowCacheOptions options = kOptions;
    options.tcp_end = true;
    BiflowHarness harness(options, biflow::kLayout);
    harness.packet(answer_to(request(), biflow::kFinAck), at_ms(1000));
    harness.packet(request(biflow::kSyn), at_ms(1001));
    harness.packet(answer_to(request(), biflow::kFinAck), at_ms(1002));
    harness.expire(at_ms(4000));
    CHECK(harness.sink.records.empty());
    harness.packet(request(biflow::kFinAck), at_ms(4001));
    harness.expire(at_ms(7000));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(harness.sink.records[0].core.end_reason == FlowEndReason::end_of_flow);
    CHECK(harness.sink.records[0].core.packets == 2);
}

TEST_CASE("FlowCache: handles keep their direction after the directions changed places",
          "[flowcache][unit]") {
    BiflowHarness harness(kOptions, biflow::kLayout);
    harness.packet(answer_to(request(), biflow::kAck), at_ms(1000));
    const FlowHandle there = harness.handle_of(request()).value();
    const FlowHandle back = harness.handle_of(answer_to(request())).value();
    harness.packet(request(biflow::kSyn), at_ms(1001));
    CHECK(harness.handle_of(request()) == there);
    CHECK(harness.cache.add(there, {10, 1}, {at_ms(1002), at_ms(1003)}, harness.sink));
    CHECK(harness.cache.add(back, {20, 1}, {at_ms(1004), at_ms(1005)}, harness.sink));
    auto records = end_all(harness, at_ms(1005));
    CHECK(records.at(0).core.packets == 11);
    CHECK(records[0].core.end == at_ms(1003));
    CHECK(reverse_of(records[0]).packets == 21);
    CHECK(reverse_of(records[0]).end == at_ms(1005));
}

namespace {

using AllGroups = FlowRecord<584>;
constexpr RecordLayout kAll =
    RecordLayout::of(kEveryGroup - groups_of<PacketDumpGroup>(), FlowDirection::biflow);

/// Packets in which every value of a group differs from packet to packet and from one
/// direction to the other; in tunnels, over IPv4 and IPv6. SYN alone comes from port 40000 only.
class RandomPackets {
public:
    explicit RandomPackets(std::uint32_t seed) : random_(seed) {
        for (std::size_t i = 0; i < octets_.size(); ++i) {
            octets_[i] = static_cast<std::byte>(i + 1);
        }
    }

    PacketFields next() {
        const auto flow = static_cast<std::uint32_t>(random_() % 8);
        const bool is_back = random_() % 2 == 0;
        PacketFields fields = request(is_back ? flags_back() : flags_there());
        fields.ip_version = flow % 2 == 0 ? 4 : 6;
        fields.source = fields.ip_version == 4 ? ip_address(flow < 4 ? "192.0.2.9" : "203.0.113.9")
                                               : ip_address(flow < 4 ? "2001:db8::1" : "fd00::1");
        fields.destination =
            fields.ip_version == 4 ? ip_address("198.51.100.2") : ip_address("2001:db8:1::1");
        fields.outer_vlan = {static_cast<std::uint16_t>(flow + 1)};
        fields.vlan_tags = 2;
        if (is_back) {
            fields = answer_to(fields, fields.tcp_control_bits);
        }
        vary(fields, is_back, flow);
        return fields;
    }
    std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

private:
    std::uint16_t flags_there() {
        return random_() % 12 == 0   ? biflow::kSyn
               : random_() % 20 == 0 ? biflow::kFinAck
                                     : biflow::kAck;
    }
    std::uint16_t flags_back() {
        return random_() % 30 == 0   ? biflow::kSynAck
               : random_() % 20 == 0 ? biflow::kFinAck
               : random_() % 60 == 0 ? tcp_flag::kRst
                                     : biflow::kAck;
    }
    /// Outer addresses are of the flow, swapped on the way back, as those of a key must be.
    void vary(PacketFields& fields, bool is_back, std::uint32_t flow) {
        fields.tunnel = {.addresses = is_back ? outer_back_.data() : outer_there_.data(),
                         .id = flow,
                         .kind = TunnelKind::vxlan,
                         .ip_version = 4};
        fields.customer_vlan = {static_cast<std::uint16_t>(random_() % 4000)};
        fields.mac_addresses = octets_.data() + random_() % 32;
        fields.mpls_stack = octets_.data() + random_() % 16;
        fields.mpls_labels = static_cast<std::uint8_t>(random_() % 5);
        fields.flow_label = static_cast<std::uint32_t>(random_() % 1000);
        fields.ttl = static_cast<std::uint8_t>(random_() % 200);
        fields.ip_class_of_service = static_cast<std::uint8_t>(random_() % 256);
        fields.fragment_flags = static_cast<std::uint8_t>(random_() % 8 << 5U);
        fields.ip_bytes = 100 + static_cast<std::uint32_t>(random_() % 1000);
        fields.has_tcp_segment = true;
        fields.tcp = {.sequence = static_cast<std::uint32_t>(random_() % 4000),
                      .acknowledgement = static_cast<std::uint32_t>(random_() % 4),
                      .payload_bytes = static_cast<std::uint32_t>(random_() % 200),
                      .window = static_cast<std::uint16_t>(random_() % 10)};
    }

    std::mt19937 random_;
    std::array<std::byte, 64> octets_{};
    std::array<std::byte, 8> outer_there_{std::byte{10}, {}, {}, std::byte{1},
                                          std::byte{10}, {}, {}, std::byte{2}};
    std::array<std::byte, 8> outer_back_{std::byte{10}, {}, {}, std::byte{2},
                                         std::byte{10}, {}, {}, std::byte{1}};
};

}  // namespace

TEST_CASE(
    "FlowCache: an initiator corrected by a SYN gives the record of one that was right at once",
    "[flowcache][unit]") {
    const auto seed = GENERATE(1U, 2U, 3U, 4U);
    FlowCacheOptions options = kOptions;
    options.idle_timeout = 3s;
    options.active_timeout = std::chrono::seconds(seed % 2 == 0 ? 4 : 40);
    options.tunnel = TunnelMode::inner;
    options.key.extension = seed < 3 ? KeyExtension::tunnel : KeyExtension::none;
    options.tcp_end = seed != 4;
    options.tcp_analysis = true;
    CacheHarness<584> guessing(options, kAll);
    options.initiator_by_port = true;  // right from the first packet on
    CacheHarness<584> knowing(options, kAll);
    RandomPackets packets(seed);
    Timestamp now = at_ms(1'700'000'000'000);
    for (int n = 0; n < 30'000; ++n) {
        now += std::chrono::milliseconds(packets.random() % 400);
        now += packets.random() % 100 == 0 ? 4s : 0s;
        const PacketFields fields = packets.next();
        const std::uint32_t wire_bytes = fields.ip_bytes + 18 + packets.random() % 4;
        guessing.packet(fields, now, now, wire_bytes);
        knowing.packet(fields, now, now, wire_bytes);
        if (seed > 1) {
            guessing.cache.expire_some(now, 100, guessing.sink);
            knowing.cache.expire_some(now, 100, knowing.sink);
        }
    }
    CHECK(guessing.cache.end_all(now, guessing.sink));
    CHECK(knowing.cache.end_all(now, knowing.sink));
    auto& guessed = guessing.sink.records;
    auto& known = knowing.sink.records;
    REQUIRE(guessed.size() == known.size());
    std::size_t guesses = 0;
    for (std::size_t i = 0; i < guessed.size(); ++i) {
        INFO("seed " << seed << ", record " << i);
        auto& reverse = guessed[i].group<ReverseGroup>(kAll.reverse_at);
        const bool is_guess = reverse.biflow_direction == BiflowDirection::arbitrary;
        if (is_guess && guessed[i].core.key.source_port.value == 443) {
            ++guesses;
            REQUIRE(reverse.packets == known[i].core.packets);
            REQUIRE(guessed[i].core.end_reason == known[i].core.end_reason);
            continue;
        }
        reverse.biflow_direction = BiflowDirection::initiator;
        REQUIRE(std::memcmp(&guessed[i], &known[i], sizeof(AllGroups)) == 0);
    }
    CHECK(guesses > 10);
    CHECK(guessed.size() > 2 * guesses);
}
