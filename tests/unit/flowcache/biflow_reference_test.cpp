// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/other_direction.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr RecordLayout kReferenceLayout = RecordLayout::of({}, FlowDirection::biflow);

/// Records that random conversations must give, in a std::map: the first sender since the last
/// silence is the source.
class ReferenceBiflows {
public:
    explicit ReferenceBiflows(const FlowCacheOptions& options) : options_(options) {}

    /// Conversation, whether its second end is the source, packets from there and back, first and
    /// last packet, reason.
    using Line = std::tuple<std::uint32_t, bool, std::uint64_t, std::uint64_t, Timestamp, Timestamp,
                            FlowEndReason>;

    void packet(std::uint32_t conversation, bool is_from_second, Timestamp time) {
        auto& talk = talks_.try_emplace(conversation, Talk{is_from_second}).first->second;
        end_if_due(conversation, talk, time);
        if (talk.packets() == 0) {
            const bool is_forgotten = time > talk.end + options_.idle_timeout;
            talk = {.is_swapped = is_forgotten ? is_from_second : talk.is_swapped, .start = time};
        }
        talk.end = time;
        ++(is_from_second == talk.is_swapped ? talk.forward : talk.reverse);
    }
    std::vector<Line> finish_all(Timestamp clock) {
        for (auto& [conversation, talk] : talks_) {
            end_if_due(conversation, talk, clock);
            if (talk.packets() != 0) {
                finish(conversation, talk, FlowEndReason::forced_end);
            }
        }
        std::ranges::sort(lines_);
        return lines_;
    }

private:
    struct Talk {
        bool is_swapped{};
        Timestamp start{};
        Timestamp end{};
        std::uint64_t forward{};
        std::uint64_t reverse{};
        [[nodiscard]] std::uint64_t packets() const { return forward + reverse; }
    };
    void end_if_due(std::uint32_t conversation, Talk& talk, Timestamp clock) {
        const Timestamp idle = talk.end + options_.idle_timeout;
        const Timestamp active = talk.start + options_.active_timeout;
        if (talk.packets() != 0 && clock > std::min(idle, active)) {
            finish(conversation, talk,
                   idle <= active ? FlowEndReason::idle_timeout : FlowEndReason::active_timeout);
        }
    }
    void finish(std::uint32_t conversation, Talk& talk, FlowEndReason reason) {
        lines_.emplace_back(conversation, talk.is_swapped, talk.forward, talk.reverse, talk.start,
                            talk.end, reason);
        talk.forward = 0;
        talk.reverse = 0;
        if (reason == FlowEndReason::idle_timeout) {
            talk.end = Timestamp::min() + 1h;  // forgotten
        }
    }
    FlowCacheOptions options_;
    std::map<std::uint32_t, Talk> talks_;
    std::vector<Line> lines_;
};

PacketFields packet_of(std::uint32_t conversation, bool is_from_second) {
    PacketFields fields = flow_packet(conversation);
    fields.destination = ip_address("0.0.7.0");  // now the smaller end, now the greater
    fields.source_port = {40000};
    fields.destination_port = {443};
    if (is_from_second) {
        fields = other_direction(fields);
    }
    return fields;
}

std::vector<ReferenceBiflows::Line> lines_of(std::vector<FlowRecord<144>>& records) {
    std::vector<ReferenceBiflows::Line> lines;
    for (auto& record : records) {
        const auto& reverse = record.group<ReverseGroup>(kReferenceLayout.reverse_at);
        const FlowRecordCore& core = record.core;
        const bool is_swapped = core.key.source_port.value == 443;
        const IpAddress& address = is_swapped ? core.key.destination : core.key.source;
        const std::uint32_t conversation = std::to_integer<std::uint32_t>(address[0]) |
                                           std::to_integer<std::uint32_t>(address[1]) << 8U;
        const bool has_forward = core.packets != 0;
        const bool has_reverse = reverse.packets != 0;
        lines.emplace_back(conversation, is_swapped, core.packets, reverse.packets,
                           has_reverse ? std::min(core.start, reverse.start) : core.start,
                           has_reverse ? std::max(core.end, reverse.end) : core.end,
                           core.end_reason);
        CHECK((has_forward || has_reverse));
    }
    std::ranges::sort(lines);
    return lines;
}

}  // namespace

TEST_CASE("FlowCache: random conversations give the biflows of the slow reference",
          "[flowcache][unit]") {
    const auto seed = GENERATE(1U, 2U, 3U, 4U);
    const std::size_t most_in_burst = GENERATE(std::size_t{1}, kBurstPackets);
    const FlowCacheOptions options{.max_flows = 500,
                                   .idle_timeout = std::chrono::seconds(2 + seed),
                                   .active_timeout = std::chrono::seconds(seed % 2 == 0 ? 3 : 20),
                                   .direction = FlowDirection::biflow};
    ReferenceBiflows reference(options);
    CacheHarness<144> harness(options, kReferenceLayout);
    std::mt19937 random(seed);
    Timestamp clock = at_ms(1'700'000'000'000);
    std::vector<TimedPacket> packets;
    for (int n = 0; n < 30'000; ++n) {
        clock += std::chrono::nanoseconds(random() % 20'000'000);
        const auto conversation = static_cast<std::uint32_t>(random() % 300);
        const bool is_from_second = random() % 2 == 0;
        packets.push_back({packet_of(conversation, is_from_second), clock, clock});
        reference.packet(conversation, is_from_second, clock);
    }
    harness.packets_in_bursts(packets, most_in_burst, random, [&](Timestamp now) {
        if (seed > 1) {  // in one run records end by packets and end_all() alone
            harness.cache.expire_some(now, random() % (8 * most_in_burst), harness.sink);
        }
    });
    CHECK(harness.cache.end_all(clock, harness.sink));
    CHECK(lines_of(harness.sink.records) == reference.finish_all(clock));
    CHECK(harness.counters.entries.read() == 0);
    CHECK(harness.counters.flows_created.read() == harness.sink.records.size());
}
