// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/hot_entry.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// When a record has to end, and why. A packet exactly at the deadline still belongs to it.
struct Deadline {
    Timestamp at;
    FlowEndReason reason;
};

/// The timeouts of a cache, in the packets' unit: the options are in seconds, and every packet's
/// deadline would multiply them.
struct Timeouts {
    Timestamp::duration idle;
    Timestamp::duration active;
    Timestamp::duration tcp_end;  ///< not longer than `idle`

    // NOLINTNEXTLINE(google-explicit-constructor): the options say no more about deadlines
    Timeouts(const FlowCacheOptions& options) noexcept
        : idle(options.idle_timeout),
          active(options.active_timeout),
          tcp_end(std::min(options.tcp_end_timeout, options.idle_timeout)) {}
};

/// The earlier of a record's two deadlines, as its packets from `start` to `end` have made them.
[[nodiscard]] inline Deadline deadline_of(Timestamp start, Timestamp end,
                                          const Timeouts& timeouts) noexcept {
    const Timestamp idle = end + timeouts.idle;
    const Timestamp active = start + timeouts.active;
    if (idle <= active) {
        return {idle, FlowEndReason::idle_timeout};
    }
    return {active, FlowEndReason::active_timeout};
}
/// The same of a record whose connection's end was seen. If both are the same time, the reason is
/// the active timeout, which says more: the record might have gone on.
[[nodiscard]] inline Deadline deadline_behind_end(Timestamp start, Timestamp end,
                                                  const Timeouts& timeouts) noexcept {
    const Timestamp silent = end + timeouts.tcp_end;
    const Timestamp active = start + timeouts.active;
    if (silent < active) {
        return {silent, FlowEndReason::end_of_flow};
    }
    return {active, FlowEndReason::active_timeout};
}

// When each flow is tested. One number per entry, in one array that is walked from end to end again
// and again:
//
//     due[entry]   ticks since base_, at or before the entry's deadline; kNever: it does not run
//
// Packets move deadlines but never touch this array: the walk tests the entry's present deadline
// and writes the new one. So a flow costs one visit per timeout, and none per packet. A walk over
// 20 M flows reads 80 MB in order, sixteen entries per comparison: some milliseconds, twice a
// second. It finds entries in the order of the array, which is not that of their deadlines, so
// flows that began in one burst leave spread over half a second.
//
// Rejected: a timing wheel of linked entries. It is exact to the millisecond, but takes eight bytes
// of the HotEntry, touches two other flows' cache lines for each flow that begins or ends, and ends
// all flows of a burst at once.

class DueTimes {
public:
    using Tick = std::uint32_t;
    static constexpr Tick kNever = 0xFFFF'FFFF;
    /// Entries that a walk compares at once; the array is a multiple of it.
    static constexpr std::size_t kBlock = 16;

    /// @param due  at least as many as there are entries, a multiple of kBlock
    explicit DueTimes(std::span<Tick> due) noexcept : due_(due) {}

    [[nodiscard]] static std::size_t size_for(std::size_t entries) noexcept {
        return (entries + kBlock - 1) / kBlock * kBlock;
    }

    /// Entries below `entries` are walked from now on. Call it before set() of one that may be used
    /// for the first time.
    void grow(EntryIndex entries) noexcept {
        if (entries > walked_) {
            std::ranges::fill(due_.subspan(walked_, kBlock), kNever);
            walked_ += kBlock;
        }
    }

    void set(EntryIndex entry, Timestamp deadline) noexcept { due_[entry] = tick_of(deadline); }
    void clear(EntryIndex entry) noexcept { due_[entry] = kNever; }

    /// The tick of a time: the array holds it for deadlines from then on, up to 67 ms later.
    [[nodiscard]] Tick tick_of(Timestamp time) const noexcept {
        if (time < base_) {
            return 0;
        }
        const auto ticks = static_cast<std::uint64_t>((time - base_).count()) >> kTickShift;
        return static_cast<Tick>(std::min<std::uint64_t>(ticks, kNever - 1));
    }
    [[nodiscard]] Timestamp start_of(Tick tick) const noexcept {
        return base_ +
               Timestamp::duration{static_cast<std::int64_t>(std::uint64_t{tick} << kTickShift)};
    }

    /// Whether ticks run out: every four years of packet time, and at the first packet.
    [[nodiscard]] bool needs_new_base(Timestamp now) const noexcept {
        return now - base_ > kBaseLifetime;
    }
    /// Whether `now` is a time from which on deadlines have ticks.
    [[nodiscard]] bool has_tick(Timestamp now) const noexcept { return now >= base_; }
    /// After this every running entry needs set(); until then it may be found early.
    void set_base(Timestamp now) noexcept { base_ = now; }

    /// Position of a walk. Each walk has its own.
    struct Cursor {
        std::size_t at = 0;
    };

