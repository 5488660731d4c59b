// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "flowcache/due_times.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Remembers how far a cache that needs entries has looked for flows that are due, a few entries
/// for each packet, and until when a whole round has shown that there is none. Without that a flood
/// would pay for the same search with each of its packets.
///
/// It has a cursor of its own: the walk that expires flows passes most entries well before they are
/// due, and would tell little.
class DueSearch {
public:
    /// Whether some flow may be due.
    [[nodiscard]] bool is_worthwhile(Timestamp now) const noexcept { return now > nothing_until_; }
    /// Must be told of each deadline that is new, or earlier than before.
    void scheduled(Timestamp deadline) noexcept {
        nothing_until_ = std::min(nothing_until_, deadline);
        earliest_ = std::min(earliest_, deadline);
    }
    /// @param entries   that the cursor went past
    /// @param earliest  none of them that still runs has an earlier deadline, unless scheduled()
    ///                  was told of it
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
