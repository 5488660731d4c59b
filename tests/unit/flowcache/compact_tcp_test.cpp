// SPDX-License-Identifier: Apache-2.0
// Compact flows give the records that they would give if they were never compact. Records with one
// more group have flows that never are: both caches get the same packets.
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "flowcache/cache_scan.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/tcp_model.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr RecordLayout kCompact = RecordLayout::of(groups_of<TcpAnalysisGroup>());
constexpr RecordLayout kExpanded = RecordLayout::of(groups_of<TcpCountsGroup, TcpAnalysisGroup>());
static_assert(is_tcp_analysis_alone(kCompact) && !is_tcp_analysis_alone(kExpanded));

/// What both kinds of records have.
using Told = std::array<std::byte, sizeof(FlowRecordCore) + sizeof(TcpAnalysisGroup)>;

template <class Record>
Told told(Record record, const RecordLayout& layout) {
    Told told;
    std::memcpy(told.data(), &record.core, sizeof record.core);
    std::memcpy(told.data() + sizeof record.core,
                &record.template group<TcpAnalysisGroup>(layout.at<TcpAnalysisGroup>()),
                sizeof(TcpAnalysisGroup));
    return told;
}

/// Two caches that get the same packets; one of them makes flows compact.
class Pair {
public:
    explicit Pair(const FlowCacheOptions& options)
        : compact_(options, kCompact), expanded_(options, kExpanded) {}

    void packets(std::span<const TimedPacket> packets) {
        compact_.packets(packets);
        expanded_.packets(packets);
    }
    void packet(const PacketFields& fields, Timestamp time) {
        const TimedPacket packet{fields, time, time};
        packets({&packet, 1});
    }
    void expire(Timestamp now) {
        compact_.cache.expire_some(now, 64, compact_.sink);
        expanded_.cache.expire_some(now, 64, expanded_.sink);
    }
    /// Lets so many more records leave.
    void set_room(std::size_t records) {
        compact_.sink.room = compact_.sink.records.size() + records;
        expanded_.sink.room = expanded_.sink.records.size() + records;
    }
    void set_timeouts(const FlowCacheOptions& options) {
        compact_.cache.set_timeouts(options);
        expanded_.cache.set_timeouts(options);
    }
    /// Adds packets of this flow that were counted outside.
    void add_counted(const PacketFields& fields, Timestamp time) {
        const auto add = [&](auto& harness) {
            const auto handle = harness.handle_of(fields);
            return handle &&
                   harness.cache.add(*handle, {3, 300, tcp_flag::kPsh}, {time, time}, harness.sink);
        };
        REQUIRE(add(compact_) == add(expanded_));
    }
    /// What the running flows' records would be now.
    void compare_running() {
        const auto look = [](auto& harness, const RecordLayout& layout) {
            std::vector<Told> seen;
            CacheScan scan;
            REQUIRE(scan.copy_some(harness.cache, 1000, [&](const auto& record) {
                seen.push_back(told(record, layout));
                return true;
            }));
            return seen;
        };
        REQUIRE((look(compact_, kCompact) == look(expanded_, kExpanded)));
    }
    /// Ends all flows and compares all records. @return  how many there were
    std::size_t finish(Timestamp now) {
        REQUIRE(compact_.cache.end_all(now, compact_.sink));
        REQUIRE(expanded_.cache.end_all(now, expanded_.sink));
        const auto& records = compact_.sink.records;
        REQUIRE(records.size() == expanded_.sink.records.size());
        for (std::size_t i = 0; i < records.size(); ++i) {
            INFO("record " << i << " of " << records.size());
            REQUIRE((told(records[i], kCompact) == told(expanded_.sink.records[i], kExpanded)));
        }
        REQUIRE(compact_.counters.tcp_segments_unjudged.read() ==
                expanded_.counters.tcp_segments_unjudged.read());
        REQUIRE(compact_.counters.tcp_segments_unread.read() ==
                expanded_.counters.tcp_segments_unread.read());
        REQUIRE(compact_.counters.packets.read() == expanded_.counters.packets.read());
        REQUIRE(compact_.counters.lost_ring_full.read() ==
                expanded_.counters.lost_ring_full.read());
        return records.size();
    }
    [[nodiscard]] TcpAnalysisGroup last() {
        auto record = compact_.sink.records.back();
        return record.group<TcpAnalysisGroup>(kCompact.at<TcpAnalysisGroup>());
    }

private:
    CacheHarness<record_size(kCompact)> compact_;
    CacheHarness<record_size(kExpanded)> expanded_;
};

