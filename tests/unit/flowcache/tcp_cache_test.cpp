// SPDX-License-Identifier: Apache-2.0
// TCP analysis inside the cache: records that leave at once, wait, are cut, or are copied.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "flowcache/cache_scan.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/other_direction.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kUniflows{
    .max_flows = 64, .idle_timeout = 10s, .active_timeout = 60s, .tcp_analysis = true};
constexpr RecordLayout kTcpLayout = RecordLayout::of(groups_of<TcpAnalysisGroup>());
using TcpHarness = CacheHarness<144>;

constexpr FlowCacheOptions kBiflows{.max_flows = 64,
                                    .idle_timeout = 10s,
                                    .active_timeout = 60s,
                                    .direction = FlowDirection::biflow,
                                    .tcp_analysis = true};
constexpr RecordLayout kBiflowLayout =
    RecordLayout::of(groups_of<TcpAnalysisGroup>(), FlowDirection::biflow);
using TcpBiflowHarness = CacheHarness<272>;

/// The segment of a flow that begins at this sequence number.
PacketFields segment(std::uint32_t sequence, std::uint32_t payload,
                     std::uint16_t flags = tcp_flag::kAck) {
    static std::uint16_t identification = 0;
    PacketFields fields = biflow::request(flags);
    fields.ip_bytes = 40 + payload;
    fields.has_tcp_segment = true;
    fields.tcp = {.sequence = sequence,
                  .acknowledgement = 1,
                  .payload_bytes = payload,
                  .window = 500,
                  .copy_id = ++identification};
    return fields;
}

template <class Record>
TcpAnalysisGroup& tcp_of(Record& record, const RecordLayout& layout = kTcpLayout) {
    return record.template group<TcpAnalysisGroup>(layout.at<TcpAnalysisGroup>());
}

}  // namespace

TEST_CASE("TCP in the cache: a record has the analysis of its segments", "[flowcache][unit]") {
    TcpHarness harness(kUniflows, kTcpLayout);
    harness.packet(segment(1000, 0, tcp_flag::kSyn), at_ms(0));
    harness.packet(segment(1001, 100), at_ms(1));
    const PacketFields copied = segment(1101, 100);
    harness.packet(copied, at_ms(2));
    harness.packet(copied, at_ms(2));
    harness.packet(segment(1001, 150), at_ms(3));
    harness.packet(segment(1201, 50, tcp_flag::kFin | tcp_flag::kAck), at_ms(9));
    auto records = biflow::end_all(harness, at_ms(10));
    REQUIRE(records.size() == 1);
    const TcpAnalysisGroup& tcp = tcp_of(records[0]);
    CHECK(tcp.segments == 6);
    CHECK(tcp.data_segments == 5);
    CHECK(tcp.retransmissions == 1);
    CHECK(tcp.retransmitted_octets == 150);
    CHECK(tcp.duplicates == 1);
    CHECK(tcp.out_of_order == 0);
    CHECK(tcp.sequence == 1000);
    CHECK(tcp.window == 500);
    CHECK(tcp.flow_size == 250);
    CHECK(tcp.duration == 9'000'000);
    CHECK(harness.counters.tcp_segments_unread.read() == 0);
    CHECK(harness.counters.tcp_segments_unjudged.read() == 0);
}

TEST_CASE("TCP in the cache: other protocols have zeros, and a header that is missing is counted",
          "[flowcache][unit]") {
    TcpHarness harness(kUniflows, kTcpLayout);
    harness.packet(flow_packet(1), at_ms(0));
    PacketFields cut = segment(1, 100);
    cut.has_tcp_segment = false;
    harness.packet(cut, at_ms(1));
    PacketFields fragment = cut;
    fragment.is_later_fragment = true;
    harness.packet(fragment, at_ms(2));
    PacketFields claimed = flow_packet(1);  // as a unified header may claim
    claimed.has_tcp_segment = true;
    claimed.tcp = {.sequence = 1, .payload_bytes = 100};
    harness.packet(claimed, at_ms(3));
    harness.packet(claimed, at_ms(3));
    auto records = biflow::end_all(harness, at_ms(4));
    REQUIRE(records.size() == 2);
    for (auto& record : records) {
        CHECK(tcp_of(record).segments == 0);
        CHECK_FALSE(tcp_of(record).has_size());
    }
    CHECK(harness.counters.tcp_segments_unread.read() == 1);
}

