// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowcache/flow_line.hpp"

namespace tributary {

/// Chooses whom a full cache gives up: of a few running flows, the one with the fewest packets, of
/// equal ones the longest silent. In a flood of single packets that is one of the flood, unless all
/// of the few are long-lived. The few lie far apart, one in each eighth of the entries, which a
/// cursor goes through:
///
///     entries  |  .        |  .        |  .        | ...        next_ = 2
///
/// Rejected: a few in a row, because flows that began together, as those from before a flood did,
/// lie together, and where the cursor meets only them one of them goes. The longest silent of all
/// would need a list that every packet reorders, and gives up a slow long-lived flow before the
/// flood's latest packets.
class EvictionCursor {
public:
    /// @param entries  at least one of them is running
    /// @param meter    tells how many packets an entry has
    /// @cost           kCandidates lines, each next to the one of the call before; more only where
    ///                 entries do not run
    template <class Entries, class Meter>
    [[nodiscard]] EntryIndex choose(const Entries& entries, const Meter& meter) noexcept {
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
        const FlowLine& line = entries.line(entry);
        constexpr std::ptrdiff_t kAhead = 4;
        __builtin_prefetch(&line + kAhead);
        if (!line.is_running()) {
            return {};
        }
        return {entry, meter.tally(entries, entry).packets, line.end};
    }
    [[nodiscard]] static Candidate better(const Candidate& a, const Candidate& b) noexcept {
        if (a.entry == kNoEntry || b.entry == kNoEntry) {
            return a.entry == kNoEntry ? b : a;
        }
        return b.packets < a.packets || (b.packets == a.packets && b.end < a.end) ? b : a;
    }

    std::size_t next_ = 0;
};

}  // namespace tributary
