// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "export/number_ranges.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

/// Numbers of one stream, all lost for one cause.
struct LostRange {
    std::uint64_t stream{};
    std::uint64_t first{};
    std::uint64_t last{};
    std::string_view cause;  ///< name_of(ExportLoss) or kRenumbered; a literal

    [[nodiscard]] std::uint64_t count() const noexcept { return last - first + 1; }
    friend bool operator==(const LostRange&, const LostRange&) = default;
};

/// The cause of a number whose record was handed back for another collector, or for a next process:
/// there it gets another number, in another stream.
inline constexpr std::string_view kRenumbered = "renumbered";

/// Which numbers a collector will never get, and why: a list of the latest ranges. A reader of the
/// collector's records looks for missing numbers there. What is in none of the ranges is counted.
class LostNumbers {
public:
    static constexpr std::size_t kMostRanges = 64;

    struct Reading {
        RecordNumber next;              ///< of the latest stream; stream 0: records have no numbers
        std::vector<LostRange> ranges;  ///< in the order in which they began
        std::uint64_t unlisted{};       ///< numbers that were lost and are in no range
    };

    /// The number that the next record gets.
    ///
    /// @thread  the one writer
    void set_next(const RecordNumber& next) noexcept;
    /// Adds a range, which becomes a part of a range beside it with the same cause. Where there are
    /// too many, the oldest one is counted as unlisted.
    ///
    /// @thread  the one writer
    /// @cost    a lock that only read() takes besides; no memory
    void add(const LostRange& range) noexcept;
    void add(const NumberRange& range, std::string_view cause) noexcept {
        add({.stream = range.stream, .first = range.first, .last = range.last, .cause = cause});
    }
    /// Records were lost whose numbers are not known.
    ///
    /// @thread  the one writer
    void add_unlisted(std::uint64_t records) noexcept { unlisted_.add(records); }
    /// @thread  any
    [[nodiscard]] Reading read() const;

private:
    void remove(std::size_t index) noexcept;

    Counter stream_;
    Counter next_;
    Counter unlisted_;
    mutable std::mutex mutex_;  ///< of what follows, and of a change of the stream
    std::array<LostRange, kMostRanges> ranges_;
    std::size_t count_{};
};

}  // namespace tributary