TEST_CASE("TCP in the cache: disturbed flows in one burst stay apart", "[flowcache][unit]") {
    constexpr std::uint32_t kFlows = 4;
    TcpHarness harness(kUniflows, kTcpLayout);
    const auto packet = [](std::uint32_t flow, std::uint32_t sequence) {
        PacketFields fields = segment(sequence, 100);
        fields.source_port = {static_cast<std::uint16_t>(1000 + flow)};
        return TimedPacket{fields, at_ms(0), at_ms(0)};
    };
    std::vector<TimedPacket> packets;
    for (std::uint32_t n = 0; n < kBurstPackets; ++n) {  // flow f retransmits f times in each burst
        const std::uint32_t flow = n % kFlows;
        const std::uint32_t turn = n / kFlows;
        packets.push_back(packet(flow, turn < flow ? 0 : 100 * (turn - flow)));
    }
    for (int burst = 0; burst < 3; ++burst) {  // at first nothing is known of them
        harness.packets(packets);
    }
    auto records = biflow::end_all(harness, at_ms(1));
    REQUIRE(records.size() == kFlows);
    for (auto& record : records) {
        const std::uint32_t flow = record.core.key.source_port.value - 1000U;
        INFO("flow " << flow);
        CHECK(tcp_of(record).segments == 3 * kBurstPackets / kFlows);
        CHECK(tcp_of(record).retransmissions == flow + 2 * kBurstPackets / kFlows);
        CHECK(tcp_of(record).duplicates == 0);
    }
}

TEST_CASE("TCP in the cache: a record goes on where the one before it was cut",
          "[flowcache][unit]") {
    TcpHarness harness(kUniflows, kTcpLayout);
    for (int second = 0; second < 60; second += 5) {
        harness.packet(segment(1000 + 100 * static_cast<std::uint32_t>(second), 500),
                       Timestamp{std::chrono::seconds{second}});
    }
    harness.packet(segment(1000, 500), Timestamp{59s});
    harness.packet(segment(7000, 500), Timestamp{61s});  // ends the first, begins the second
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(tcp_of(harness.sink.records[0]).segments == 13);
    CHECK(tcp_of(harness.sink.records[0]).retransmissions == 1);
    harness.packet(segment(1500, 500), Timestamp{62s});  // of the first record
    auto records = biflow::end_all(harness, Timestamp{63s});
    REQUIRE(records.size() == 2);
    CHECK(tcp_of(records[1]).segments == 2);
    CHECK(tcp_of(records[1]).sequence == 7000);
    CHECK(tcp_of(records[1]).retransmissions == 1);
    CHECK(tcp_of(records[1]).out_of_order == 0);
}

TEST_CASE("TCP in the cache: records that wait keep what they had", "[flowcache][unit]") {
    TcpHarness harness(kUniflows, kTcpLayout);
    harness.sink.room = 0;
    harness.packet(segment(1000, 100), at_ms(0));
    harness.packet(segment(1000, 100), at_ms(1));
    harness.expire(Timestamp{20s});  // it waits, and another flow has its TcpLossState
    PacketFields other = segment(5000, 100);
    other.source_port = {1};
    harness.packet(other, Timestamp{21s});
    other.tcp.copy_id = 0;
    other.tcp.sequence = 5050;
    harness.packet(other, Timestamp{21s});
    harness.packet(other, Timestamp{22s});
    harness.sink.room = 100;
    auto records = biflow::end_all(harness, Timestamp{23s});
    REQUIRE(records.size() == 2);
    CHECK(tcp_of(records[0]).retransmitted_octets == 100);
    CHECK(tcp_of(records[0]).duplicates == 0);
    CHECK(tcp_of(records[1]).retransmitted_octets == 50);
    CHECK(tcp_of(records[1]).duplicates == 1);
}

TEST_CASE("TCP in the cache: a waiting record is not changed by its flow going on",
          "[flowcache][unit]") {
    TcpHarness harness(kUniflows, kTcpLayout);
    harness.sink.room = 0;
    for (int second = 0; second < 70; second += 5) {
        harness.packet(segment(1000, 100), Timestamp{std::chrono::seconds{second}});
    }
    harness.sink.room = 100;
    auto records = biflow::end_all(harness, Timestamp{71s});
    REQUIRE(records.size() == 2);
    CHECK(tcp_of(records[0]).segments == 13);
    CHECK(tcp_of(records[0]).retransmissions == 12);
    CHECK(tcp_of(records[1]).segments == 1);
    CHECK(tcp_of(records[1]).retransmissions == 1);
}

TEST_CASE("TCP in the cache: copying running flows' records changes nothing", "[flowcache][unit]") {
    TcpHarness harness(kUniflows, kTcpLayout);
    harness.packet(segment(1000, 100), at_ms(0));
    harness.packet(segment(1000, 100), at_ms(1));
    std::uint32_t seen = 0;
    CacheScan scan;
    CHECK(scan.copy_some(harness.cache, 100, [&seen](auto& record) {
        seen = tcp_of(record).retransmissions;
        return true;
    }));
    CHECK(seen == 1);
    harness.packet(segment(1050, 50), at_ms(2));
    auto records = biflow::end_all(harness, at_ms(3));
    CHECK(tcp_of(records[0]).retransmissions == 2);
}

