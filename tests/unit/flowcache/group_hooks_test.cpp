// SPDX-License-Identifier: Apache-2.0
// A group with hooks and states that only this test knows, alone and beside the analysis of TCP.
#include "flowcache/group_hooks.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "flowcache/cache_scan.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/record/state_pool.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// The calls of the hooks, one letter each, and flows that got no state of the pool.
struct Journal {
    std::string calls;
    int refused = 0;
};
Journal& journal() {
    static Journal one;
    return one;
}

/// What the group keeps of a direction: packets of the flow and of its present record, and from the
/// second packet on a state of the pool, of which there are two.
struct MarkState {
    static constexpr std::uint32_t kNoPooled = 0xFFFF;
    std::uint32_t flow_packets;
    std::uint32_t record_packets;
    std::uint32_t records;
    std::uint32_t pooled;
    std::int64_t longest_silence;
};
struct alignas(64) PooledMark {
    std::uint32_t next_free;
    std::uint32_t packets;  ///< since the flow has it
};
/// What a record has in the place of a MarkState.
struct MarkGroup {
    std::uint32_t record_packets;
    std::uint32_t flow_packets;
    std::uint32_t records_before;
    std::uint32_t pooled_packets;
    std::int64_t longest_silence;
    friend bool operator==(const MarkGroup&, const MarkGroup&) = default;
};
static_assert(sizeof(MarkGroup) == sizeof(MarkState) &&
              sizeof(MarkState) <= sizeof(TcpAnalysisGroup));

/// @tparam kBehindGroups  its place is behind the layout's groups, else that of tcp-analysis
template <std::size_t kGroupBytes, bool kBehindGroups>
class MarkHooks : public PlainGroupHooks<MarkHooks<kGroupBytes, kBehindGroups>> {
public:
    static constexpr std::size_t kPooled = 2;

    [[nodiscard]] static std::size_t bytes_needed(const FlowCacheOptions& /*options*/) noexcept {
        return sizeof(PooledMark) * (kPooled + 1);
    }
    MarkHooks(const HookedCache<kGroupBytes>& cache, std::span<std::byte>& memory) noexcept
        : groups_(cache.groups),
          places_{kBehindGroups ? cache.layout.bytes : cache.layout.template at<TcpAnalysisGroup>(),
                  cache.layout.template back_at<TcpAnalysisGroup>()},
          pool_(take<PooledMark>(memory, kPooled)) {}

    void begin(HotEntry& hot) noexcept {
        journal().calls += 'b';
        for (const std::uint16_t place : places()) {
            MarkState& mark = state(hot, place);
            mark = {};
            mark.pooled = MarkState::kNoPooled;
        }
    }
    void packet(HotEntry& hot, bool is_reverse, const KeyedPacket& packet,
                Timestamp before) noexcept {
        journal().calls += is_reverse ? 'P' : 'p';
        MarkState& mark = state(hot, places_[is_reverse ? 1 : 0]);
        ++mark.flow_packets;
        ++mark.record_packets;
        if (mark.flow_packets > 1) {
            mark.longest_silence =
                std::max(mark.longest_silence, (packet.packet->seen_at - before).count());
        }
        if (mark.flow_packets == 2) {
            mark.pooled = pool_.take();
            journal().refused += mark.pooled == MarkState::kNoPooled ? 1 : 0;
        }
        if (mark.pooled != MarkState::kNoPooled) {
            ++pool_[mark.pooled].packets;
        }
    }
    void write(const HotEntry& /*hot*/, GroupBytes record) const noexcept {
        journal().calls += 'w';
        for (const std::uint16_t place : places()) {
            const MarkState& mark = record.get<MarkState>(place);
            const MarkGroup group{
                mark.record_packets, mark.flow_packets, mark.records,
                mark.pooled == MarkState::kNoPooled ? 0 : pool_[mark.pooled].packets,
                mark.longest_silence};
            std::memcpy(&record.get<std::byte>(place), &group, sizeof group);
        }
    }
    void record_end(HotEntry& hot) noexcept {
        journal().calls += 'r';
        for (const std::uint16_t place : places()) {
            ++state(hot, place).records;
            state(hot, place).record_packets = 0;
        }
    }
    void flow_end(HotEntry& hot) noexcept {
        journal().calls += 'f';
        for (const std::uint16_t place : places()) {
            if (state(hot, place).pooled != MarkState::kNoPooled) {
                pool_.give_back(state(hot, place).pooled);
            }
        }
    }

private:
    [[nodiscard]] std::span<const std::uint16_t> places() const {
        return std::span(places_).first(!kBehindGroups && places_[1] != 0 ? 2 : 1);
    }
    [[nodiscard]] MarkState& state(HotEntry& hot, std::uint16_t place) const {
        return groups_.of(hot).template get<MarkState>(place);
    }

