// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "flowcache/cache_scan.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Handles two events of a cache's clock: its ticks run out, or it goes back because the host's
/// clock was set. In the latter case flows with a packet from after the clock end, some at each
/// step, and each at the latest with its next packet. Their deadlines are those of a time that may
/// be far away, and a record with packets of both times would be wrong.
///
/// @thread  the thread that owns the cache
class CacheClock {
public:
    /// Whether flows may have packets from after the clock of this packet.
    template <class Cache>
    [[nodiscard]] bool has_gone_back(const Cache& cache, const KeyedPacket& first) const noexcept {
        return is_turning_back_ || cache.walk_pace_.is_ahead_of(first.packet->clock);
    }
    /// Accounts packets after the clock has gone back: the entry of each packet is tested.
    template <class Cache, class Sink>
    [[gnu::noinline]] static void account(Cache& cache, std::span<KeyedPacket> packets,
                                          Sink& sink) noexcept {
        for (KeyedPacket& packet : packets) {
            BurstCounts counts(&packet);
            counts.add(packet);
            counts.move_to(cache.counters_, &packet + 1);
            cache.account_change(packet, sink);
        }
    }
    /// @param budget  entries to visit at the most
    template <class Cache, class Sink>
    void follow(Cache& cache, Timestamp now, std::size_t budget, Sink& sink) noexcept {
        if (cache.walk_pace_.is_ahead_of(now)) [[unlikely]] {
            cache.walk_pace_.go_back(now);
            cache.search_.scheduled(now);
            if (!cache.due_.has_tick(now)) {
                cache.due_.set_base(now);  // entries from before are found early, and end
            }
            scan_ = {};
            is_turning_back_ = true;
        }
        if (is_turning_back_) [[unlikely]] {
            is_turning_back_ = !scan_.end_or_reschedule_some(cache, budget, [&](EntryIndex entry) {
                return end_if_over(cache, entry, now, sink);
            });
        }
        renew_base(cache, now);
    }
    /// Counts ticks anew from `now` where they run out.
    template <class Cache>
    static void renew_base(Cache& cache, Timestamp now) noexcept {
        if (cache.due_.needs_new_base(now)) {
            cache.due_.set_base(now);
            static_cast<void>(CacheScan().schedule_some(cache, cache.entries_.used()));
        }
    }
    /// Ends an entry whose deadline is before `clock`, or that has a packet from after it.
    /// @return  true: the flow has ended
    template <class Cache, class Sink>
    [[nodiscard]] static bool end_if_over(Cache& cache, EntryIndex entry, Timestamp clock,
                                          Sink& sink) noexcept {
        if (cache.expire_if_due(entry, clock, sink)) {
            return true;
        }
        const bool is_overtaken = cache.entries_.hot(entry).end > clock;
        if (is_overtaken) [[unlikely]] {
            cache.end(entry, FlowEndReason::forced_end, sink);
        }
        return is_overtaken;
    }

private:
    CacheScan scan_;  ///< after the clock has gone back
    bool is_turning_back_ = false;
};

}  // namespace tributary
