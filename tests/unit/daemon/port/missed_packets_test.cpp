// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/missed_packets.hpp"

#include <catch2/catch.hpp>

using namespace tributary;

TEST_CASE("CounterGrowth: what was counted before the first answer is no growth",
          "[daemon][unit]") {
    CounterGrowth growth;
    CHECK(growth.total() == 0);
    growth.note(1'000'000);  // at any time
    CHECK(growth.total() == 0);
    growth.note(1'000'007);
    growth.note(1'000'007);
    CHECK(growth.total() == 7);
}

TEST_CASE("CounterGrowth: a counter that begins anew goes on", "[daemon][unit]") {
    CounterGrowth growth;
    growth.note(50);
    growth.note(60);
    growth.note(3);
    CHECK(growth.total() == 13);
}
