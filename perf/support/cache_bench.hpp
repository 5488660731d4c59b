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

/// Takes every record, and keeps the sum of what they hold.
struct CountingSink {
    RecordTally tally;
    bool try_push(const FlowRecord<kPlainRecord>& record) noexcept {
        tally += record.core.tally();
        return true;
    }
};

/// A flow cache alone, with packets that are already parsed.
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
    /// Opens all flows that there is room for, one after the other, evenly within an idle timeout.
    void fill() {
        burst_time_ = fill_time();
        account_new(options_.max_flows);
    }
    /// Then those that a large cache holds beyond max_flows; the next one evicts.
    void overfill() {
        stop_the_clock();
        account_new(spare());
    }
    [[nodiscard]] std::uint64_t spare() const noexcept {
        return entries_for(options_) - options_.max_flows;
    }

    /// Packets of flows that the cache has.
    void account_known(std::uint64_t packets) {
        account(packets, [this] { return random_.below(options_.max_flows); });
    }
    /// One packet of each flow that the cache has.
    void account_each_once() {
        std::uint32_t flow = 0;
        account(options_.max_flows, [this, &flow] { return flow++ % options_.max_flows; });
    }
    /// Packets of flows that a cache, in which fill(), overfill() and account_each_once() were
    /// called, has no room for. Meanwhile the clock passes most of the times at which its flows
    /// would have been idle after their first packet, and none at which one really is; so each
    /// packet evicts, and some first look in vain for what is due.
    void evict(std::uint64_t packets) {
        const std::uint64_t bursts = (packets + kBurstPackets - 1) / kBurstPackets;
        burst_time_ =
            Timestamp::duration{options_.idle_timeout} * 9 / 10 / static_cast<std::int64_t>(bursts);
        account_new(packets);
    }
    /// Packets of flows that the cache does not have.
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
    /// Lets the clock walk on, as many packets' time as it took to fill the cache.
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

    /// Of a burst, when all flows open within an idle timeout.
    [[nodiscard]] Timestamp::duration fill_time() const noexcept {
        return Timestamp::duration{options_.idle_timeout} *
               static_cast<std::int64_t>(kBurstPackets) / options_.max_flows;
    }
    template <class NextFlow>
    void account(std::uint64_t packets, NextFlow next_flow) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            now_ += burst_time_;
            // A number of flows that is no whole number of bursts must not overfill the cache.
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