    GroupPlace<kGroupBytes> groups_;
    std::array<std::uint16_t, 2> places_;
    StatePool<PooledMark, MarkState::kNoPooled> pool_;
};

struct MarksAlone {
    template <std::size_t kGroupBytes>
    using Hooks = GroupHookList<MarkHooks<kGroupBytes, false>>;
};
struct MarksBesideTcp {
    template <std::size_t kGroupBytes>
    using Hooks = GroupHookList<TcpAnalysisHooks<kGroupBytes>, MarkHooks<kGroupBytes, true>>;
};

constexpr FlowCacheOptions kHookOptions{
    .max_flows = 8, .idle_timeout = 10s, .active_timeout = 15s, .flow_holders = true};
constexpr RecordLayout kHookLayout = RecordLayout::of(groups_of<TcpAnalysisGroup>());
constexpr RecordLayout kBiflowLayout =
    RecordLayout::of(groups_of<TcpAnalysisGroup>(), FlowDirection::biflow);

template <class Record>
MarkGroup mark_of(const Record& record, std::uint16_t place = kHookLayout.at<TcpAnalysisGroup>()) {
    MarkGroup group;
    std::memcpy(&group, reinterpret_cast<const std::byte*>(&record) + place, sizeof group);
    return group;
}
constexpr std::int64_t ns(std::int64_t milliseconds) { return milliseconds * 1'000'000; }

}  // namespace