PacketFields segment_of(std::uint32_t flow, std::uint32_t sequence, std::uint32_t payload,
                        std::uint16_t identification) {
    PacketFields fields = flow_packet(flow, 40 + payload);
    fields.protocol = ip_protocol::kTcp;
    fields.tcp_control_bits = tcp_flag::kAck;
    fields.has_tcp_segment = true;
    fields.tcp = {.sequence = sequence,
                  .acknowledgement = 1,
                  .payload_bytes = payload,
                  .window = 500,
                  .copy_id = identification};
    return fields;
}

/// Flows that mostly go on, and now and then do anything else.
class Sender {
public:
    explicit Sender(Random& random) : random_(random) {
        for (std::uint32_t& next : next_) {
            next = static_cast<std::uint32_t>(random_.next());
        }
    }
    PacketFields next() {
        const std::uint32_t flow = random_.below(kFlows);
        if (random_.once_in(60)) {
            return last_[flow];  // a copy
        }
        std::uint32_t& next = next_[flow];
        const std::uint32_t payload = random_.once_in(4) ? 0 : random_.between(1, 1460);
        PacketFields segment = segment_of(flow, next, payload, ++identification_);
        next += payload;
        segment.ip_version = flow % 2 == 0 ? 4 : 6;
        if (random_.once_in(40)) {
            disturb(segment, next);
        }
        last_[flow] = segment;
        return segment;
    }

private:
    static constexpr std::uint32_t kFlows = 8;

    void disturb(PacketFields& segment, std::uint32_t& next) {
        switch (random_.below(12)) {
            case 0:
                segment.tcp.window = 0;
                break;
            case 1:
                segment.tcp_control_bits |= tcp_flag::kSyn;
                next = segment.tcp.sequence + 1 + segment.tcp.payload_bytes;
                break;
            case 2:
                segment.tcp_control_bits |= random_.once_in(2) ? tcp_flag::kFin : tcp_flag::kRst;
                break;
            case 3:
                segment.has_tcp_segment = false;
                segment.is_later_fragment = random_.once_in(2);
                break;
            case 4:
                segment.ip_bytes = 70'000;
                break;
            case 5:
                segment.tcp.payload_bytes = 300'000'000;
                next = segment.tcp.sequence + segment.tcp.payload_bytes;
                break;
            case 6:
                segment.tcp.sequence += 3000;  // a hole
                break;
            case 7:
                segment.tcp.sequence -= 1000;
                break;
            case 8:
                next += 100'000;
                break;
            case 9:
                segment.tcp.sequence += 1U << 31U;
                break;
            case 10:
                segment.tcp.payload_bytes = 1;
                segment.tcp.sequence = next - 1;
                break;
            default:
                segment.protocol = ip_protocol::kUdp;
        }
    }

    Random& random_;
    std::array<std::uint32_t, kFlows> next_{};
    std::array<PacketFields, kFlows> last_{};
    std::uint16_t identification_ = 0;
};

