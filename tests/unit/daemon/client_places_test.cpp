// SPDX-License-Identifier: Apache-2.0
#include "daemon/client_places.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tributary {
namespace {

using namespace std::chrono_literals;

using Sockets = std::vector<int>;
constexpr ClientPlaces::Time kBegin{1h};

TEST_CASE("ClientPlaces: a connection has its time in total and loses its place then",
          "[daemon][unit]") {
    ClientPlaces places({.places = 3, .total = 5s});
    CHECK(places.next_event() == std::nullopt);
    places.enter(7, "a", kBegin);
    places.enter(8, "a", kBegin + 1s);
    CHECK(places.next_event() == kBegin + 5s);
    CHECK(places.take_losers(kBegin + 5s - 1ns).empty());
    CHECK(places.take_losers(kBegin + 5s) == Sockets{7});
    CHECK(places.take_losers(kBegin + 5s).empty());
    places.leave(8);
    places.leave(8);
    CHECK(places.take_losers(kBegin + 1h).empty());
}

TEST_CASE("ClientPlaces: the client with the most connections loses its oldest one",
          "[daemon][unit]") {
    ClientPlaces places({.places = 4, .total = 5s});
    places.enter(1, "alone", kBegin);
    places.enter(2, "many", kBegin);
    places.enter(3, "few", kBegin);
    places.enter(4, "many", kBegin);
    CHECK(places.take_losers(kBegin).empty());
    places.enter(5, "many", kBegin);
    places.enter(6, "few", kBegin);
    CHECK(places.take_losers(kBegin) == Sockets{2, 3});
    CHECK(places.take_losers(kBegin).empty());
}

TEST_CASE("ClientPlaces: without descriptors one goes, if there is one", "[daemon][unit]") {
    ClientPlaces places({.places = 4, .total = 5s});
    CHECK(places.displace() == std::nullopt);
    places.enter(1, "a", kBegin);
    CHECK(places.displace() == 1);
    CHECK(places.displace() == std::nullopt);
}

TEST_CASE("ClientPlaces: losses are told at once, then once a minute", "[daemon][unit]") {
    ClientPlaces places({.places = 1, .total = 5s});
    CHECK_FALSE(places.losses_to_tell(kBegin));
    places.enter(1, "a", kBegin);
    places.enter(2, "a", kBegin);
    CHECK(places.take_losers(kBegin) == Sockets{1});
    CHECK(places.take_losers(kBegin + 5s) == Sockets{2});
    const auto first = places.losses_to_tell(kBegin + 5s);
    REQUIRE(first);
    CHECK(words_for(*first, places.limits(), "no command came") ==
          "1 connection(s) closed: no command came within 5 s; 1 connection(s) closed to make room "
          "for others: 1 wait at the most");
    places.enter(3, "a", kBegin + 5s);
    CHECK(places.take_losers(kBegin + 10s) == Sockets{3});
    CHECK_FALSE(places.losses_to_tell(kBegin + 65s - 1ns));
    CHECK(places.next_event() == kBegin + 65s);
    const auto second = places.losses_to_tell(kBegin + 65s);
    REQUIRE(second);
    CHECK(words_for(*second, places.limits(), "no command came") ==
          "1 connection(s) closed: no command came within 5 s");
    CHECK_FALSE(places.losses_to_tell(kBegin + 1h));
    CHECK(places.next_event() == std::nullopt);
}

}  // namespace
}  // namespace tributary
