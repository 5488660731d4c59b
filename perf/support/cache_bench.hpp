// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "flowcache/cache_room.hpp"
#include "flowcache/flow_cache.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/made_burst.hpp"
#include "perf/support/metering.hpp"

namespace tributary::perf {

/// Takes every record, and keeps the sums.
struct CountingSink {
    RecordTally tally;
    bool try_push(const FlowRecord<kPlainRecord>& record) noexcept {
        tally += record.core.tally();
        return true;
    }
};

/// A flow cache alone, with parsed packets.
class CacheBench {
public:
    using Cache = FlowCache<kPlainRecord>;

    explicit CacheBench(std::uint32_t flows)
        : options_(make_options(flows)), memory_(Cache::bytes_needed(options_)) {
        start_anew();
    }

    /// An empty cache in the same memory.
    void start_anew() {
        if (cache_) {
            cache_.reset();
            std::ranges::fill(memory_.bytes(), std::byte{});
        }
        sink = {};
        counters = std::make_unique<CacheCounters>();
        cache_.emplace(options_, RecordLayout{}, hasher_, memory_.bytes(), *counters);
        keyed_.reset(new KeyedBurst(cache_->burst()));
        now_ = Timestamp{std::chrono::seconds{1'700'000'000}};
        next_flow_ = 0;
    }
    /// Opens as many flows as there is room for, one after the other, evenly within an idle
    /// timeout.
    void fill() {
        burst_time_ = fill_time();
        account_new(options_.max_flows);
    }
    /// Then opens the flows that a large cache holds beyond max_flows; the next flow evicts.
    void overfill() {
        stop_the_clock();
        account_new(spare());
    }
    [[nodiscard]] std::uint64_t spare() const noexcept {
        return entries_for(options_) - options_.max_flows;
    }

    /// Packets of known flows.
    void account_known(std::uint64_t packets) {
        account(packets, [this] { return random_.below(options_.max_flows); });
    }
    /// One packet of each known flow.
    void account_each_once() {
        std::uint32_t flow = 0;
        account(options_.max_flows, [this, &flow] { return flow++ % options_.max_flows; });
    }
    /// Packets of new flows for a cache without room, after fill(), overfill() and
    /// account_each_once(). Meanwhile the clock passes most flows' idle time after their first
    /// packet, but no flow is idle yet. So each packet evicts, and some first search in vain for
    /// due flows.
    void evict(std::uint64_t packets) {
        const std::uint64_t bursts = (packets + kBurstPackets - 1) / kBurstPackets;
        burst_time_ =
            Timestamp::duration{options_.idle_timeout} * 9 / 10 / static_cast<std::int64_t>(bursts);
        account_new(packets);
    }
    /// Packets of unknown flows.
    void account_new(std::uint64_t packets) {
        account(packets, [this] { return next_flow_++; });
    }
    void hash_known(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            FlowHash all = 0;
            for (const KeyedPacket& packet :
                 burst_.make([this] { return random_.below(options_.max_flows); }, now_)) {
                all ^= hasher_(packet.key);
            }
            keep(all);
        }
    }
    /// Advances the clock by the time of so many packets, at the rate of the filling.
    void expire(std::uint64_t packets) {
        const Timestamp::duration step = fill_time();
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            now_ += step;
            cache_->expire_some(now_, 2 * kBurstPackets, sink);
        }
    }
    void stop_the_clock() noexcept { burst_time_ = {}; }
    [[nodiscard]] bool end_all() noexcept { return cache_->end_all(now_, sink); }
    [[nodiscard]] bool explicit_pages() const noexcept { return memory_.explicit_pages(); }

    CountingSink sink;
    std::unique_ptr<CacheCounters> counters;

private:
    [[nodiscard]] static FlowCacheOptions make_options(std::uint32_t flows) {
        FlowCacheOptions options;
        options.max_flows = flows;
        options.idle_timeout = kIdleTimeout;
        options.active_timeout = kActiveTimeout;
        return options;
    }

    /// Of a burst, if all flows open within an idle timeout.
    [[nodiscard]] Timestamp::duration fill_time() const noexcept {
        return Timestamp::duration{options_.idle_timeout} *
               static_cast<std::int64_t>(kBurstPackets) / options_.max_flows;
    }
    template <class NextFlow>
    void account(std::uint64_t packets, NextFlow next_flow) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            now_ += burst_time_;
            // A number of flows that is not a multiple of bursts must not overfill the cache.
            const auto count = std::min<std::uint64_t>(kBurstPackets, packets - done);
            cache_->account(burst_.make_for(*keyed_, next_flow, now_, count), sink);
        }
    }

    FlowCacheOptions options_;
    HugeMemory memory_;
    std::optional<Cache> cache_;
    std::unique_ptr<KeyedBurst> keyed_;
    MadeBurst burst_;
    FlowHasher hasher_{1};
    Random random_;
    Timestamp now_{};
    Timestamp::duration burst_time_{};
    std::uint32_t next_flow_ = 0;
};

}  // namespace tributary::perf