Timestamp::duration some_silence(Random& random) {
    switch (random.below(400)) {
        case 0:
            return 1500ms;  // the analysis forgets copies
        case 1:
            return 4s;  // and octets
        case 2:
            return 11s;  // idle
        case 3:
            return 20h;
        default:
            return std::chrono::microseconds{random.below(20'000)};
    }
}

}  // namespace

TEST_CASE("CompactTcp: random flows have the records of flows that never are compact",
          "[flowcache][unit]") {
    std::size_t records = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        Sender sender(random);
        FlowCacheOptions options{
            .max_flows = random.once_in(4) ? 4U : 64U,  // too few for all flows
            .idle_timeout = std::chrono::seconds{random.once_in(4) ? 200'000 : 10},
            .active_timeout = std::chrono::seconds{random.once_in(4) ? 200'000 : 7},
            .tcp_end = random.once_in(4),
            .tcp_analysis = true};
        options.tcp_retransmission_time =
            random.once_in(2) ? std::chrono::milliseconds{3000} : std::chrono::milliseconds{0};
        Pair pair(options);
        Timestamp now{1000s};
        for (int burst = 0; burst < 400; ++burst) {
            std::vector<TimedPacket> packets;
            for (std::uint32_t count = random.between(1, kBurstPackets); count > 0; --count) {
                now += some_silence(random);
                const Timestamp seen_at = now - (random.once_in(50) ? 3ms : 0ms);
                packets.push_back({sender.next(), seen_at, now});
            }
            pair.packets(packets);
            if (random.once_in(4)) {
                pair.add_counted(packets.back().fields, now);
            }
            if (random.once_in(8)) {
                pair.compare_running();
            }
            if (random.once_in(40)) {
                options.active_timeout = std::chrono::seconds{random.between(1, 60)};
                pair.set_timeouts(options);
            }
            if (random.once_in(30)) {
                pair.set_room(random.once_in(2) ? 0 : 100'000);
            }
            pair.expire(now);
        }
        pair.set_room(100'000);
        records += pair.finish(now);
    }
    CHECK(records > 1000);
}

TEST_CASE("CompactTcp: a flow far longer than the HotEntry can count loses nothing",
          "[flowcache][unit]") {
    constexpr std::uint32_t kSegments = 100'000;
    constexpr std::uint32_t kPayload = 65'000;  // 6.5 GB: numbers wrap, and far ones are forgotten
    Pair pair({.max_flows = 4, .idle_timeout = 10s, .active_timeout = 3600s, .tcp_analysis = true});
    Timestamp now{1000s};
    std::vector<TimedPacket> packets;
    for (std::uint32_t n = 0; n < kSegments; ++n) {
        now += 1ms;
        packets.push_back(
            {segment_of(1, n * kPayload, kPayload, static_cast<std::uint16_t>(n)), now, now});
        if (packets.size() == kBurstPackets) {
            pair.packets(packets);
            packets.clear();
        }
    }
    pair.packets(packets);
    // Half a million octets behind: a retransmission. Far more than 2^30: not judged.
    pair.packet(segment_of(1, (kSegments - 8) * kPayload, kPayload, 1), now);
    pair.packet(segment_of(1, (kSegments - 17'000) * kPayload, kPayload, 2), now);
    REQUIRE(pair.finish(now) == 1);
    CHECK(pair.last().segments == kSegments + 2);
    CHECK(pair.last().data_segments == kSegments + 2);
    CHECK(pair.last().retransmissions == 1);
    CHECK(pair.last().retransmitted_octets == kPayload);
    CHECK(pair.last().overflow == 1);
}

TEST_CASE("CompactTcp: the active timeout of a day is kept", "[flowcache][unit]") {
    // The start's ticks come round after 70 369 s.
    for (const std::int64_t active : {60'000, 70'000, 72'000, 86'400}) {
        INFO("active timeout " << active << " s");
        Pair pair({.max_flows = 4,
                   .idle_timeout = 3600s,
                   .active_timeout = std::chrono::seconds{active},
                   .tcp_analysis = true,
                   .tcp_duplicate_time = 3600s});
        std::int64_t second = 0;
        for (std::uint32_t n = 0; second <= active + 700; ++n, second += n % 7 == 0 ? 401 : 601) {
            pair.packet(segment_of(1, n * 100, 100, static_cast<std::uint16_t>(n)),
                        Timestamp{std::chrono::seconds{second + 1}});
        }
        CHECK(pair.finish(Timestamp{std::chrono::seconds{second}}) == 2);
    }
}

TEST_CASE("CompactTcp: data that goes on is no copy, whatever its hash", "[flowcache][unit]") {
    const PacketFields segment = segment_of(1, 1000, 100, 7);
    const std::uint32_t signature = signature_of(segment);
    CHECK(tcp::is_new(segment, signature, {signature, 0, 0}));
    const PacketFields empty = segment_of(1, 1000, 0, 7);
    CHECK_FALSE(tcp::is_new(empty, signature_of(empty), {1, 2, signature_of(empty)}));
    CHECK(tcp::is_new(empty, signature_of(empty), {1, 2, 0}));
}
