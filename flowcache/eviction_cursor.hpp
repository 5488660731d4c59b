// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

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
    /// @param meter    tells how many packets an entry has
    /// @cost           kCandidates lines in a row, and those of entries that do not run between
    ///                 them
    template <class Entries, class Meter>
    [[nodiscard]] EntryIndex choose(const Entries& entries, const Meter& meter) noexcept {
        EntryIndex best = kNoEntry;
        std::uint64_t fewest = 0;
        for (std::size_t looked = 0; looked < kCandidates || best == kNoEntry; ++looked) {
            const EntryIndex entry = next_;
            next_ = entry + 1 == entries.used() ? 0 : entry + 1;
            const FlowLine& line = entries.line(entry);
            __builtin_prefetch(&line + kCandidates);
            if (!line.is_running()) {
                continue;
            }
            const std::uint64_t packets = meter.tally(entries, entry).packets;
            const bool is_longer_silent = best != kNoEntry && line.end < entries.line(best).end;
            if (best == kNoEntry || packets < fewest || (packets == fewest && is_longer_silent)) {
                best = entry;
                fewest = packets;
            }
        }
        return best;
    }

private:
    static constexpr std::size_t kCandidates = 8;

    EntryIndex next_ = 0;
};

}  // namespace tributary
