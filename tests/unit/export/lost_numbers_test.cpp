// SPDX-License-Identifier: Apache-2.0
#include "export/lost_numbers.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace tributary;

namespace {

constexpr std::string_view kAway = "collector_away";
constexpr std::string_view kFull = "buffer_full";

}  // namespace

TEST_CASE("LostNumbers: neighbours of one cause and stream are one range", "[export][unit]") {
    LostNumbers numbers;
    numbers.set_next({.stream = 1, .sequence = 30});
    numbers.add({1, 0, 3, kAway});
    numbers.add({1, 8, 9, kAway});
    numbers.add({1, 10, 10, kFull});
    numbers.add({2, 4, 4, kAway});
    CHECK(numbers.read().ranges ==
          std::vector<LostRange>{
              {1, 0, 3, kAway}, {1, 8, 9, kAway}, {1, 10, 10, kFull}, {2, 4, 4, kAway}});
    numbers.add({1, 4, 7, kAway});  // between two of them
    numbers.add({1, 11, 11, kAway});
    CHECK(numbers.read().ranges ==
          std::vector<LostRange>{
              {1, 0, 9, kAway}, {1, 10, 10, kFull}, {2, 4, 4, kAway}, {1, 11, 11, kAway}});
    CHECK(numbers.read().next == RecordNumber{.stream = 1, .sequence = 30});
    CHECK(numbers.read().unlisted == 0);
}

TEST_CASE("LostNumbers: the oldest ranges make room, and are counted", "[export][unit]") {
    LostNumbers numbers;
    constexpr std::uint64_t kRanges = LostNumbers::kMostRanges + 2;
    for (std::uint64_t i = 0; i < kRanges; ++i) {
        numbers.add({1, 10 * i, 10 * i + 4, kAway});
    }
    CHECK(numbers.read().ranges.size() == LostNumbers::kMostRanges);
    CHECK(numbers.read().ranges.front() == LostRange{1, 20, 24, kAway});
    CHECK(numbers.read().ranges.back() == LostRange{1, 650, 654, kAway});
    CHECK(numbers.read().unlisted == 10);
    numbers.add_unlisted(7);
    numbers.add({1, 25, 29, kAway});  // closes a gap: a place is free again
    numbers.add({1, 700, 700, kAway});
    CHECK(numbers.read().ranges.front() == LostRange{1, 20, 34, kAway});
    CHECK(numbers.read().ranges.back() == LostRange{1, 700, 700, kAway});
    CHECK(numbers.read().unlisted == 17);
}