    /// Walks on from where the cursor's last walk ended, round the end of the array.
    ///
    /// @param most   entries to pass at the most; reduced by those that were passed
    /// @param until  entries with this tick or an earlier one are found
    /// @param found  filled from the front; the walk ends early when it is full
    /// @return       how many were found
    /// @cost         one comparison for kBlock entries of which none is found
    [[nodiscard]] std::size_t walk(Cursor& cursor, std::size_t& most, Tick until,
                                   std::span<EntryIndex> found) const noexcept {
        std::size_t count = 0;
        while (most > 0 && walked_ > 0 && count < found.size()) {
            if (cursor.at % kBlock == 0 && !has_due(cursor.at, until)) {
                most -= std::min(most, kBlock);
                step(cursor, kBlock);
                continue;
            }
            if (due_[cursor.at] <= until) {
                found[count] = static_cast<EntryIndex>(cursor.at);
                ++count;
            }
            --most;
            step(cursor, 1);
        }
        return count;
    }
    /// Entries that are walked, those that do not run included.
    [[nodiscard]] std::size_t walked() const noexcept { return walked_; }

private:
    static constexpr unsigned kTickShift = 26;  ///< 2^26 ns, 67 ms
    static constexpr Timestamp::duration kBaseLifetime{std::int64_t{1} << (31 + kTickShift)};

    /// By hand, because g++ 12 makes some thirty instructions of a loop.
    [[nodiscard]] bool has_due(std::size_t block, Tick until) const noexcept {
        static_assert(kBlock * sizeof(Tick) == 2 * sizeof(__m256i));
        const auto* const at = reinterpret_cast<const __m256i*>(&due_[block]);
        const __m256i earlier =
            _mm256_min_epu32(_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1));
        const __m256i limit = _mm256_set1_epi32(static_cast<int>(until));
        const __m256i is_due = _mm256_cmpeq_epi32(_mm256_min_epu32(earlier, limit), earlier);
        return _mm256_testz_si256(is_due, is_due) == 0;
    }
    void step(Cursor& cursor, std::size_t entries) const noexcept {
        cursor.at += entries;
        if (cursor.at >= walked_) {
            cursor.at = 0;
        }
    }

    std::span<Tick> due_;
    Timestamp base_{};
    std::size_t walked_ = 0;  ///< a multiple of kBlock
};

/// How far to walk at each step, so that a whole walk takes kPeriod of packet time.
class WalkPace {
public:
    /// @param entries  in a whole walk, a multiple of DueTimes::kBlock
    /// @return         entries to pass now, whole blocks; a bounded number, and never more than a
    ///                 whole walk
    [[nodiscard]] std::size_t entries_until(Timestamp now, std::size_t entries) noexcept {
        if (now > last_) {
            owed_ = std::min(kPeriod, owed_ + std::min(kPeriod, now - last_));
            last_ = now;
        }
        const std::uint64_t owed =
            static_cast<std::uint64_t>(owed_.count()) * entries / kPeriod.count();
        return std::min({owed, entries, kMost}) / DueTimes::kBlock * DueTimes::kBlock;
    }
    /// Whether time has gone back since the last entries_until().
    [[nodiscard]] bool is_ahead_of(Timestamp now) const noexcept { return last_ > now; }
    void go_back(Timestamp now) noexcept { last_ = now; }
    /// @param passed  of what entries_until() returned
    void passed(std::size_t passed, std::size_t entries) noexcept {
        const auto paid = passed * static_cast<std::uint64_t>(kPeriod.count()) / (entries + 1);
        owed_ -= std::min(owed_, Timestamp::duration{static_cast<std::int64_t>(paid)});
    }

private:
    static constexpr Timestamp::duration kPeriod = std::chrono::milliseconds(500);
    static constexpr std::size_t kMost = 65'536;

    Timestamp last_{};
    Timestamp::duration owed_{};  ///< time that was not walked for
};

/// Remembers how far a cache that needs entries has searched for due flows, a few entries for each
/// packet, and until when a whole round has found none. Without that a flood would pay for the same
/// search with each of its packets.
///
/// It has a cursor of its own: the walk that expires flows passes most entries well before they are
/// due, and would find little.
class DueSearch {
public:
    /// Whether some flow may be due.
    [[nodiscard]] bool is_worthwhile(Timestamp now) const noexcept { return now > nothing_until_; }
    /// Required for each deadline that is new, or earlier than before.
    void scheduled(Timestamp deadline) noexcept {
        nothing_until_ = std::min(nothing_until_, deadline);
        earliest_ = std::min(earliest_, deadline);
    }
    /// @param entries   that the cursor went past
    /// @param earliest  none of them that still runs has an earlier deadline, unless scheduled()
    ///                  was called with it
    /// @param round     entries of a whole round, now
    void passed(std::size_t entries, Timestamp earliest, std::size_t round) noexcept {
        passed_ += entries;
        earliest_ = std::min(earliest_, earliest);
        if (passed_ >= round) {
            nothing_until_ = earliest_;
            earliest_ = Timestamp::max();
            passed_ = 0;
        }
    }

    DueTimes::Cursor cursor;

private:
    Timestamp nothing_until_ = Timestamp::max();  ///< no running flow's deadline is earlier
    Timestamp earliest_ = Timestamp::max();       ///< of this round so far
    std::size_t passed_ = 0;                      ///< in this round
};

}  // namespace tributary