TEST_CASE("TCP in the cache: after a long silence a flow forgets as configured",
          "[flowcache][unit]") {
    FlowCacheOptions options = kUniflows;
    options.tcp_duplicate_time = 100ms;
    options.tcp_retransmission_time = 5s;
    TcpHarness harness(options, kTcpLayout);
    const PacketFields again = segment(1000, 100);
    harness.packet(again, at_ms(0));
    harness.packet(again, at_ms(100));
    harness.packet(again, at_ms(201));
    harness.packet(again, at_ms(5202));
    auto records = biflow::end_all(harness, at_ms(5300));
    CHECK(tcp_of(records[0]).duplicates == 1);
    CHECK(tcp_of(records[0]).retransmissions == 1);
}

TEST_CASE("TCP in the cache: a biflow has both directions and the times of its handshake",
          "[flowcache][unit]") {
    TcpBiflowHarness harness(kBiflows, kBiflowLayout);
    const auto back = [](std::uint32_t sequence, std::uint32_t payload, std::uint16_t flags,
                         std::uint32_t acknowledgement) {
        PacketFields fields = other_direction(segment(sequence, payload, flags));
        fields.tcp.acknowledgement = acknowledgement;
        return fields;
    };
    harness.packet(segment(1000, 0, tcp_flag::kSyn), at_ms(0));
    harness.packet(back(5000, 0, tcp_flag::kSyn | tcp_flag::kAck, 1001), at_ms(30));
    PacketFields ack = segment(1001, 0);
    ack.tcp.acknowledgement = 5001;
    harness.packet(ack, at_ms(35));
    harness.packet(segment(1001, 100), at_ms(36));
    harness.packet(segment(1001, 100), at_ms(40));
    harness.packet(back(5001, 10, tcp_flag::kAck, 1101), at_ms(50));
    auto records = biflow::end_all(harness, at_ms(60));
    REQUIRE(records.size() == 1);
    const TcpAnalysisGroup& there = tcp_of(records[0], kBiflowLayout);
    const TcpAnalysisGroup& here = tcp_of(records[0], kBiflowLayout.reversed());
    CHECK(there.segments == 4);
    CHECK(there.retransmissions == 1);
    CHECK(there.handshake == 5'000'000);
    CHECK(here.segments == 2);
    CHECK(here.retransmissions == 0);
    CHECK(here.handshake == 30'000'000);
}

TEST_CASE("TCP in the cache: a biflow's next record goes on in both directions",
          "[flowcache][unit]") {
    TcpBiflowHarness harness(kBiflows, kBiflowLayout);
    PacketFields back = other_direction(segment(5000, 100));
    for (int second = 0; second <= 60; second += 5) {
        harness.packet(segment(1000 + 100 * static_cast<std::uint32_t>(second), 500),
                       Timestamp{std::chrono::seconds{second}});
    }
    harness.packet(back, Timestamp{60s});
    harness.packet(segment(1000, 100), Timestamp{61s});
    back.tcp.copy_id = 0;
    harness.packet(back, Timestamp{62s});
    auto records = biflow::end_all(harness, Timestamp{63s});
    REQUIRE(records.size() == 2);
    CHECK(tcp_of(records[0], kBiflowLayout).retransmissions == 0);
    CHECK(tcp_of(records[1], kBiflowLayout).retransmissions == 1);
    CHECK(tcp_of(records[1], kBiflowLayout.reversed()).retransmissions == 1);
}

