// SPDX-License-Identifier: Apache-2.0
#include "export/number_ranges.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/allocation_counter.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("NumberRanges: neighbours of one stream are one range, in any order", "[export][unit]") {
    NumberRanges numbers;
    for (const NumberRange& range : std::vector<NumberRange>{
             {1, 10, 19}, {2, 20, 20}, {1, 0, 3}, {1, 20, 20}, {1, 4, 4}, {1, 6, 9}, {1, 5, 5}}) {
        numbers.add(range);
    }
    CHECK(numbers.take_all() == std::vector<NumberRange>{{1, 0, 20}, {2, 20, 20}});
    CHECK(numbers.take_all().empty());
}

TEST_CASE("NumberRanges: what is taken is not there, and the others are", "[export][unit]") {
    NumberRanges numbers;
    numbers.add({1, 0, 9});
    numbers.add({2, 0, 9});
    numbers.make_room(2);
    {
        std::int64_t calls = 0;
        const NoLargeMemory none(0, calls);
        numbers.take({1, 0, 1});
        numbers.take({1, 8, 9});
        numbers.take({1, 4, 4});
        numbers.take({2, 3, 8});
        numbers.take({2, 0, 2});
        numbers.take({2, 9, 9});
        CHECK(calls == 0);
    }
    // Not here, or not as a whole.
    for (const NumberRange& absent : std::vector<NumberRange>{
             {0, 5, 5}, {1, 1, 2}, {1, 3, 4}, {1, 4, 4}, {1, 7, 8}, {1, 8, 8}, {2, 0, 0}}) {
        numbers.take(absent);
    }
    CHECK(numbers.take_all() == std::vector<NumberRange>{{1, 2, 3}, {1, 5, 7}});
}
