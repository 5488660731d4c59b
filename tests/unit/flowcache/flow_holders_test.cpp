// SPDX-License-Identifier: Apache-2.0
#include "flowcache/flow_holders.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <vector>

#include "flowcache/cache_scan.hpp"
#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/held_flows.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr FlowEndReason kIdle = FlowEndReason::idle_timeout;
constexpr FlowEndReason kActive = FlowEndReason::active_timeout;
constexpr FlowEndReason kEnd = FlowEndReason::end_of_flow;
constexpr FlowEndReason kForced = FlowEndReason::forced_end;
constexpr FlowEndReason kEvicted = FlowEndReason::lack_of_resources;

constexpr FlowCacheOptions kHolderOptions{
    .max_flows = 8, .idle_timeout = 10s, .active_timeout = 60s, .flow_holders = true};

enum class Kind : std::uint8_t { record, flow };
struct Notice {
    Kind kind;
    FlowHandle flow;
    FlowEndReason reason;
    friend bool operator==(const Notice&, const Notice&) = default;
};
std::ostream& operator<<(std::ostream& out, const Notice& notice) {
    return out << (notice.kind == Kind::record ? "record of " : "flow ") << notice.flow.entry << "/"
               << notice.flow.generation << ", reason " << static_cast<int>(notice.reason);
}

/// Keeps its notices, and does in them what a test tells it.
class Listener final : public FlowHolder {
public:
    void record_ended(FlowHandle flow, FlowEndReason reason,
                      std::span<const std::byte> record) noexcept override {
        notices.push_back({Kind::record, flow, reason});
        records.emplace_back(record.begin(), record.end());
        if (on_record) {
            on_record(flow);
        }
    }
    void flow_ended(FlowHandle flow, FlowEndReason reason) noexcept override {
        notices.push_back({Kind::flow, flow, reason});
        if (on_flow) {
            on_flow(flow);
        }
    }

    std::vector<Notice> notices;
    std::vector<std::vector<std::byte>> records;
    std::function<void(FlowHandle)> on_record;
    std::function<void(FlowHandle)> on_flow;
};

/// A listener in a cache.
template <class Harness>
struct Added {
    explicit Added(Harness& harness) : id(harness.cache.add_holder(*listener).value()) {}

    std::unique_ptr<Listener> listener = std::make_unique<Listener>();
    HolderId id;
};

template <class Record>
bool is_record(const std::vector<std::byte>& bytes, const Record& record) {
    return bytes.size() == sizeof record && std::memcmp(bytes.data(), &record, sizeof record) == 0;
}

PacketFields tcp_packet(std::uint32_t flow, std::uint16_t flags) {
    PacketFields fields = flow_packet(flow);
    fields.protocol = ip_protocol::kTcp;
    fields.tcp_control_bits = flags;
    return fields;
}

/// Accounts a packet of the flow, and holds that by each of the holders.
template <class Harness, class... Holders>
FlowHandle begin(Harness& harness, const PacketFields& fields, Timestamp time,
                 const Holders&... holders) {
    harness.packet(fields, time);
    const FlowHandle flow = harness.handle_of(fields).value();
    const bool are_held = (harness.cache.hold(flow, holders.id) && ...);
    CHECK(are_held);
    return {flow.entry, flow.generation};
}

std::vector<Notice> whole_end(FlowHandle flow, FlowEndReason reason) {
    return {{Kind::record, flow, reason}, {Kind::flow, flow, reason}};
}

}  // namespace

