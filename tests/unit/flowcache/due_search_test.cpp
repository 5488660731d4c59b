// SPDX-License-Identifier: Apache-2.0
#include "flowcache/deadlines.hpp"

#include <catch2/catch.hpp>
#include <chrono>

using namespace tributary;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp at(std::chrono::seconds time) { return Timestamp{time}; }

/// After a first round, which has found a flow that is due from 10 s on.
DueSearch after_a_round() {
    DueSearch search;
    search.scheduled(at(10s));
    search.passed(200, at(40s), 200);
    return search;
}

}  // namespace

TEST_CASE("DueSearch: nothing is due before the first deadline", "[flowcache][unit]") {
    DueSearch search;
    CHECK_FALSE(search.is_worthwhile(at(1'000'000s)));
    search.scheduled(at(20s));
    search.scheduled(at(10s));
    CHECK_FALSE(search.is_worthwhile(at(10s)));  // a flow still has a packet at its deadline
    CHECK(search.is_worthwhile(at(11s)));
}

TEST_CASE("DueSearch: a whole round, in any number of steps, finds until when nothing is due",
          "[flowcache][unit]") {
    DueSearch search = after_a_round();
    search.passed(64, at(40s), 200);
    search.passed(64, at(35s), 200);
    CHECK(search.is_worthwhile(at(20s)));
    search.passed(72, at(50s), 200);
    CHECK_FALSE(search.is_worthwhile(at(35s)));
    CHECK(search.is_worthwhile(at(36s)));
}

TEST_CASE("DueSearch: a round includes deadlines that came while it lasted", "[flowcache][unit]") {
    DueSearch search = after_a_round();
    search.passed(100, at(40s), 200);
    search.scheduled(at(30s));  // of an entry that it has passed
    search.passed(100, at(40s), 200);
    CHECK_FALSE(search.is_worthwhile(at(30s)));
    CHECK(search.is_worthwhile(at(31s)));
    // It is the next round's no more, unless that passes it again.
    search.passed(200, at(45s), 200);
    CHECK_FALSE(search.is_worthwhile(at(45s)));
}

TEST_CASE("DueSearch: entries that come while a round lasts make it longer", "[flowcache][unit]") {
    DueSearch search = after_a_round();
    search.passed(100, at(40s), 100 + 16);
    CHECK(search.is_worthwhile(at(11s)));
    search.passed(16, at(40s), 100 + 16);
    CHECK_FALSE(search.is_worthwhile(at(40s)));
}
