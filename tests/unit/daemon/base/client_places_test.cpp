// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/client_places.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary {
namespace {

using namespace std::chrono_literals;

using Sockets = std::vector<int>;
using Client = ClientPlaces::Client;
constexpr ClientPlaces::Time kBegin{1h};
constexpr Client kOne{.user = 1, .process = 0};
constexpr Client kMany{.user = 2, .process = 0};
constexpr Client kFew{.user = 3, .process = 0};

void enter_all(ClientPlaces& places, const std::vector<Client>& clients) {
    for (int socket = 1; const Client& client : clients) {
        places.enter(socket++, client, kBegin);
    }
}

TEST_CASE("ClientPlaces: a connection has its time in total and loses its place then",
          "[daemon][unit]") {
    ClientPlaces places({.places = 3, .total = 5s});
    CHECK(places.next_event() == std::nullopt);
    places.enter(7, kOne, kBegin);
    places.enter(8, kOne, kBegin + 1s);
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
    places.enter(1, kOne, kBegin);
    places.enter(2, kMany, kBegin);
    places.enter(3, kFew, kBegin);
    places.enter(4, kMany, kBegin);
    CHECK(places.take_losers(kBegin).empty());
    places.enter(5, kMany, kBegin);
    places.enter(6, kFew, kBegin);
    CHECK(places.take_losers(kBegin) == Sockets{2, 3});
    CHECK(places.take_losers(kBegin).empty());
}

TEST_CASE("ClientPlaces: of clients with as many connections the oldest one loses its place",
          "[daemon][unit]") {
    ClientPlaces places({.places = 3, .total = 5s});
    const auto from = [](std::uint32_t user) { return Client{.user = user, .process = 0}; };
    SECTION("those that come later have higher numbers") {
        enter_all(places, {from(1), from(2), from(3), from(4), from(5)});
        CHECK(places.take_losers(kBegin) == Sockets{1, 2});
    }
    SECTION("those that come later have lower numbers") {
        enter_all(places, {from(5), from(4), from(3), from(2), from(1)});
        CHECK(places.take_losers(kBegin) == Sockets{1, 2});
    }
    SECTION("two have two each") {
        enter_all(places, {from(7), from(3), from(2), from(2), from(3)});
        CHECK(places.take_losers(kBegin) == Sockets{2, 3});
    }
    SECTION("without descriptors") {
        enter_all(places, {from(2), from(1)});
        CHECK(places.displace() == 1);
    }
}

TEST_CASE("ClientPlaces: a user with many processes counts as one", "[daemon][unit]") {
    ClientPlaces places({.places = 4, .total = 5s});
    SECTION("their oldest connection goes, also where another process has more") {
        enter_all(places, {{.user = 0, .process = 10},
                           {.user = 0, .process = 10},
                           {.user = 9, .process = 21},
                           {.user = 9, .process = 22},
                           {.user = 9, .process = 23}});
        CHECK(places.take_losers(kBegin) == Sockets{3});
    }
    SECTION("of its processes the one with the most goes first") {
        enter_all(places, {{.user = 9, .process = 30},
                           {.user = 9, .process = 20},
                           {.user = 9, .process = 40},
                           {.user = 9, .process = 20},
                           {.user = 9, .process = 10}});
        CHECK(places.take_losers(kBegin) == Sockets{2});
    }
}

TEST_CASE("ClientPlaces: without descriptors one goes, if there is one", "[daemon][unit]") {
    ClientPlaces places({.places = 4, .total = 5s});
    CHECK(places.displace() == std::nullopt);
    places.enter(1, kOne, kBegin);
    CHECK(places.displace() == 1);
    CHECK(places.displace() == std::nullopt);
}

TEST_CASE("ClientPlaces: losses are told at once, then once a minute", "[daemon][unit]") {
    ClientPlaces places({.places = 1, .total = 5s});
    CHECK_FALSE(places.losses_to_log(kBegin));
    places.enter(1, kOne, kBegin);
    places.enter(2, kOne, kBegin);
    CHECK(places.take_losers(kBegin) == Sockets{1});
    CHECK(places.take_losers(kBegin + 5s) == Sockets{2});
    const auto first = places.losses_to_log(kBegin + 5s);
    REQUIRE(first);
    CHECK(words_for(*first, places.limits(), "no command came") ==
          "1 connection(s) closed: no command came within 5 s; 1 connection(s) closed to make room "
          "for others: 1 wait at the most");
    places.enter(3, kOne, kBegin + 5s);
    CHECK(places.take_losers(kBegin + 10s) == Sockets{3});
    CHECK_FALSE(places.losses_to_log(kBegin + 65s - 1ns));
    CHECK(places.next_event() == kBegin + 65s);
    const auto second = places.losses_to_log(kBegin + 65s);
    REQUIRE(second);
    CHECK(words_for(*second, places.limits(), "no command came") ==
          "1 connection(s) closed: no command came within 5 s");
    CHECK_FALSE(places.losses_to_log(kBegin + 1h));
    CHECK(places.next_event() == std::nullopt);
}

}  // namespace
}  // namespace tributary
