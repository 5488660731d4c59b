// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "flowcache/cache_room.hpp"

using namespace tributary;

TEST_CASE("EmptyEntries: finds each that was inserted, and none that was removed",
          "[flowcache][unit]") {
    constexpr std::size_t kEntries = 1000;
    std::vector<EmptyEntries::Word> words(EmptyEntries::words_for(kEntries));
    EmptyEntries entries(words);
    CHECK(entries.count() == 0);
    CHECK(entries.next() == kNoEntry);
    std::set<EntryIndex> expected{0, 63, 64, 500, 999};
    for (const EntryIndex entry : {0U, 63U, 64U, 77U, 500U, 999U}) {
        entries.insert(entry);
    }
    entries.insert(500);
    entries.remove(77);
    entries.remove(77);
    entries.remove(1);
    CHECK(entries.count() == expected.size());
    while (!expected.empty()) {
        const EntryIndex next = entries.next();
        CHECK(entries.next() == next);  // until it is removed
        CHECK(expected.erase(next) == 1);
        entries.remove(next);
    }
    CHECK(entries.next() == kNoEntry);
    entries.insert(3);  // behind where the last one was found
    CHECK(entries.next() == 3);
}
