// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/clock_watch.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "daemon/port/long_packets.hpp"

using namespace tributary;
using Catch::Contains;
using std::chrono::seconds;

TEST_CASE("ClockWatch: one line when the clock is set back far, and one when that is over",
          "[daemon][unit]") {
    ClockWatch watch;
    CHECK_FALSE(watch.look({}));
    CHECK_FALSE(watch.look({.lead = seconds{9}, .times_set_back = 0}));
    const auto begun = watch.look({.lead = seconds{3600}, .times_set_back = 1});
    REQUIRE(begun);
    CHECK_THAT(*begun, Contains("3600.000 s of that are not made good"));
    CHECK_FALSE(watch.look({.lead = seconds{3600}, .times_set_back = 1}));
    const auto over = watch.look({.lead = seconds{0}, .times_set_back = 1});
    REQUIRE(over);
    CHECK_THAT(*over, Contains("is right again, or believed"));
    CHECK_FALSE(watch.look({.lead = seconds{0}, .times_set_back = 1}));
}

TEST_CASE("ClockWatch: it tells also what began and ended between two looks", "[daemon][unit]") {
    ClockWatch watch;
    CHECK(watch.look({.lead = seconds{0}, .times_set_back = 1}));
    CHECK(watch.look({.lead = seconds{0}, .times_set_back = 1}));
    CHECK_FALSE(watch.look({.lead = seconds{0}, .times_set_back = 1}));
}

TEST_CASE("LongFramesWatch: one line when frames begin to be cut, and one a minute while more are",
          "[daemon][unit]") {
    LongFramesWatch watch;
    const LongFramesWatch::Clock::time_point begin{seconds{100}};
    CHECK_FALSE(watch.look({}, begin));
    const auto begun = watch.look({.cut = 2, .length_unknown = 1}, begin + seconds{1});
    REQUIRE(begun);
    CHECK_THAT(*begun, Contains("3 frames were longer") && Contains("cut: 2 have the length") &&
                           Contains("1 announce none"));
    CHECK_FALSE(watch.look({.cut = 2, .length_unknown = 1}, begin + seconds{70}));
    const auto more = watch.look({.cut = 2, .length_unknown = 8}, begin + seconds{71});
    REQUIRE(more);
    CHECK_THAT(*more, Contains("7 frames were longer"));
    CHECK_FALSE(watch.look({.cut = 99, .length_unknown = 8}, begin + seconds{130}));
    CHECK_THAT(watch.look({.cut = 100, .length_unknown = 8}, begin + seconds{131}).value(),
               Contains("98 frames were longer"));
}
