// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// The slow reference: the rules of DESIGN 2, in a std::map and without a walk.
class ReferenceCache {
public:
    explicit ReferenceCache(const FlowCacheOptions& options) : options_(options) {}

    using Line = std::tuple<std::uint32_t, Timestamp, Timestamp, std::uint64_t, FlowEndReason>;

    void packet(std::uint32_t flow, Timestamp time, Timestamp clock) {
        auto found = flows_.find(flow);
        if (found != flows_.end() && reason_at(found->second, clock) != FlowEndReason::none) {
            finish(flow, reason_at(found->second, clock));
            found = flows_.end();
        }
        if (found == flows_.end()) {
            found = flows_.emplace(flow, Flow{time, time, 0}).first;
        }
        dues_.erase({due_of(found->second), flow});
        found->second.start = std::min(found->second.start, time);
        found->second.end = std::max(found->second.end, time);
        ++found->second.packets;
        dues_.emplace(due_of(found->second), flow);
    }
    /// Flows that need an entry when a packet of `flow` has just come. The clock never goes back.
    [[nodiscard]] std::size_t running(std::uint32_t flow, Timestamp clock) {
        dues_.erase(dues_.begin(), dues_.lower_bound({clock, 0}));
        return dues_.size() + (due_of(flows_.at(flow)) < clock ? 1 : 0);
    }
    std::vector<Line> finish_all(Timestamp clock) {
        while (!flows_.empty()) {
            const FlowEndReason reason = reason_at(flows_.begin()->second, clock);
            finish(flows_.begin()->first,
                   reason == FlowEndReason::none ? FlowEndReason::forced_end : reason);
        }
        std::ranges::sort(lines_);
        return lines_;
    }

private:
    struct Flow {
        Timestamp start, end;
        std::uint64_t packets;
    };
    [[nodiscard]] Timestamp due_of(const Flow& flow) const {
        return std::min(flow.end + options_.idle_timeout, flow.start + options_.active_timeout);
    }
    [[nodiscard]] FlowEndReason reason_at(const Flow& flow, Timestamp clock) const {
        if (clock <= due_of(flow)) {
            return FlowEndReason::none;
        }
        return due_of(flow) == flow.end + options_.idle_timeout ? FlowEndReason::idle_timeout
                                                                : FlowEndReason::active_timeout;
    }
    void finish(std::uint32_t flow, FlowEndReason reason) {
        const Flow& ended = flows_.at(flow);
        lines_.emplace_back(flow, ended.start, ended.end, ended.packets, reason);
        dues_.erase({due_of(ended), flow});
        flows_.erase(flow);
    }
    FlowCacheOptions options_;
    std::map<std::uint32_t, Flow> flows_;
    std::set<std::pair<Timestamp, std::uint32_t>>
        dues_;  // of flows that were not due when last asked
    std::vector<Line> lines_;
};

struct TestPacket {
    std::uint32_t flow;
    Timestamp time;
    Timestamp clock;
};

/// Packets of 1000 flows, mostly in order; now and then one that is late, up to three seconds, or a
/// silence.
std::vector<TestPacket> random_packets(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<TestPacket> packets;
    Timestamp clock = at_ms(1'700'000'000'000);
    for (int n = 0; n < 20'000; ++n) {
        clock += std::chrono::nanoseconds(random() % 40'000'000);
        if (random() % 1000 == 0) {
            clock += std::chrono::seconds(random() % 2000);
        }
        const bool late = random() % 10 == 0;
        packets.push_back({static_cast<std::uint32_t>(random() % 1000),
                           late ? clock - std::chrono::milliseconds(random() % 3000) : clock,
                           clock});
    }
    return packets;
}

std::vector<TimedPacket> timed(const std::vector<TestPacket>& packets) {
    std::vector<TimedPacket> all;
    all.reserve(packets.size());
    for (const TestPacket& packet : packets) {
        all.push_back({flow_packet(packet.flow), packet.time, packet.clock});
    }
    return all;
}

std::vector<ReferenceCache::Line> lines_of(const std::vector<FlowRecord<80>>& records) {
    std::vector<ReferenceCache::Line> lines;
    for (const auto& record : records) {
        std::uint32_t flow = 0;
        for (std::size_t byte = 0; byte < 4; ++byte) {
            flow |= std::to_integer<std::uint32_t>(record.core.key.source[byte]) << (8 * byte);
        }
        lines.emplace_back(flow, record.core.start, record.core.end, record.core.packets,
                           record.core.end_reason);
    }
    std::ranges::sort(lines);
    return lines;
}

}  // namespace

TEST_CASE(
    "FlowCache: random traffic gives the records of the slow reference, without one entry to spare",
    "[flowcache][unit]") {
    const auto seed = GENERATE(1U, 2U, 3U, 4U, 5U, 6U);
    // With more than one packet in a burst, those before a packet may move what it is guessed to
    // find.
    const std::size_t most_in_burst = GENERATE(std::size_t{1}, kBurstPackets);
    const std::vector<TestPacket> packets = random_packets(seed);
    FlowCacheOptions options{.idle_timeout = std::chrono::seconds(1 + seed),
                             .active_timeout = std::chrono::seconds(seed % 2 == 0 ? 9 : 400)};
    ReferenceCache reference(options);
    std::size_t most_running = 0;
    for (const TestPacket& packet : packets) {
        reference.packet(packet.flow, packet.time, packet.clock);
        most_running = std::max(most_running, reference.running(packet.flow, packet.clock));
    }
    // As many entries as flows run at once: what is due must be found, however far the walk has
    // come.
    options.max_flows = static_cast<std::uint32_t>(most_running);
    CacheHarness<> harness(options);
    std::mt19937 random(seed);
    harness.packets_in_bursts(timed(packets), most_in_burst, random, [&](Timestamp clock) {
        if (seed % 3 != 0) {  // in the other runs records end by packets and end_all() alone
            harness.cache.expire_some(clock, random() % (8 * most_in_burst), harness.sink);
        }
    });
    const Timestamp clock = packets.back().clock;
    CHECK(harness.cache.end_all(clock, harness.sink));
    CHECK(lines_of(harness.sink.records) == reference.finish_all(clock));
    CHECK(
        harness.counters.ended[static_cast<std::size_t>(FlowEndReason::lack_of_resources)].read() ==
        0);
}
