// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "flowcache/flow_line.hpp"

namespace tributary {

/// Chooses whom a full cache gives up: of a few running flows at a cursor that goes round, the one
/// with the fewest packets, of equal ones the longest silent. In a flood of single packets that is
/// one of the flood, unless all of the few are long-lived.
///
/// Rejected: the longest silent of all would need a list that every packet reorders, and gives up
/// a slow long-lived flow before the flood's latest packets.
class EvictionCursor {
public:
    /// @param entries  all used, at least one running
    /// @cost           kCandidates lines in a row, and those of entries that do not run between
    /// them
    template <class Entries>
    [[nodiscard]] EntryIndex choose(const Entries& entries) noexcept {
        EntryIndex best = kNoEntry;
        for (std::size_t looked = 0; looked < kCandidates || best == kNoEntry; ++looked) {
            const EntryIndex entry = next_;
            next_ = entry + 1 == entries.used() ? 0 : entry + 1;
            const FlowLine& line = entries.line(entry);
            __builtin_prefetch(&line + kCandidates);
            if (line.is_running() && (best == kNoEntry || is_less(line, entries.line(best)))) {
                best = entry;
            }
        }
        return best;
    }

private:
    static constexpr std::size_t kCandidates = 8;

    [[nodiscard]] static bool is_less(const FlowLine& a, const FlowLine& b) noexcept {
        return a.packets != b.packets ? a.packets < b.packets : a.end < b.end;
    }

    EntryIndex next_ = 0;
};

}  // namespace tributary
