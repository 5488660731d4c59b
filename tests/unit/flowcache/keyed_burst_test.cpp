// SPDX-License-Identifier: Apache-2.0
#include "flowcache/keyed_burst.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <ostream>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/other_direction.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowCacheOptions kBurstOptions{
    .max_flows = 256, .idle_timeout = 10s, .active_timeout = 60s};

/// A packet of the flow number `flow`, and every other flow an IPv6 one; those differ in addresses
/// alone.
PacketFields mixed_packet(std::uint32_t flow) {
    PacketFields fields = flow_packet(flow);
    fields.ip_version = flow % 2 == 0 ? 4 : 6;
    return fields;
}
PacketFields tcp_packet(std::uint32_t flow, std::uint16_t flags) {
    PacketFields fields = mixed_packet(flow);
    fields.protocol = ip_protocol::kTcp;
    fields.tcp_control_bits = flags;
    return fields;
}
/// Connections begin and end now and then.
std::uint16_t random_flags(std::mt19937& random) {
    const auto chosen = random() % 5;
    return chosen == 0 ? tcp_flag::kRst : chosen == 1 ? tcp_flag::kSyn : tcp_flag::kAck;
}

/// Packets with their views, as a burst borrows them.
struct Packets {
    explicit Packets(std::vector<PacketFields> of) : fields(std::move(of)), views(fields.size()) {
        for (PacketView& view : views) {
            view = {.ingress_interface = {1}, .seen_at = at_ms(1000), .clock = at_ms(1000)};
        }
    }
    void add_to(KeyedBurst& burst) const {
        for (std::size_t i = 0; i < fields.size(); ++i) {
            burst.add(views[i], fields[i]);
        }
    }
    std::vector<PacketFields> fields;
    std::vector<PacketView> views;
};

/// Flow, packets and reason of each record, in the order of their ends.
struct Line {
    std::uint32_t flow;
    std::uint64_t packets;
    FlowEndReason reason;
    friend bool operator==(const Line&, const Line&) = default;
};
std::ostream& operator<<(std::ostream& out, const Line& line) {
    return out << line.flow << ": " << line.packets << " packets, reason "
               << static_cast<int>(line.reason);
}
template <class Harness>
std::vector<Line> lines_of(Harness& harness, Timestamp now) {
    CHECK(harness.cache.end_all(now, harness.sink));
    std::vector<Line> lines;
    lines.reserve(harness.sink.records.size());
    for (const auto& record : harness.sink.records) {
        lines.push_back({std::to_integer<std::uint32_t>(record.core.key.source[0]),
                         record.core.packets, record.core.end_reason});
    }
    return lines;
}

constexpr FlowEndReason kForced = FlowEndReason::forced_end;
constexpr FlowEndReason kTcpEnd = FlowEndReason::end_of_flow;
constexpr FlowEndReason kEvicted = FlowEndReason::lack_of_resources;

}  // namespace

