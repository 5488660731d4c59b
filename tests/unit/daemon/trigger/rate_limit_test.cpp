// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/rate_limit.hpp"

#include <catch2/catch.hpp>
#include <chrono>

using namespace tributary;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kStart{1'700'000'000s};

/// How often it may fire in a time, if it is asked each 100 ms.
int allowed(RateLimit& limit, Timestamp from, std::chrono::seconds time) {
    int count = 0;
    for (Timestamp now = from; now < from + time; now += 100ms) {
        count += limit.allow(now) ? 1 : 0;
    }
    return count;
}

}  // namespace

TEST_CASE("RateLimit: so many at once, and then evenly", "[daemon][unit]") {
    RateLimit limit({.files = 6, .period = 60s});
    CHECK(allowed(limit, kStart, 1s) == 6);
    CHECK(allowed(limit, kStart + 1s, 9s) == 0);
    CHECK(allowed(limit, kStart + 10s, 1s) == 1);
    CHECK(allowed(limit, kStart + 11s, 60s) == 6);
    CHECK(allowed(limit, kStart + 1h, 1s) == 6);
}

TEST_CASE("RateLimit: clocks of queues may differ", "[daemon][unit]") {
    RateLimit limit({.files = 6, .period = 60s});
    int count = 0;
    for (Timestamp now = kStart; now < kStart + 10s; now += 100ms) {
        count += limit.allow(now) ? 1 : 0;
        count += limit.allow(now + 100s) ? 1 : 0;
    }
    CHECK(count == 7);
}

TEST_CASE("RateLimit: records that end long after their last packet are no clock that is set back",
          "[daemon][unit]") {
    RateLimit limit({.files = 6, .period = 60s});
    int count = 0;
    for (Timestamp now = kStart; now < kStart + 10s; now += 100ms) {
        count += limit.allow(now) ? 1 : 0;
        count += limit.allow(now - 300s, 300s) ? 1 : 0;
    }
    CHECK(count == 6);
    CHECK(limit.allow(kStart - 24h, 300s));  // that is one
}

TEST_CASE("RateLimit: a clock that is set back does not stop it", "[daemon][unit]") {
    RateLimit limit({.files = 2, .period = 1h});
    CHECK(allowed(limit, kStart, 1s) == 2);
    CHECK(allowed(limit, kStart - 24h, 1s) == 2);
    CHECK(allowed(limit, kStart - 23h - 59min, 1s) == 0);
}
