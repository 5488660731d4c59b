// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tributary {

/// What identifies a record of a format that numbers them.
struct RecordNumber {
    std::uint64_t stream{};
    std::uint64_t sequence{};

    friend bool operator==(const RecordNumber&, const RecordNumber&) = default;
};

/// Consecutive numbers of one stream.
struct NumberRange {
    std::uint64_t stream{};
    std::uint64_t first{};
    std::uint64_t last{};

    [[nodiscard]] bool is_followed_by(const RecordNumber& number) const noexcept {
        return stream == number.stream && last + 1 == number.sequence;
    }
    friend auto operator<=>(const NumberRange&, const NumberRange&) = default;
};

/// Gets ranges one by one.
using NumberRangeHandler = std::function<void(const NumberRange&)>;

/// The numbers of records that are in one place, such as a file of a spool. Numbers that were given
/// one behind the other are one range, so this is small.
class NumberRanges {
public:
    /// @param range  none of its numbers may have been added before
    /// @errors  std::bad_alloc: nothing has changed
    void add(const NumberRange& range);
    /// Reserves memory, so that so many calls of take() need none.
    ///
    /// @errors  std::bad_alloc: nothing has changed
    void make_room(std::size_t takes) { ranges_.reserve(ranges_.size() + takes); }
    /// Removes numbers. A range that is not here as a whole stays as it is.
    ///
    /// @cost  no memory after add() of the same range, or make_room()
    void take(const NumberRange& range) noexcept;
    /// Removes all of them; they are in order.
    [[nodiscard]] std::vector<NumberRange> take_all() noexcept {
        return std::exchange(ranges_, {});
    }

private:
    std::vector<NumberRange> ranges_;  ///< in order, and no two are neighbours
};

}  // namespace tributary
