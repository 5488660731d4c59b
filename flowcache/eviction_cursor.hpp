// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "flowcache/flow_line.hpp"
#include "flowcache/record/prefetch.hpp"
#include "flowcache/slice_map.hpp"

namespace tributary {

/// Chooses whom a full cache gives up: of a few running flows, one that has run for less than an
/// active timeout, if there is one; of those the one with the fewest packets, of equal ones the
/// longest silent. In a flood of single packets that is one of the flood, unless all of the few are
/// long-lived. The few lie far apart, one in each eighth of the entries, which a cursor goes
/// through:
///
///     entries  |  .        |  .        |  .        | ...        next_ = 2
///
/// Rejected: a few in a row, because flows that began together, as those from before a flood did,
/// lie together, and where the cursor meets only them one of them goes. The longest silent of all
/// would need a list that every packet reorders, and gives up a slow long-lived flow before the
/// flood's latest packets.
///
/// An empty slice is a long-lived flow, but has no record: while there are more than most_slices(),
/// one of them goes first, and its history with it. So while a flood lasts, long-lived flows are
/// safe as long as no more of them than that are cut within one idle timeout, before their next
/// packets: in a large cache a thirty-second of `max_flows`, in a small one none.
class EvictionCursor {
public:
    /// @param most_slices  of cache_size.hpp
    explicit EvictionCursor(std::size_t most_slices) noexcept : most_slices_(most_slices) {}

    /// @param entries  all are taken, and at least one of them is running
    /// @param meter    tells how many packets an entry has
    /// @param slices   the empty ones
    /// @cost           kCandidates lines, each next to the one of the call before, and states of
    ///                 compact flows; more only where entries do not run. A slice:
    ///                 SliceMap::next()
    template <class Entries, class Meter>
    [[nodiscard]] EntryIndex choose(const Entries& entries, const Meter& meter,
                                    SliceMap& slices) noexcept {
        if (slices.count() > most_slices_) {
            return slices.next();
        }
        const std::size_t part = (entries.used() + kCandidates - 1) / kCandidates;
        Candidate best;
        do {
            for (std::size_t n = 0; n < kCandidates; ++n) {
                const auto entry = static_cast<EntryIndex>(n * part + next_);
                best = better(best, candidate(entries, meter, entry));
            }
            next_ = next_ + 1 < part ? next_ + 1 : 0;
        } while (best.entry == kNoEntry);
        return best.entry;
    }

private:
    static constexpr std::size_t kCandidates = 8;

    struct Candidate {
        EntryIndex entry = kNoEntry;
        bool was_cut{};
        std::uint64_t packets{};
        Timestamp end{};
    };
    /// @return  kNoEntry: there is none, or it does not run
    template <class Entries, class Meter>
    [[nodiscard]] static Candidate candidate(const Entries& entries, const Meter& meter,
                                             EntryIndex entry) noexcept {
        if (entry >= entries.used()) {
            return {};
        }
        FlowLine& line = entries.line(entry);
        constexpr EntryIndex kAhead = 4;
        prefetch_to_read(&entries.line(std::min(entry + kAhead, entries.used() - 1)));
        if (!line.is_running()) {
            return {};
        }
        return {entry, line.was_cut != 0, meter.tally(line).packets, line.end};
    }
    [[nodiscard]] static Candidate better(const Candidate& a, const Candidate& b) noexcept {
        if (a.entry == kNoEntry || b.entry == kNoEntry) {
            return a.entry == kNoEntry ? b : a;
        }
        return std::tie(b.was_cut, b.packets, b.end) < std::tie(a.was_cut, a.packets, a.end) ? b
                                                                                             : a;
    }

    std::size_t most_slices_;
    std::size_t next_ = 0;
};

}  // namespace tributary
