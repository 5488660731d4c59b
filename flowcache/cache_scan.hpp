// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "flowcache/hot_entry.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// One pass over all entries of a cache, some of them at a time, so that packets are accounted in
/// between. It ends the flows, copies their records, or renews their due times. It does not meet a
/// flow that begins behind the scan.
///
/// Each function returns whether the scan has come to its end.
/// @thread  the thread that owns the cache, between two bursts
/// @cost    one cache line per entry, in the order of memory; the state of a compact flow too
class CacheScan {
public:
    /// Ends running flows, with the reason of their deadline where that has passed, else
    /// `forced_end`. While the sink is full the scan does not advance.
    ///
    /// @param most  entries that are passed
    template <class Cache, class Sink>
    [[nodiscard]] bool end_some(Cache& cache, std::size_t most, Timestamp now,
                                Sink& sink) noexcept {
        cache.forget_burst();
        cache.release_waiting(most, sink);
        for (; most > 0 && has_more(cache) && cache.entries_.first_waiting() == kNoEntry; --most) {
            const EntryIndex last = cache.entries_.used() - 1;
            const HotEntry& later = cache.entries_.hot(std::min(next_ + EntryIndex{kAhead}, last));
            cache.index_.prefetch_bucket(later.is_running() ? later.bucket : 0);
            if (cache.entries_.hot(next_).is_running() && !cache.expire_if_due(next_, now, sink)) {
                cache.end(next_, FlowEndReason::forced_end, sink);
            }
            ++next_;
        }
        return !has_more(cache);
    }

    /// Copies the records that running flows have now; the reason of their end is `none`.
    /// Compact flows are expanded.
    ///
    /// @param most  entries that are passed
    /// @param look  called with each record; false: the scan stops behind it
    template <class Cache, class Look>
    [[nodiscard]] bool copy_some(Cache& cache, std::size_t most, Look look) noexcept {
        bool continues = true;
        for (; most > 0 && has_more(cache) && continues; --most) {
            const EntryIndex entry = next_++;
            if (cache.entries_.hot(entry).is_running() &&
                !cache.update_.is_empty(cache.entries_.hot(entry))) {
                typename Cache::Record record;
                cache.update_.write_expanded(cache.entries_, entry, record);
                continues = look(record);
            }
        }
        return !has_more(cache);
    }

    /// Gives running flows the due times that follow from the cache's present timeouts.
    ///
    /// @param most  entries that are passed
    template <class Cache>
    [[nodiscard]] bool schedule_some(Cache& cache, std::size_t most) noexcept {
        for (; most > 0 && has_more(cache); --most) {
            const EntryIndex entry = next_++;
            if (cache.entries_.hot(entry).is_running()) {
                cache.schedule(entry);
            }
        }
        return !has_more(cache);
    }

    /// Gives running flows new due times, unless `end_if_over` ends them. While records wait for
    /// room in the sink the scan does not advance.
    ///
    /// @param most         entries that are passed
    /// @param end_if_over  called with each running entry; returns true where it ended the flow
    template <class Cache, class EndIfOver>
    [[nodiscard]] bool end_or_reschedule_some(Cache& cache, std::size_t most,
                                              EndIfOver end_if_over) noexcept {
        for (; most > 0 && has_more(cache) && cache.entries_.first_waiting() == kNoEntry; --most) {
            const EntryIndex entry = next_++;
            if (cache.entries_.hot(entry).is_running() && !end_if_over(entry)) {
                cache.schedule(entry);
            }
        }
        return !has_more(cache);
    }

    friend bool operator==(const CacheScan&, const CacheScan&) = default;

private:
    /// Entries between the prefetch of a bucket and the removal of its entry.
    static constexpr std::size_t kAhead = 16;

    template <class Cache>
    [[nodiscard]] bool has_more(const Cache& cache) const noexcept {
        return next_ < cache.entries_.used();
    }

    EntryIndex next_ = 0;
};

}  // namespace tributary