TEST_CASE("KeyedBurst: packets come out in their order, with keys, homes and candidates",
          "[flowcache][unit]") {
    const std::size_t count =
        GENERATE(0U, 1U, 2U, 7U, 8U, 9U, 39U, 40U, 41U, 47U, 48U, 49U, 55U, 56U, 57U, 63U, 64U);
    const FlowDirection direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    FlowCacheOptions options = kBurstOptions;
    options.direction = direction;
    CacheHarness<144> harness(options, RecordLayout::of({}, direction));
    const KeyMatcher identity(FlowHasher(7), {}, options.key);  // the harness's
    std::vector<FlowIndex::Bucket> buckets(FlowIndex::buckets_for(entries_for(options)));
    const FlowIndex index(buckets);  // as large as the harness's
    std::vector<PacketFields> fields;
    for (std::uint32_t flow = 0; flow < count; ++flow) {
        fields.push_back(mixed_packet(flow));
        if (flow % 3 != 1) {  // the cache has two of three, the first one too
            harness.packet(fields.back(), at_ms(1000));
        }
    }
    const Packets packets(fields);
    harness.burst.clear();
    packets.add_to(harness.burst);
    const std::span<const KeyedPacket> keyed = harness.burst.finish();
    REQUIRE(keyed.size() == count);
    // Packets of biflows touch a group, which then lies behind each HotEntry. Packet 0 has entry 0.
    const std::ptrdiff_t lines_per_entry = direction == FlowDirection::biflow ? 2 : 1;
    for (std::size_t i = 0; i < count; ++i) {
        INFO("packet " << i);
        KeyedPacket expected;
        expected.packet = &packets.views[i];
        expected.fields = &packets.fields[i];
        key_packet(expected, direction, KeyMasks(options.key));
        CHECK(keyed[i].packet == &packets.views[i]);
        CHECK(keyed[i].fields == &packets.fields[i]);
        CHECK(keyed[i].key == expected.key);
        CHECK(keyed[i].is_swapped == expected.is_swapped);
        CHECK(keyed[i].home == index.home(identity.hash(expected)));
        const auto handle = harness.cache.handle_of(keyed[i]);
        CHECK(handle.has_value() == (i % 3 != 1));
        REQUIRE((keyed[i].entry != nullptr) == handle.has_value());
        CHECK((!handle || keyed[i].entry - keyed[0].entry == lines_per_entry * handle->entry));
    }
}

TEST_CASE("KeyedBurst: after clear() nothing is left of the packets before", "[flowcache][unit]") {
    CacheHarness<> harness(kBurstOptions);
    std::vector<PacketFields> known;
    for (std::uint32_t flow = 0; flow < kBurstPackets; ++flow) {
        known.push_back(mixed_packet(flow));
        harness.packet(known.back(), at_ms(1000));
    }
    const Packets many(known);
    const Packets few({mixed_packet(1000), mixed_packet(3)});
    for (int round = 0; round < 3; ++round) {
        harness.burst.clear();
        many.add_to(harness.burst);
        if (round != 1) {  // one of the bursts is never read
            CHECK(harness.burst.finish().size() == kBurstPackets);
        }
        harness.burst.clear();
        CHECK(harness.burst.finish().empty());
        few.add_to(harness.burst);
        const std::span<const KeyedPacket> keyed = harness.burst.finish();
        REQUIRE(keyed.size() == 2);
        CHECK(keyed[0].fields == few.fields.data());
        CHECK(keyed[0].entry == nullptr);
        REQUIRE(keyed[1].entry != nullptr);
        CHECK(keyed[1].entry->key == keyed[1].key);
    }
}

TEST_CASE("FlowCache: packets of one flow in one burst are one record", "[flowcache][unit]") {
    const std::size_t count = GENERATE(2U, 24U, 25U, 26U, 64U);
    const bool is_known = GENERATE(false, true);
    CacheHarness<> harness(kBurstOptions);
    if (is_known) {
        harness.packet(mixed_packet(1), at_ms(1000));
    }
    std::vector<TimedPacket> packets;
    for (std::size_t n = 0; n < count; ++n) {
        packets.push_back({mixed_packet(1), at_ms(1000), at_ms(1000)});
    }
    harness.packets(packets);
    CHECK(harness.counters.packets.read() == count + (is_known ? 1 : 0));
    CHECK(harness.counters.octets.read() == 100 * harness.counters.packets.read());
    CHECK(lines_of(harness, at_ms(1000)) ==
          std::vector<Line>{{1, harness.counters.packets.read(), kForced}});
}

