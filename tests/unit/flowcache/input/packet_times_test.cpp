// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/packet_times.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>

namespace tributary {
namespace {

using namespace std::chrono_literals;

TEST_CASE("PacketTimes: the clock is the highest good time so far", "[flowcache][unit]") {
    PacketTimes times;
    CHECK(times.now() == kFirstTimestamp);
    CHECK(times.stamp(Timestamp{5s}) == Timestamp{5s});
    CHECK(times.stamp(Timestamp{3s}) == Timestamp{3s});
    CHECK(times.now() == Timestamp{5s});
    times.advance(Timestamp{4s});
    CHECK(times.now() == Timestamp{5s});
    times.advance(Timestamp{6s});
    CHECK(times.now() == Timestamp{6s});
}

TEST_CASE("PacketTimes: a bad time is the last good one", "[flowcache][unit]") {
    PacketTimes times;
    CHECK(times.stamp(Timestamp{}) == kFirstTimestamp);
    CHECK(times.stamp(Timestamp{9s}) == Timestamp{9s});
    CHECK(times.stamp(Timestamp{7s}) == Timestamp{7s});
    CHECK(times.stamp(kFirstTimestamp - 1ns) == Timestamp{7s});
    CHECK(times.stamp(kLastTimestamp + 1ns) == Timestamp{7s});
    CHECK(times.now() == Timestamp{9s});
    CHECK(times.stamp(kLastTimestamp) == kLastTimestamp);
    CHECK(times.stamp(kFirstTimestamp) == kFirstTimestamp);
    CHECK(times.now() == kLastTimestamp);
}

TEST_CASE("PacketTimes: many packets at once are stamped as one by one", "[flowcache][unit]") {
    const std::array<Timestamp, 7> come{Timestamp{-1ns}, Timestamp{20s}, Timestamp{10s},
                                        Timestamp{},     Timestamp{30s}, Timestamp::max(),
                                        Timestamp{25s}};
    std::array<PacketView, come.size()> packets;
    for (std::size_t i = 0; i < come.size(); ++i) {
        packets[i].seen_at = come[i];
    }
    PacketTimes at_once;
    CHECK(at_once.stamp(packets) == 0b0101001);
    PacketTimes one_by_one;
    for (std::size_t i = 0; i < come.size(); ++i) {
        CHECK(packets[i].seen_at == one_by_one.stamp(come[i]));
        CHECK(packets[i].clock == one_by_one.now());
    }
    CHECK(at_once.now() == Timestamp{30s});
    CHECK(at_once.stamp(std::span<PacketView>{}) == 0);
    CHECK(at_once.stamp(Timestamp{}) == Timestamp{25s});
}

}  // namespace
}  // namespace tributary
