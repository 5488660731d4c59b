// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "flowcache/cache_room.hpp"

using namespace tributary;

TEST_CASE("SliceMap: finds each that was inserted, and none that was removed",
          "[flowcache][unit]") {
    constexpr std::size_t kEntries = 1000;
    std::vector<SliceMap::Word> words(SliceMap::words_for(kEntries));
    SliceMap slices(words);
    CHECK(slices.count() == 0);
    CHECK(slices.next() == kNoEntry);
    std::set<EntryIndex> expected{0, 63, 64, 500, 999};
    for (const EntryIndex entry : {0U, 63U, 64U, 77U, 500U, 999U}) {
        slices.insert(entry);
    }
    slices.insert(500);
    slices.remove(77);
    slices.remove(77);
    slices.remove(1);
    CHECK(slices.count() == expected.size());
    while (!expected.empty()) {
        const EntryIndex next = slices.next();
        CHECK(slices.next() == next);  // until it is removed
        CHECK(expected.erase(next) == 1);
        slices.remove(next);
    }
    CHECK(slices.next() == kNoEntry);
    slices.insert(3);  // behind where the last one was found
    CHECK(slices.next() == 3);
}
