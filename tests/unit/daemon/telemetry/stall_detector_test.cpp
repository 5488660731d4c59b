// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/stall_detector.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace tributary;
using std::chrono::seconds;

TEST_CASE("StallDetector: a thread that goes on is no news", "[daemon][unit]") {
    ThreadLoad load{.thread = "in-0"};
    StallDetector watch({&load}, seconds{100});
    for (int second = 101; second < 110; ++second) {
        load.rounds.add();
        CHECK(watch.look(seconds{second}));
    }
    CHECK(watch.take_news().empty());
}

TEST_CASE("StallDetector: a thread that stands still hangs after a while, and is told of once",
          "[daemon][unit]") {
    ThreadLoad first{.thread = "in-0"};
    ThreadLoad second{.thread = "export"};
    StallDetector watch({&first, &second}, seconds{100});
    first.rounds.add();
    CHECK(watch.look(seconds{101}));  // the machine may have been busy
    CHECK(watch.hanging().empty());
    first.rounds.add();
    CHECK_FALSE(watch.look(seconds{102}));
    CHECK(watch.hanging() == std::vector<std::string>{"export"});
    CHECK(watch.take_news() == std::vector<std::string>{"thread export hangs"});
    first.rounds.add();
    CHECK_FALSE(watch.look(seconds{103}));
    CHECK(watch.take_news().empty());
    second.rounds.add();
    CHECK_FALSE(watch.look(seconds{105}));
    CHECK(watch.take_news() ==
          std::vector<std::string>{"thread in-0 hangs", "thread export goes on again"});
    first.rounds.add(7);
    CHECK(watch.look(seconds{106}));
    CHECK(watch.take_news() == std::vector<std::string>{"thread in-0 goes on again"});
}

TEST_CASE("StallDetector: rounds from before do not count", "[daemon][unit]") {
    ThreadLoad load{.thread = "in-0"};
    load.rounds.add(1000);
    StallDetector watch({&load}, seconds{100});
    CHECK_FALSE(watch.look(seconds{102}));
}