TEST_CASE("GroupHooks: a state outlives the record, and dies with the flow", "[flowcache][unit]") {
    journal() = {};
    CacheHarness<144, MarksAlone> harness(kHookOptions, kHookLayout);
    const bool waits = GENERATE(false, true);
    harness.sink.room = waits ? 0 : 10;
    harness.packet(flow_packet(1), at_ms(0));
    harness.packet(flow_packet(1), at_ms(9000));
    harness.packet(flow_packet(1), at_ms(10'000));
    harness.expire(at_ms(15'600));  // cut
    harness.packet(flow_packet(1), at_ms(19'600));
    harness.expire(at_ms(30'000));                  // idle
    harness.packet(flow_packet(1), at_ms(31'000));  // another flow of the key, in the entry
    harness.sink.room = 10;
    harness.expire(at_ms(31'000));
    CHECK(harness.cache.end_all(at_ms(31'000), harness.sink));
    CHECK(journal().calls == "bpppwrpwfbpwf");
    REQUIRE(harness.sink.records.size() == 3);
    CHECK(mark_of(harness.sink.records[0]) == MarkGroup{3, 3, 0, 2, ns(9000)});
    CHECK(mark_of(harness.sink.records[1]) == MarkGroup{1, 4, 1, 3, ns(9600)});
    CHECK(mark_of(harness.sink.records[2]) == MarkGroup{1, 1, 0, 0, 0});
    CHECK(journal().refused == 0);
}

TEST_CASE("GroupHooks: a flow that ends between two records gives its states back",
          "[flowcache][unit]") {
    journal() = {};
    CacheHarness<144, MarksAlone> harness(kHookOptions, kHookLayout);
    for (std::uint32_t flow = 0; flow < 3; ++flow) {  // one more than the pool has states
        for (int packets = 0; packets < 3; ++packets) {
            harness.packet(flow_packet(flow), at_ms(4000 * packets));
        }
    }
    CHECK(journal().refused == 1);
    harness.expire(at_ms(15'600));
    REQUIRE(harness.sink.records.size() == 3);
    std::uint32_t pooled = 0;
    for (const auto& record : harness.sink.records) {
        CHECK(mark_of(record).record_packets == 3);
        pooled += mark_of(record).pooled_packets;
    }
    CHECK(pooled == 4);
    harness.expire(at_ms(19'000));  // their ends, without a record
    CHECK(harness.counters.entries.read() == 0);
    CHECK(harness.sink.records.size() == 3);
    CHECK(journal().calls == "bpppbpppbpppwrwrwrfff");
    for (std::uint32_t flow = 10; flow < 12; ++flow) {  // both states are to be had again, as new
        harness.packet(flow_packet(flow), at_ms(20'000));
        harness.packet(flow_packet(flow), at_ms(20'000));
    }
    CHECK(journal().refused == 1);
    CHECK(harness.cache.end_all(at_ms(20'000), harness.sink));
    CHECK(mark_of(harness.sink.records[3]).pooled_packets == 1);
    CHECK(mark_of(harness.sink.records[4]).pooled_packets == 1);
}

TEST_CASE("GroupHooks: a listing changes no state", "[flowcache][unit]") {
    journal() = {};
    CacheHarness<144, MarksAlone> harness(kHookOptions, kHookLayout);
    harness.packet(flow_packet(1), at_ms(0));
    harness.packet(flow_packet(1), at_ms(1));
    for (int times = 0; times < 2; ++times) {
        CacheScan scan;
        CHECK(scan.copy_some(harness.cache, 10, [](const auto& record) {
            CHECK(mark_of(record) == MarkGroup{2, 2, 0, 1, ns(1)});
            return true;
        }));
    }
    harness.packet(flow_packet(1), at_ms(2));
    CHECK(harness.cache.end_all(at_ms(2), harness.sink));
    CHECK(mark_of(harness.sink.records.at(0)) == MarkGroup{3, 3, 0, 2, ns(1)});
    CHECK(journal().calls == "bppwwpwf");
}

TEST_CASE("GroupHooks: each direction of a biflow has its state", "[flowcache][unit]") {
    journal() = {};
    FlowCacheOptions options = kHookOptions;
    options.direction = FlowDirection::biflow;
    CacheHarness<272, MarksAlone> harness(options, kBiflowLayout);
    harness.packet(biflow::request(), at_ms(0));
    harness.packet(biflow::answer_to(biflow::request()), at_ms(3));
    harness.packet(biflow::request(), at_ms(5));
    harness.packet(biflow::answer_to(biflow::request()), at_ms(10));
    harness.packet(biflow::answer_to(biflow::request()), at_ms(11));
    harness.expire(at_ms(10'000));
    harness.packet(biflow::answer_to(biflow::request()), at_ms(10'001));
    harness.expire(at_ms(15'600));
    harness.packet(biflow::request(), at_ms(16'005));
    CHECK(harness.cache.end_all(at_ms(16'005), harness.sink));
    CHECK(journal().calls == "bpPpPPPwrpwf");
    REQUIRE(harness.sink.records.size() == 2);
    const std::uint16_t reverse = kBiflowLayout.back_at<TcpAnalysisGroup>();
    CHECK(mark_of(harness.sink.records[0]) == MarkGroup{2, 2, 0, 1, ns(5)});
    CHECK(mark_of(harness.sink.records[0], reverse) == MarkGroup{4, 4, 0, 3, ns(9990)});
    CHECK(mark_of(harness.sink.records[1]) == MarkGroup{1, 3, 1, 2, ns(16'000)});
    CHECK(mark_of(harness.sink.records[1], reverse) == MarkGroup{0, 4, 1, 3, ns(9990)});
}

TEST_CASE("GroupHooks: two groups with hooks leave each other alone", "[flowcache][unit]") {
    journal() = {};
    FlowCacheOptions options = kHookOptions;
    options.tcp_analysis = true;
    CacheHarness<216, MarksBesideTcp> both(options, kHookLayout);
    CacheHarness<216> tcp_alone(options, kHookLayout);
    std::uint16_t copy_id = 0;
    const auto segment = [&copy_id](std::uint32_t sequence) {
        PacketFields fields = biflow::request(tcp_flag::kAck);
        fields.has_tcp_segment = true;
        fields.tcp = {.sequence = sequence, .payload_bytes = 60, .copy_id = ++copy_id};
        return fields;
    };
    for (const std::uint32_t number : {1000U, 1060U, 1180U, 1120U, 1060U, 1240U}) {
        const PacketFields fields = segment(number);
        const Timestamp time = at_ms(number * 4);
        both.packet(fields, time);
        tcp_alone.packet(fields, time);
    }
    const bool is_cut = GENERATE(false, true);
    if (is_cut) {
        both.expire(at_ms(19'600));
        tcp_alone.expire(at_ms(19'600));
    }
    CHECK(both.cache.end_all(at_ms(19'600), both.sink));
    CHECK(tcp_alone.cache.end_all(at_ms(19'600), tcp_alone.sink));
    REQUIRE(both.sink.records.size() == 1);
    REQUIRE(tcp_alone.sink.records.size() == 1);
    CHECK(std::memcmp(&both.sink.records[0], &tcp_alone.sink.records[0], kHookLayout.bytes) == 0);
    CHECK(both.sink.records[0]
              .group<TcpAnalysisGroup>(kHookLayout.at<TcpAnalysisGroup>())
              .retransmissions == 1);
    CHECK(mark_of(both.sink.records[0], kHookLayout.bytes) == MarkGroup{6, 6, 0, 5, ns(480)});
}
