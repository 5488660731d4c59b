// SPDX-License-Identifier: Apache-2.0
#include "export/lost_numbers.hpp"

#include <algorithm>
#include <cstddef>

namespace tributary {
namespace {

/// Whether `second` begins right behind `first`, and has the same cause.
bool are_neighbours(const LostRange& first, const LostRange& second) noexcept {
    const NumberRange numbers{first.stream, first.first, first.last};
    return numbers.is_followed_by({second.stream, second.first}) && first.cause == second.cause;
}

}  // namespace

void LostNumbers::set_next(const RecordNumber& next) noexcept {
    if (next.stream == stream_.read()) {
        next_.set(next.sequence);
        return;
    }
    const std::lock_guard lock(mutex_);
    stream_.set(next.stream);
    next_.set(next.sequence);
}

void LostNumbers::add(const LostRange& range) noexcept {
    const std::lock_guard lock(mutex_);
    LostRange added = range;
    std::size_t place = count_;  // of the oldest range that becomes a part of it
    for (std::size_t index = 0; index < count_;) {
        const LostRange& other = ranges_[index];
        if (!are_neighbours(other, added) && !are_neighbours(added, other)) {
            ++index;
            continue;
        }
        added.first = std::min(added.first, other.first);
        added.last = std::max(added.last, other.last);
        if (place == count_) {
            place = index++;
        } else {
            remove(index);
        }
    }
    if (place == count_ && count_ == kMostRanges) {
        unlisted_.add(ranges_.front().count());
        remove(0);
        place = count_;
    }
    count_ += place == count_ ? 1 : 0;
    ranges_[place] = added;
}

void LostNumbers::remove(std::size_t index) noexcept {
    const auto behind = ranges_.begin() + static_cast<std::ptrdiff_t>(index) + 1;
    std::copy(behind, ranges_.begin() + static_cast<std::ptrdiff_t>(count_), behind - 1);
    --count_;
}

LostNumbers::Reading LostNumbers::read() const {
    const std::lock_guard lock(mutex_);
    return {.next = {.stream = stream_.read(), .sequence = next_.read()},
            .ranges = {ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(count_)},
            .unlisted = unlisted_.read()};
}

}  // namespace tributary