TEST_CASE(
    "FlowHolder: each holder is told of the record's end and then of the flow's, for any reason",
    "[flowcache][unit]") {
    FlowCacheOptions options = kHolderOptions;
    options.tcp_end = true;
    options.max_flows = 2;
    CacheHarness<> harness(options);
    const Added first(harness);
    const Added second(harness);
    const Added idler(harness);  // holds nothing
    const FlowHandle flow =
        begin(harness, tcp_packet(1, tcp_flag::kAck), at_ms(1000), first, second);
    FlowEndReason reason = kIdle;
    SECTION("idle, found by the walk") { harness.expire(at_ms(11'600)); }
    SECTION("idle, found by the flow's next packet") {
        harness.packet(tcp_packet(1, tcp_flag::kAck), at_ms(11'001));
    }
    SECTION("the end of the connection, by a timeout of its own") {
        reason = kEnd;
        harness.packet(tcp_packet(1, tcp_flag::kRst), at_ms(1001));
        harness.expire(at_ms(3600));
    }
    SECTION("the end of the connection, by the next one") {
        reason = kEnd;
        harness.packet(tcp_packet(1, tcp_flag::kRst), at_ms(1001));
        harness.packet(tcp_packet(1, tcp_flag::kSyn), at_ms(1002));
    }
    SECTION("forced, at shutdown") {
        reason = kForced;
        CHECK(harness.cache.end_all(at_ms(1001), harness.sink));
    }
    SECTION("forced, by a scan that ends flows") {
        reason = kForced;
        CacheScan scan;
        CHECK(scan.end_some(harness.cache, 10, at_ms(1001), harness.sink));
    }
    SECTION("forced, by a clock that has gone back, at its next packet") {
        reason = kForced;
        harness.cache.expire_some(at_ms(1001), 10, harness.sink);
        harness.packet(tcp_packet(1, tcp_flag::kAck), at_ms(500));
    }
    SECTION("forced, by a clock that has gone back, without a packet") {
        reason = kForced;
        harness.cache.expire_some(at_ms(1001), 10, harness.sink);
        harness.expire(at_ms(500));
    }
    SECTION("from outside") {
        reason = kEnd;
        CHECK(harness.cache.end(flow, kEnd, harness.sink));
    }
    SECTION("evicted") {
        reason = kEvicted;
        harness.packet(tcp_packet(2, tcp_flag::kAck), at_ms(1001));
        harness.packet(tcp_packet(2, tcp_flag::kAck), at_ms(1001));
        harness.packet(tcp_packet(3, tcp_flag::kAck), at_ms(1002));
    }
    CHECK(first.listener->notices == whole_end(flow, reason));
    CHECK(second.listener->notices == whole_end(flow, reason));
    CHECK(idler.listener->notices.empty());
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(is_record(first.listener->records[0], harness.sink.records[0]));
    CHECK(is_record(second.listener->records[0], harness.sink.records[0]));
    CHECK_FALSE(harness.cache.is_running(flow));
    CHECK_FALSE(harness.cache.hold(flow, first.id));
    CHECK_FALSE(harness.cache.is_held_by(flow, first.id));
    // What has the entry next is nobody's.
    CHECK(harness.cache.end_all(at_ms(20'000), harness.sink));
    CHECK(first.listener->notices.size() == 2);
}

TEST_CASE("FlowHolder: after the active timeout the flow goes on, and its holders with it",
          "[flowcache][unit]") {
    FlowCacheOptions options = kHolderOptions;
    options.active_timeout = 15s;
    CacheHarness<> harness(options);
    const Added holder(harness);
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0), holder);
    harness.packet(flow_packet(1), at_ms(9000));
    harness.expire(at_ms(15'600));
    CHECK(holder.listener->notices == std::vector<Notice>{{Kind::record, flow, kActive}});
    CHECK(harness.cache.is_running(flow));
    CHECK(harness.cache.is_held_by(flow, holder.id));
    SECTION("to another record, which ends the flow") {
        harness.packet(flow_packet(1), at_ms(17'000));
        harness.expire(at_ms(28'000));
        CHECK(holder.listener->notices == std::vector<Notice>{{Kind::record, flow, kActive},
                                                              {Kind::record, flow, kIdle},
                                                              {Kind::flow, flow, kIdle}});
    }
    SECTION("to its end between two records") {
        harness.expire(at_ms(20'000));
        CHECK(holder.listener->notices ==
              std::vector<Notice>{{Kind::record, flow, kActive}, {Kind::flow, flow, kIdle}});
    }
    SECTION("to its end by force, between two records") {
        CHECK(harness.cache.end_all(at_ms(16'000), harness.sink));
        CHECK(holder.listener->notices ==
              std::vector<Notice>{{Kind::record, flow, kActive}, {Kind::flow, flow, kForced}});
    }
    CHECK(harness.counters.entries.read() == 0);
    CHECK(harness.sink.records.size() == holder.listener->records.size());
}

TEST_CASE("FlowHolder: a record that waits is told when it ends, once, with what leaves later",
          "[flowcache][unit]") {
    FlowCacheOptions options = kHolderOptions;
    options.active_timeout = 15s;
    CacheHarness<> harness(options);
    const Added holder(harness);
    harness.sink.room = 0;
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0), holder);
    harness.packet(flow_packet(1), at_ms(9000));
    harness.expire(at_ms(15'600));  // cut, and set apart
    CHECK(holder.listener->notices == std::vector<Notice>{{Kind::record, flow, kActive}});
    harness.packet(flow_packet(1), at_ms(16'000));
    harness.expire(at_ms(27'000));  // idle: its record waits in its own entry
    const std::vector<Notice> all{
        {Kind::record, flow, kActive}, {Kind::record, flow, kIdle}, {Kind::flow, flow, kIdle}};
    CHECK(holder.listener->notices == all);
    CHECK(harness.counters.entries.read() == 2);
    harness.sink.room = 2;
    harness.expire(at_ms(27'001));
    CHECK(harness.counters.entries.read() == 0);
    CHECK(holder.listener->notices == all);
    REQUIRE(harness.sink.records.size() == 2);
    CHECK(is_record(holder.listener->records[0], harness.sink.records[0]));
    CHECK(is_record(holder.listener->records[1], harness.sink.records[1]));
}

TEST_CASE(
    "FlowHolder: with a full sink and a full cache flows end as well, and waiting records are "
    "lost in silence",
    "[flowcache][unit]") {
    FlowCacheOptions options = kHolderOptions;
    options.max_flows = 1;
    options.active_timeout = 5s;
    CacheHarness<> harness(options);
    const Added holder(harness);
    harness.sink.room = 0;
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0), holder);
    harness.expire(at_ms(6000));  // no room to go on in
    CHECK(holder.listener->notices == whole_end(flow, kActive));
    const FlowHandle next = begin(harness, flow_packet(2), at_ms(7000), holder);
    CHECK(next.entry == flow.entry);
    CHECK(next.generation != flow.generation);
    CHECK(harness.counters.lost_ring_full.read().records == 1);
    CHECK(holder.listener->notices.size() == 2);
    harness.sink.room = 10;
    CHECK(harness.cache.end_all(at_ms(7000), harness.sink));
    REQUIRE(harness.sink.records.size() == 1);
    CHECK(is_record(holder.listener->records[1], harness.sink.records[0]));
}

TEST_CASE("FlowHolder: a record with groups is told as it is exported, also when it waits",
          "[flowcache][unit]") {
    constexpr RecordLayout kLayout =
        RecordLayout::of(groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup, TcpAnalysisGroup>(),
                         FlowDirection::biflow);
    FlowCacheOptions options = biflow::kOptions;
    options.tcp_analysis = true;
    options.flow_holders = true;
    options.active_timeout = 5s;
    CacheHarness<456> harness(options, kLayout);
    const Added holder(harness);
    harness.sink.room = GENERATE(std::size_t{0}, std::size_t{10});
    const FlowHandle flow = begin(harness, biflow::request(tcp_flag::kSyn), at_ms(1000), holder);
    harness.packet(biflow::answer_to(biflow::request()), at_ms(1001));
    harness.expire(at_ms(7000));
    harness.packet(biflow::request(), at_ms(7001));
    CHECK(harness.cache.end(flow, kEnd, harness.sink));
    harness.sink.room = 10;
    harness.expire(at_ms(7002));
    REQUIRE(harness.sink.records.size() == 2);
    REQUIRE(holder.listener->records.size() == 2);
    CHECK(is_record(holder.listener->records[0], harness.sink.records[0]));
    CHECK(is_record(holder.listener->records[1], harness.sink.records[1]));
}

TEST_CASE("FlowHolder: a holder that lets go gets no notice, and others get theirs",
          "[flowcache][unit]") {
    CacheHarness<> harness(kHolderOptions);
    const Added first(harness);
    const Added second(harness);
    const Added third(harness);
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0), first, second, third);
    std::vector<Notice> of_second = whole_end(flow, kForced);
    SECTION("before the end") {
        harness.cache.let_go(flow, second.id);
        harness.cache.let_go(flow, second.id);
        of_second.clear();
    }
    SECTION("in its own notice of the record") {
        second.listener->on_record = [&](FlowHandle told) {
            harness.cache.let_go(told, second.id);
        };
        of_second.pop_back();
    }
    SECTION("in its own notice of the flow") {
        second.listener->on_flow = [&](FlowHandle told) { harness.cache.let_go(told, second.id); };
    }
    SECTION("in a notice of one before it") {
        first.listener->on_record = [&](FlowHandle told) { harness.cache.let_go(told, second.id); };
        of_second.clear();
    }
    SECTION("in a notice of one behind it") {
        third.listener->on_record = [&](FlowHandle told) { harness.cache.let_go(told, second.id); };
        of_second.pop_back();
    }
    SECTION("by its removal in a notice") {
        first.listener->on_record = [&](FlowHandle) { harness.cache.remove_holder(second.id); };
        of_second.clear();
    }
    CHECK(harness.cache.end_all(at_ms(1), harness.sink));
    CHECK(first.listener->notices == whole_end(flow, kForced));
    CHECK(second.listener->notices == of_second);
    CHECK(third.listener->notices == whole_end(flow, kForced));
}

TEST_CASE("FlowHolder: when all have let go, nobody is told", "[flowcache][unit]") {
    CacheHarness<> harness(kHolderOptions);
    const Added first(harness);
    const Added second(harness);
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0), first, second);
    first.listener->on_record = [&](FlowHandle told) {
        harness.cache.let_go(told, first.id);
        harness.cache.let_go(told, second.id);
    };
    CHECK(harness.cache.end_all(at_ms(1), harness.sink));
    CHECK(first.listener->notices == std::vector<Notice>{{Kind::record, flow, kForced}});
    CHECK(second.listener->notices.empty());
}

TEST_CASE("FlowHolder: in a notice flows can be held, and no flow can be ended or counted",
          "[flowcache][unit]") {
    FlowCacheOptions options = kHolderOptions;
    options.active_timeout = 5s;
    CacheHarness<> harness(options);
    const Added first(harness);
    const Added second(harness);
    const FlowHandle other = begin(harness, flow_packet(2), at_ms(3000));
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0), first);
    int notices = 0;
    const auto meddle = [&](FlowHandle) {
        ++notices;
        CHECK_FALSE(harness.cache.end(other, kForced, harness.sink));
        CHECK_FALSE(harness.cache.add(other, {1, 100}, {at_ms(3000), at_ms(3000)}, harness.sink));
        CHECK_FALSE(harness.cache.end(flow, kForced, harness.sink));
        CHECK(harness.cache.is_running(other));
        CHECK(harness.cache.hold(other, second.id));
    };
    first.listener->on_record = [&](FlowHandle told) {
        meddle(told);
        CHECK(harness.cache.hold(told, second.id));  // its turn in this notice has passed
        CHECK(harness.cache.hold(told, first.id));   // nor does this give the notice again
    };
    first.listener->on_flow = [&](FlowHandle told) {
        meddle(told);
        CHECK_FALSE(harness.cache.is_running(told));
        CHECK_FALSE(harness.cache.hold(told, second.id));
    };
    harness.expire(at_ms(5600));  // cuts the record
    CHECK(notices == 1);
    CHECK(second.listener->notices.empty());
    harness.packet(flow_packet(1), at_ms(6000));
    CHECK(harness.cache.end(flow, kEnd, harness.sink));
    CHECK(notices == 3);
    CHECK(first.listener->notices == std::vector<Notice>{{Kind::record, flow, kActive},
                                                         {Kind::record, flow, kEnd},
                                                         {Kind::flow, flow, kEnd}});
    CHECK(second.listener->notices == whole_end(flow, kEnd));
    CHECK(harness.cache.end(other, kForced, harness.sink));  // afterwards it can
    CHECK(second.listener->notices.size() == 4);
}

TEST_CASE(
    "FlowHolder: a removed holder is told nothing, and its id is another's only once no flow "
    "remembers it",
    "[flowcache][unit]") {
    FlowCacheOptions options = kHolderOptions;
    options.max_flows = 4096;
    CacheHarness<> harness(options);
    const Added stays(harness);
    const Added goes(harness);
    std::vector<FlowHandle> flows;
    for (std::uint32_t n = 0; n < 3000; ++n) {
        flows.push_back(begin(harness, flow_packet(n), at_ms(0), stays, goes));
    }
    harness.cache.remove_holder(goes.id);
    harness.cache.remove_holder(goes.id);
    CHECK_FALSE(harness.cache.hold(flows[0], goes.id));
    CHECK_FALSE(harness.cache.is_held_by(flows[0], goes.id));
    harness.cache.let_go(flows[0], goes.id);
    const Added other(harness);
    CHECK(other.id.value != goes.id.value);
    CHECK(harness.cache.end(flows[0], kEnd, harness.sink));
    for (int steps = 0; steps < 3; ++steps) {  // 3 * 1024 entries
        harness.cache.expire_some(at_ms(0), 0, harness.sink);
    }
    const Added next(harness);
    CHECK(next.id.value == goes.id.value);
    CHECK(harness.cache.end_all(at_ms(1), harness.sink));
    CHECK(goes.listener->notices.empty());
    CHECK(other.listener->notices.empty());
    CHECK(next.listener->notices.empty());
    CHECK(stays.listener->notices.size() == 2 * flows.size());
}

TEST_CASE("FlowHolder: so many are possible, and without the option none", "[flowcache][unit]") {
    CacheHarness<> harness(kHolderOptions);
    std::vector<Added<CacheHarness<>>> holders;
    for (std::size_t n = 0; n < FlowHolders::kMost; ++n) {
        holders.emplace_back(harness);
    }
    Listener more;
    CHECK_FALSE(harness.cache.add_holder(more).has_value());
    const FlowHandle flow = begin(harness, flow_packet(1), at_ms(0));
    for (const auto& holder : holders) {
        CHECK(harness.cache.hold(flow, holder.id));
    }
    CHECK(harness.cache.end_all(at_ms(1), harness.sink));
    for (const auto& holder : holders) {
        CHECK(holder.listener->notices == whole_end(flow, kForced));
    }

    FlowCacheOptions without = kHolderOptions;
    without.flow_holders = false;
    CHECK(FlowCache<80>::bytes_needed(kHolderOptions) ==
          FlowCache<80>::bytes_needed(without) + 2 * entries_for(without));
    CacheHarness<> plain(without);
    CHECK_FALSE(plain.cache.add_holder(more).has_value());
    plain.packet(flow_packet(1), at_ms(0));
    const FlowHandle running = plain.handle_of(flow_packet(1)).value();
    CHECK_FALSE(plain.cache.hold(running, HolderId{0}));
    CHECK_FALSE(plain.cache.is_held_by(running, HolderId{0}));
    CHECK_FALSE(plain.cache.hold(running, HolderId{200}));
}

TEST_CASE("FlowCache: an accounted packet leads to its flow, or to none once that has ended",
          "[flowcache][unit]") {
    const bool has_holders = GENERATE(true, false);
    FlowCacheOptions options = kHolderOptions;
    options.max_flows = 1;
    options.tcp_end = true;
    options.flow_holders = has_holders;
    CacheHarness<> harness(options);
    harness.packet(tcp_packet(1, tcp_flag::kAck), at_ms(0));
    const FlowHandle before = harness.handle_of(tcp_packet(1, 0)).value();
    // The one entry is, in turn, flow 1's, flow 2's, flow 1's, and flow 1's once more.
    const std::array packets{tcp_packet(1, tcp_flag::kAck), tcp_packet(2, tcp_flag::kAck),
                             tcp_packet(1, tcp_flag::kAck), tcp_packet(1, tcp_flag::kRst),
                             tcp_packet(1, tcp_flag::kSyn), tcp_packet(1, tcp_flag::kAck)};
    std::array<PacketView, packets.size()> views{};
    harness.burst.clear();
    for (std::size_t n = 0; n < packets.size(); ++n) {
        views[n] = {.ingress_interface = {1}, .seen_at = at_ms(1), .clock = at_ms(1)};
        harness.burst.add(views[n], packets[n]);
    }
    const std::span<KeyedPacket> keyed = harness.burst.finish();
    harness.cache.account(keyed, harness.sink);
    CHECK(harness.sink.records.size() == 3);
    CHECK(harness.cache.begun() == 0b010110);
    for (std::size_t n = 0; n < packets.size(); ++n) {
        INFO("packet " << n);
        CHECK(harness.cache.flow_of(keyed[n]).has_value() == (has_holders && n >= 4));
    }
    if (has_holders) {
        const FlowHandle flow = harness.cache.flow_of(keyed[4]).value();
        CHECK(flow.entry == before.entry);
        CHECK(flow.generation == before.generation + 3);
        CHECK(harness.cache.flow_of(keyed[5]) == flow);
        CHECK(harness.cache.is_running(flow));
        CHECK(harness.cache.end(flow, kForced, harness.sink));  // by one stage, before the next
        CHECK_FALSE(harness.cache.flow_of(keyed[4]).has_value());
        CHECK_FALSE(harness.cache.flow_of(keyed[5]).has_value());
    }
}

TEST_CASE("FlowCache: a flow ends while states of later packets of the burst are prefetched",
          "[flowcache][unit]") {
    FlowCacheOptions options = biflow::kOptions;
    options.max_flows = 1;
    options.tcp_analysis = true;
    options.flow_holders = true;
    CacheHarness<272> harness(
        options, RecordLayout::of(groups_of<TcpAnalysisGroup>(), FlowDirection::biflow));
    harness.packet(tcp_packet(1, tcp_flag::kAck), at_ms(0));
    std::vector<TimedPacket> packets(12, {tcp_packet(1, tcp_flag::kAck), at_ms(1), at_ms(1)});
    packets[2].fields = tcp_packet(2, tcp_flag::kAck);  // evicts the flow of those behind it
    harness.packets(packets);
    CHECK(harness.counters.packets.read() == 13);
    CHECK(harness.sink.records.size() == 2);
    CHECK(harness.cache.begun() == 0b1100);
}

TEST_CASE("FlowCache: the flow behind a packet is the one that a search finds",
          "[flowcache][unit]") {
    FlowCacheOptions options = biflow::kOptions;
    options.max_flows = 300;
    options.flow_holders = true;
    options.idle_timeout = 2s;
    CacheHarness<144> harness(options, biflow::kLayout);
    std::mt19937 random(5);
    Timestamp clock = at_ms(1'700'000'000'000);
    std::array<PacketView, kBurstPackets> views{};
    std::array<PacketFields, kBurstPackets> fields{};
    std::size_t begun = 0;
    for (int burst = 0; burst < 2000; ++burst) {
        harness.burst.clear();
        for (std::size_t n = 0; n < kBurstPackets; ++n) {
            clock += std::chrono::microseconds{random() % 3000};
            fields[n] = flow_packet(static_cast<std::uint32_t>(random() % 400));
            fields[n].ip_version = random() % 3 == 0 ? 6 : 4;
            fields[n] = random() % 2 == 0 ? fields[n] : biflow::answer_to(fields[n]);
            views[n] = {.ingress_interface = {1}, .seen_at = clock, .clock = clock};
            harness.burst.add(views[n], fields[n]);
        }
        const std::uint64_t created = harness.counters.flows_created.read();
        const std::span<KeyedPacket> keyed = harness.burst.finish();
        harness.cache.account(keyed, harness.sink);
        begun += static_cast<std::size_t>(std::popcount(harness.cache.begun()));
        CHECK(harness.counters.flows_created.read() - created ==
              static_cast<std::size_t>(std::popcount(harness.cache.begun())));
        for (const KeyedPacket& packet : keyed) {
            const auto flow = harness.cache.flow_of(packet);
            if (flow) {
                REQUIRE(harness.cache.handle_of(packet) == flow);
            }
        }
        harness.cache.expire_some(clock, 128, harness.sink);
    }
    CHECK(begun == harness.counters.flows_created.read());
}

TEST_CASE("FlowHandle: an entry's generation comes round after 2^22 flows", "[flowcache][unit]") {
    HotEntry hot{};
    hot.is_held = 1;
    hot.end_reason = FlowEndReason::lack_of_resources;
    for (std::uint32_t flow = 1; flow < 1U << 22U; ++flow) {
        hot.make_handles_stale();
        REQUIRE(hot.generation == flow);
    }
    hot.make_handles_stale();
    CHECK(hot.generation == 0);
    CHECK(hot.is_held == 1);
    CHECK(hot.end_reason == FlowEndReason::lack_of_resources);
}

namespace {

/// A cache of so many flows, one packet a burst, which four holders hold at random, beside one that
/// holds them all. A part of them goes on for some active timeouts, some are connections that end;
/// the cache is too small, now and then the sink is full, and the clock goes back once. All records
/// that the cache has ended must be those of the notices, in their order.
void hold_many(std::uint32_t flows) {
    const FlowCacheOptions options{.max_flows = flows,
                                   .idle_timeout = 10s,
                                   .active_timeout = 15s,
                                   .tcp_end = true,
                                   .flow_holders = true};
    CacheHarness<> harness(options);
    HeldFlows held(harness.cache, options);
    constexpr std::size_t kOthers = 4;
    for (std::size_t holder = 1; holder <= kOthers; ++holder) {
        REQUIRE(held.add(holder));
    }
    std::mt19937 random(flows);
    held.in_notice = [&](std::size_t holder, FlowHandle flow) {
        if (random() % 16 == 0) {
            held.let_go(flow, 1 + random() % kOthers);
        } else if (random() % 16 == 0) {
            held.hold(flow, holder);
        }
    };
    std::size_t compared = 0;  // records of the sink
    std::uint64_t lost = 0;
    const auto compare = [&] {
        held.check();
        for (; compared < harness.sink.records.size(); ++compared) {
            while (!held.told.empty() &&
                   std::memcmp(&held.told.front(), &harness.sink.records[compared],
                               sizeof held.told.front()) != 0) {
                held.told.pop_front();
                ++lost;
            }
            REQUIRE_FALSE(held.told.empty());
            held.told.pop_front();
        }
    };
    PacketView view{.ingress_interface = InterfaceIndex{1}};
    const Timestamp start = at_ms(1'700'000'000'000);
    const auto step = std::chrono::nanoseconds{5s} / flows;
    Timestamp clock = start;
    const std::uint64_t packets = std::uint64_t{6} * flows;
    for (std::uint64_t n = 0; n < packets; ++n) {
        clock += step;
        if (n == packets / 2) {
            clock -= 5s;
        }
        const bool is_long_lived = n % 4 == 0;
        const std::uint32_t flow = is_long_lived
                                       ? static_cast<std::uint32_t>(random() % (flows / 8))
                                       : static_cast<std::uint32_t>(random() % (4 * flows));
        const PacketFields fields =
            tcp_packet(flow, !is_long_lived && random() % 8 == 0 ? tcp_flag::kRst : tcp_flag::kAck);
        view.seen_at = view.clock = clock;
        harness.burst.clear();
        harness.burst.add(view, fields);
        const std::span<KeyedPacket> keyed = harness.burst.finish();
        harness.sink.room =
            n / (flows / 2) % 3 == 1 ? harness.sink.records.size() + n % 2 : ~std::size_t{0};
        harness.cache.account(keyed, harness.sink);
        held.hold_begun(keyed);
        if (const auto running = harness.cache.flow_of(keyed[0])) {
            const std::size_t holder = 1 + random() % kOthers;
            random() % 8 == 0 ? held.let_go(*running, holder) : held.hold(*running, holder);
            if (n % 64 == 0) {
                held.check(*running);
            }
        }
        harness.cache.expire_some(clock, 4, harness.sink);
        if (n % 1024 == 0) {
            compare();
        }
    }
    const std::uint64_t last = held.count();
    harness.sink.room = ~std::size_t{0};
    while (!harness.cache.end_all(clock, harness.sink)) {
    }
    compare();
    CHECK(held.fault.empty());
    INFO(held.fault);
    CHECK(held.count() == 0);
    CHECK(held.ended_in_burst == 0);
    CHECK(held.told.size() + lost == harness.counters.lost_ring_full.read().records);
    CHECK(held.records == harness.counters.flows_created.read());
    CHECK(last > flows / 2);
    CHECK(held.to_others > flows);
    for (const FlowEndReason reason : {kIdle, kActive, kEnd, kForced, kEvicted}) {
        const auto number = static_cast<std::size_t>(reason);
        INFO("reason " << number);
        CHECK(held.reasons[number] == harness.counters.ended[number].read());
        CHECK(held.reasons[number] > flows / 1000);
    }
    CHECK(harness.counters.lost_ring_full.read().records > 0);
}

}  // namespace

TEST_CASE("FlowHolder: of many flows each holder is told each end once, whatever is full",
          "[flowcache][unit]") {
    hold_many(20'000);
}

TEST_CASE("FlowHolder: of a million flows each holder is told each end once, whatever is full",
          "[.][long]") {
    hold_many(1'000'000);
}