TEST_CASE("FlowCache: a packet whose flow was evicted within its burst opens another record",
          "[flowcache][unit]") {
    CacheHarness<> harness(
        {.max_flows = 1, .idle_timeout = 10s, .active_timeout = 60s, .tcp_end = true});
    harness.packet(mixed_packet(1), at_ms(1000));
    // Both have entry 0 as candidate, which flow 3 has when the second comes, and flow 1 again at
    // the third; of flows 1 and 3 only the addresses differ.
    harness.packets(std::array<TimedPacket, 4>{{{mixed_packet(3), at_ms(2000), at_ms(2000)},
                                                {mixed_packet(1), at_ms(2001), at_ms(2001)},
                                                {mixed_packet(1), at_ms(2002), at_ms(2002)},
                                                {mixed_packet(2), at_ms(2003), at_ms(2003)}}});
    CHECK(lines_of(harness, at_ms(3000)) ==
          std::vector<Line>{{1, 1, kEvicted}, {3, 1, kEvicted}, {1, 2, kEvicted}, {2, 1, kForced}});
}

TEST_CASE("FlowCache: packets behind a RST and a SYN of their own burst are another record's",
          "[flowcache][unit]") {
    constexpr std::uint16_t kRst = tcp_flag::kRst;
    constexpr std::uint16_t kSyn = tcp_flag::kSyn;
    constexpr std::uint16_t kAck = tcp_flag::kAck;
    const std::uint32_t max_flows = GENERATE(1U, 2U, 4U);
    CacheHarness<> harness(
        {.max_flows = max_flows, .idle_timeout = 10s, .active_timeout = 60s, .tcp_end = true});
    harness.packet(tcp_packet(1, kAck), at_ms(1000));
    const Timestamp now = at_ms(2000);
    SECTION("the entry is that of a new record when they come") {
        harness.packets(std::array<TimedPacket, 4>{{{tcp_packet(1, kRst), now, now},
                                                    {tcp_packet(1, kAck), now, now},
                                                    {tcp_packet(1, kSyn), now, now},
                                                    {tcp_packet(1, kAck), now, now}}});
        CHECK(lines_of(harness, now) == std::vector<Line>{{1, 3, kTcpEnd}, {1, 2, kForced}});
    }
    SECTION("each ends the record before") {
        constexpr std::uint16_t kBoth = kSyn | kRst;
        harness.packets(std::array<TimedPacket, 3>{{{tcp_packet(1, kBoth), now, now},
                                                    {tcp_packet(1, kBoth), now, now},
                                                    {tcp_packet(1, kBoth), now, now}}});
        CHECK(lines_of(harness, now) ==
              std::vector<Line>{{1, 2, kTcpEnd}, {1, 1, kTcpEnd}, {1, 1, kForced}});
    }
}