TEST_CASE("TCP in the cache: silence goes on over the active timeout", "[flowcache][unit]") {
    const bool is_biflow = GENERATE(false, true);
    const bool is_longer = GENERATE(false, true);
    const RecordLayout layout = is_biflow ? kBiflowLayout : kTcpLayout;
    TcpBiflowHarness harness(is_biflow ? kBiflows : kUniflows, layout);
    PacketFields last;
    for (int second = 0; second <= 60; second += 6) {
        last = segment(1000 + 100 * static_cast<std::uint32_t>(second), 600);
        harness.packet(last, Timestamp{std::chrono::seconds{second}});
    }
    // The other direction cuts the biflow; of a uniflow the copy does.
    if (is_biflow) {
        harness.packet(other_direction(segment(9000, 10)), Timestamp{60'500ms});
    }
    harness.packet(last, Timestamp{is_longer ? 61'500ms : 60'900ms});
    auto records = biflow::end_all(harness, Timestamp{62s});
    REQUIRE(records.size() == 2);
    CHECK(tcp_of(records[1], layout).duplicates == (is_longer ? 0 : 1));
    CHECK(tcp_of(records[1], layout).retransmissions == (is_longer ? 1 : 0));
}

TEST_CASE("TCP in the cache: a packet that is not read does not hide a silence",
          "[flowcache][unit]") {
    const bool is_biflow = GENERATE(false, true);
    const bool is_fragment = GENERATE(false, true);
    const RecordLayout layout = is_biflow ? kBiflowLayout : kTcpLayout;
    TcpBiflowHarness harness(is_biflow ? kBiflows : kUniflows, layout);
    const PacketFields first = segment(1000, 100);
    harness.packet(first, Timestamp{0s});
    PacketFields unread = segment(0, 0);
    unread.has_tcp_segment = false;
    unread.is_later_fragment = is_fragment;
    harness.packet(unread, Timestamp{5s});
    harness.packet(first, Timestamp{5'100ms});
    auto records = biflow::end_all(harness, Timestamp{6s});
    REQUIRE(records.size() == 1);
    CHECK(tcp_of(records[0], layout).duplicates == 0);
    CHECK(tcp_of(records[0], layout).retransmissions == 1);
    CHECK(harness.counters.tcp_segments_unread.read() == (is_fragment ? 0 : 1));
}

TEST_CASE("TCP in the cache: a record without a segment reports nothing of the one before",
          "[flowcache][unit]") {
    TcpBiflowHarness harness(kBiflows, kBiflowLayout);
    harness.packet(segment(1000, 100), Timestamp{0s});
    for (int second = 0; second <= 65; second += 5) {
        PacketFields back = segment(9000 + static_cast<std::uint32_t>(second), 5);
        std::swap(back.source, back.destination);
        std::swap(back.source_port, back.destination_port);
        harness.packet(back, Timestamp{std::chrono::seconds{second}});
    }
    auto records = biflow::end_all(harness, Timestamp{66s});
    REQUIRE(records.size() == 2);
    CHECK(tcp_of(records[0], kBiflowLayout).sequence == 1000);
    CHECK(tcp_of(records[1], kBiflowLayout).segments == 0);
    CHECK(tcp_of(records[1], kBiflowLayout).sequence == 0);
    CHECK(tcp_of(records[1], kBiflowLayout).window == 0);
}

TEST_CASE("TCP in the cache: a disturbed flow's TcpLossState is free again, however the flow ends",
          "[flowcache][unit]") {
    // As many TcpLossStates as directions of flows: one that is not given back is missing soon.
    FlowCacheOptions options = kBiflows;
    options.max_flows = 32;
    options.active_timeout = 12s;
    options.tcp_end = GENERATE(false, true);
    TcpBiflowHarness harness(options, kBiflowLayout);
    Timestamp now{};
    std::uint16_t port = 0;
    // Something again, both ways.
    const auto loss_state = [&](std::uint16_t flags) {
        ++port;
        for (int time = 0; time < 2; ++time) {
            for (const bool is_back : {false, true}) {
                PacketFields fields = segment(1000, 100, time == 0 ? tcp_flag::kAck : flags);
                fields.source_port = {port};
                if (is_back) {
                    std::swap(fields.source, fields.destination);
                    std::swap(fields.source_port, fields.destination_port);
                }
                harness.packet(fields, now);
            }
        }
    };
    for (int round = 0; round < 20; ++round) {
        for (int flow = 0; flow < 100; ++flow) {  // for lack of resources
            loss_state(tcp_flag::kAck);
        }
        harness.sink.room = harness.sink.records.size() + 3;
        for (int flow = 0; flow < 100; ++flow) {  // records wait, and get lost
            loss_state(tcp_flag::kAck);
        }
        harness.sink.room = std::numeric_limits<std::size_t>::max();
        now += 11s;
        harness.expire(now);  // idle
        for (int flow = 0; flow < 20; ++flow) {
            loss_state(tcp_flag::kAck | tcp_flag::kFin);
        }
        for (int flow = 0; flow < 20; ++flow) {  // cut, one half while the sink is full; then idle
            loss_state(tcp_flag::kAck);
        }
        now += 7s;
        port = static_cast<std::uint16_t>(port - 20);
        for (int flow = 0; flow < 20; ++flow) {
            loss_state(tcp_flag::kAck);
        }
        harness.sink.room = harness.sink.records.size() + 10;
        harness.expire(now + 7s);
        harness.sink.room = std::numeric_limits<std::size_t>::max();
        now += 7s + 11s;
        harness.expire(now);
        PacketFields named = segment(1000, 100);
        named.source_port = {port};
        if (const auto handle = harness.handle_of(named)) {
            CHECK(harness.cache.end(*handle, FlowEndReason::end_of_flow, harness.sink));
        }
        now += 11s;
        harness.expire(now);
    }
    CHECK(harness.counters.lost_ring_full.read().records > 0);
    constexpr auto kActive = static_cast<std::size_t>(FlowEndReason::active_timeout);
    CHECK(harness.counters.ended[kActive].read() > 0);
    CHECK(harness.counters.tcp_segments_unjudged.read() == 0);
}
