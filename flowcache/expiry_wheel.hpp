// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "parsers/units.hpp"

namespace tributary {

/// Index of an entry in a cache's entry array.
using EntryIndex = std::uint32_t;
inline constexpr EntryIndex kNoEntry = 0xFFFF'FFFF;

/// Neighbours in a circular list of entries.
struct EntryLinks {
    EntryIndex previous = kNoEntry;
    EntryIndex next = kNoEntry;
};

/// Appends `entry` to the circular list whose first entry is `head`.
template <class Entries>
void link_last(Entries entries, EntryIndex& head, EntryIndex entry) noexcept {
    if (head == kNoEntry) {
        entries[entry].links = {.previous = entry, .next = entry};
        head = entry;
        return;
    }
    const EntryIndex last = entries[head].links.previous;
    entries[entry].links = {.previous = last, .next = head};
    entries[last].links.next = entry;
    entries[head].links.previous = entry;
}

/// Takes `entry` out of the circular list whose first entry is `head`.
template <class Entries>
void unlink(Entries entries, EntryIndex& head, EntryIndex entry) noexcept {
    const EntryLinks links = entries[entry].links;
    if (links.next == entry) {
        head = kNoEntry;
        return;
    }
    entries[links.previous].links.next = links.next;
    entries[links.next].links.previous = links.previous;
    if (head == entry) {
        head = links.next;
    }
}

/// A timing wheel: which flows to look at when.
///
///     slots    | t | t+1 | t+2 | ... | t+kSlots-1 |     each the head of a circular list of
///     entries
///                ^ next_tick
///
/// An entry waits in the slot of its deadline as it was when it was scheduled. Packets move
/// deadlines but never touch the wheel: when the slot's tick is over, whoever walks it tests the
/// deadline of the moment and schedules the entry again if it is later. So a flow costs one visit
/// per timeout, not per packet. A deadline beyond the wheel's span waits in its last slot and is
/// scheduled again from there.
///
/// Rejected: a walk over all entries (at 20 M flows it visits far more entries than are due), and
/// lists in order of the last packet (two more cache misses per packet).
class ExpiryWheel {
public:
    /// A tick is 2^24 ns, about 17 ms; the span is 2^14 ticks, about 275 s.
    static constexpr unsigned kTickBits = 24;
    static constexpr std::size_t kSlots = 1U << 14U;

    /// @param slots  kSlots heads, owned by the cache's memory
    explicit ExpiryWheel(std::span<EntryIndex> slots) noexcept : slots_(slots) {
        std::ranges::fill(slots_, kNoEntry);
    }

    [[nodiscard]] static std::uint64_t tick_of(Timestamp time) noexcept {
        return static_cast<std::uint64_t>(time.time_since_epoch().count()) >> kTickBits;
    }

    /// The first tick whose slot has not been walked to its end.
    [[nodiscard]] std::uint64_t next_tick() const noexcept { return next_tick_; }
    /// The head of the slot of next_tick().
    [[nodiscard]] EntryIndex& due_slot() noexcept { return slot(next_tick_); }

    /// Puts an entry into the slot of `deadline`; returns the tick, for remove().
    template <class Entries>
    std::uint64_t schedule(Entries entries, EntryIndex entry, Timestamp deadline) noexcept {
        const std::uint64_t tick =
            std::clamp(tick_of(deadline), next_tick_, next_tick_ + kSlots - 1);
        link_last(entries, slot(tick), entry);
        return tick;
    }
    /// Takes out an entry that schedule() put at `tick`.
    template <class Entries>
    void remove(Entries entries, EntryIndex entry, std::uint64_t tick) noexcept {
        unlink(entries, slot(tick), entry);
    }

    /// Goes on to the next tick, once due_slot() is empty or `now` is a wheel's span ahead.
    void advance(Timestamp now) noexcept {
        const std::uint64_t current = tick_of(now);
        next_tick_ += 1;
        // After a leap of more than the span each slot needs one visit, in any order.
        next_tick_ = std::max(next_tick_, current > kSlots ? current - kSlots : 0);
    }
    /// Leaps to `now`; only for a wheel without entries.
    void leap(Timestamp now) noexcept { next_tick_ = std::max(next_tick_, tick_of(now)); }

private:
    [[nodiscard]] EntryIndex& slot(std::uint64_t tick) noexcept { return slots_[tick % kSlots]; }

    std::span<EntryIndex> slots_;
    std::uint64_t next_tick_ = 0;
};

}  // namespace tributary