TEST_CASE("FlowCache: a timeout that passes within a burst ends the candidate's record",
          "[flowcache][unit]") {
    CacheHarness<> harness({.max_flows = 2, .idle_timeout = 10s, .active_timeout = 60s});
    harness.packet(mixed_packet(1), at_ms(1000));
    harness.packets(std::array<TimedPacket, 4>{{{mixed_packet(1), at_ms(11'000), at_ms(11'000)},
                                                {mixed_packet(1), at_ms(21'001), at_ms(21'001)},
                                                {mixed_packet(3), at_ms(31'002), at_ms(31'002)},
                                                {mixed_packet(1), at_ms(31'002), at_ms(31'002)}}});
    CHECK(harness.counters.flows_created.read() == 4);
    constexpr FlowEndReason kIdle = FlowEndReason::idle_timeout;
    CHECK(lines_of(harness, at_ms(31'002)) ==
          std::vector<Line>{{1, 2, kIdle}, {1, 1, kIdle}, {1, 1, kForced}, {3, 1, kForced}});
}

namespace {

/// Takes records, and compares what all of them hold with the cache's counters of that moment.
struct WatchingSink {
    const CacheCounters& counters;
    std::uint64_t packets = 0;
    std::uint64_t octets = 0;
    std::size_t too_early = 0;  ///< records with packets or octets that were not counted

    bool try_push(const FlowRecord<sizeof(FlowRecordCore)>& record) noexcept {
        packets += record.core.packets;
        octets += record.core.octets;
        const bool is_counted =
            packets <= counters.packets.read() && octets <= counters.octets.read();
        too_early += is_counted ? 0 : 1;
        return true;
    }
};

}  // namespace

TEST_CASE("FlowCache: packets are counted before a record takes them along, each once",
          "[flowcache][unit]") {
    const bool tcp_end = GENERATE(false, true);
    CacheHarness<> harness({.max_flows = 3, .idle_timeout = 1s, .tcp_end = tcp_end});
    WatchingSink sink{harness.counters};
    std::mt19937 random(5);
    std::uint64_t packets = 0;
    std::uint64_t octets = 0;
    Timestamp clock = at_ms(1000);
    for (int burst = 0; burst < 200; ++burst) {
        std::vector<PacketFields> fields;
        const std::size_t count = 1 + random() % kBurstPackets;
        for (std::uint32_t n = 0; n < count; ++n) {
            const auto flow = static_cast<std::uint32_t>(random() % 5);
            fields.push_back(tcp_packet(flow, random_flags(random)));
            fields.back().ip_bytes = 40 + n;
            octets += fields.back().ip_bytes;
        }
        Packets made(fields);
        for (PacketView& view : made.views) {
            clock += std::chrono::milliseconds(random() % 100);
            view.seen_at = view.clock = clock;
        }
        harness.burst.clear();
        made.add_to(harness.burst);
        harness.cache.account(harness.burst.finish(), sink);
        packets += fields.size();
        CHECK(harness.counters.packets.read() == packets);
        CHECK(harness.counters.octets.read() == octets);
    }
    CHECK(harness.cache.end_all(clock, sink));
    CHECK(sink.too_early == 0);
    CHECK(sink.packets == packets);
    CHECK(sink.octets == octets);
}

TEST_CASE("FlowCache: in tiny caches bursts give the records of single packets, in their order",
          "[flowcache][unit]") {
    const std::uint32_t max_flows = GENERATE(1U, 2U, 3U, 4U);
    const FlowDirection direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    const FlowCacheOptions options{.max_flows = max_flows,
                                   .idle_timeout = 2s,
                                   .active_timeout = 3s,
                                   .direction = direction,
                                   .tcp_end = true,
                                   .tcp_end_timeout = 1s};
    const RecordLayout layout = RecordLayout::of({}, direction);
    CacheHarness<144> singly(options, layout);
    CacheHarness<144> in_bursts(options, layout);
    std::mt19937 random(max_flows);
    std::vector<TimedPacket> packets;
    Timestamp clock = at_ms(1'700'000'000'000);
    for (int n = 0; n < 20'000; ++n) {
        clock += std::chrono::milliseconds(random() % 50);
        const auto flow = static_cast<std::uint32_t>(random() % (std::uint64_t{2} * max_flows + 1));
        PacketFields fields = tcp_packet(flow, random_flags(random));
        if (random() % 2 == 0) {
            fields = other_direction(fields);
        }
        packets.push_back({fields, clock - std::chrono::milliseconds(random() % 100), clock});
    }
    for (const TimedPacket& packet : packets) {
        singly.packet(packet.fields, packet.time, packet.clock);
    }
    in_bursts.packets_in_bursts(packets, kBurstPackets, random, [](Timestamp) {});
    CHECK(singly.cache.end_all(clock, singly.sink));
    CHECK(in_bursts.cache.end_all(clock, in_bursts.sink));
    REQUIRE(in_bursts.sink.records.size() == singly.sink.records.size());
    CHECK(in_bursts.counters.packets.read() == packets.size());
    CHECK(in_bursts.counters.flows_created.read() == in_bursts.sink.records.size());
    for (const FlowEndReason reason : {kTcpEnd, kEvicted}) {
        CHECK(in_bursts.counters.ended[static_cast<std::size_t>(reason)].read() > 100);
    }
    using Record = FlowRecord<144>;
    static_assert(std::has_unique_object_representations_v<Record>);
    for (std::size_t i = 0; i < singly.sink.records.size(); ++i) {
        REQUIRE(std::memcmp(&in_bursts.sink.records[i], &singly.sink.records[i], sizeof(Record)) ==
                0);
    }
}
