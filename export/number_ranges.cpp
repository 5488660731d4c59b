// SPDX-License-Identifier: Apache-2.0
#include "export/number_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace tributary {
namespace {

bool are_neighbours(const NumberRange& first, const NumberRange& second) noexcept {
    return first.is_followed_by({.stream = second.stream, .sequence = second.first});
}

}  // namespace

void NumberRanges::add(const NumberRange& range) {
    const auto behind = std::ranges::upper_bound(ranges_, range);
    const bool joins_before =
        behind != ranges_.begin() && are_neighbours(*std::prev(behind), range);
    const bool joins_behind = behind != ranges_.end() && are_neighbours(range, *behind);
    if (joins_before && joins_behind) {
        std::prev(behind)->last = behind->last;
        ranges_.erase(behind);
    } else if (joins_before) {
        std::prev(behind)->last = range.last;
    } else if (joins_behind) {
        behind->first = range.first;
    } else {
        ranges_.insert(behind, range);
    }
}

void NumberRanges::take(const NumberRange& range) noexcept {
    const NumberRange ends_last{.stream = range.stream, .first = range.first, .last = UINT64_MAX};
    auto from = std::ranges::upper_bound(ranges_, ends_last);
    if (from == ranges_.begin()) {
        return;
    }
    --from;
    if (from->stream != range.stream || from->last < range.last) {
        return;
    }
    const NumberRange rest{.stream = range.stream, .first = range.last + 1, .last = from->last};
    const bool has_before = from->first < range.first;
    const bool has_behind = range.last < from->last;
    if (has_before) {
        from->last = range.first - 1;
    }
    if (has_before && has_behind) {
        ranges_.insert(std::next(from), rest);
    } else if (has_behind) {
        *from = rest;
    } else if (!has_before) {
        ranges_.erase(from);
    }
}

}  // namespace tributary
