// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/burst_clock.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "flowcache/input/unified_header_reader.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/host_bench.hpp"
#include "tests/support/unified_frames.hpp"

namespace tributary {
namespace {

using test::HostBench;
using test::unified_frame;

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Timestamp at(std::int64_t s) { return Timestamp{seconds{s}}; }

/// One frame per poll, while the host's clock is at 1001 s.
struct FramePolls {
    std::vector<std::vector<std::byte>> frames;
    std::size_t polls = 0;
    PacketView packet{};

    [[nodiscard]] FrameBurst receive() noexcept {
        packet = test::view_of(frames[polls++]);
        return {.frames = {&packet, 1}, .now = at(1001)};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
};

TEST_CASE("BurstClock: without packet times it is the host's clock", "[daemon][unit]") {
    BurstClock clock(false);
    clock.begin_burst(at(100));
    CHECK(clock.stamp() == at(100));
    CHECK(clock.now() == at(100));
    clock.begin_burst(at(107));
    clock.end_empty_burst();
    CHECK(clock.now() == at(107));
    CHECK(clock.bad_timestamps().read() == 0);
}

TEST_CASE("BurstClock: with packet times it is the highest of them", "[daemon][unit]") {
    BurstClock clock(true);
    clock.begin_burst(at(5000));
    CHECK(clock.stamp(at(50)) == at(50));
    CHECK(clock.stamp(at(40)) == at(40));
    CHECK(clock.now() == at(50));
}

TEST_CASE("BurstClock: with packet times, before the first packet it is 1 s", "[daemon][unit]") {
    BurstClock clock(true);
    clock.begin_burst(at(5000));
    clock.end_empty_burst();
    CHECK(clock.now() == kFirstTimestamp);
}

TEST_CASE("BurstClock: with packet times, empty polls move it on by the uptime that passes",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(true, HostBench::uptime);
    host.poll(clock);
    (void)clock.stamp(at(50));
    host.pass(seconds{3});
    host.poll(clock);
    clock.end_empty_burst();
    CHECK(clock.now() == at(53));
    host.pass(seconds{7});
    host.poll(clock);
    clock.end_empty_burst();
    CHECK(clock.now() == at(60));
    // A packet with an earlier time of its own keeps it, and the clock stays.
    host.pass(seconds{1});
    host.poll(clock);
    CHECK(clock.stamp(at(55)) == at(55));
    CHECK(clock.now() == at(60));
    host.pass(seconds{1});
    host.poll(clock);
    clock.end_empty_burst();
    CHECK(clock.now() == at(61));
}

TEST_CASE("BurstClock: with packet times, steps of the host's clock move no clock of the past",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(true, HostBench::uptime);
    host.poll(clock);
    (void)clock.stamp(at(50));
    for (const int step : {-1000, 1000, 3600, -3600, -99'000}) {
        host.step(seconds{step});
        host.poll(clock);
        clock.end_empty_burst();
        CHECK(clock.now() == at(50));
    }
    CHECK(clock.stamp(at(51)) == at(51));
    CHECK(clock.bad_timestamps().read() == 0);
}

TEST_CASE("BurstClock: with packet times it goes back where the host's clock falls 10 s behind",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(true, HostBench::uptime);
    host.poll(clock);
    CHECK(clock.stamp(at(100'005)) == at(100'005));
    host.step(-seconds{5});
    CHECK(host.poll(clock) == at(100'005));
    CHECK(clock.stamp(at(100'005)) == at(100'005));
    host.step(-seconds{3600});
    CHECK(host.poll(clock) == host.now);
    CHECK(clock.host_time().times_gone_back() == 1);
    CHECK(clock.bad_timestamps().read() == 0);
    // The senders' clocks are right, but ahead of ours.
    CHECK(clock.stamp(at(100'006)) == host.now);
    CHECK(clock.bad_timestamps().read() == 1);
    clock.end_burst(1);
    CHECK(clock.bad_timestamps().read() == 1);
    // While only such packets come, time still goes on after a while.
    host.pass(seconds{2});
    CHECK(host.poll(clock) == host.now);
    CHECK(clock.stamp(at(100'008)) == host.now);
    host.step(seconds{3605});
    host.poll(clock);
    CHECK(clock.stamp(at(100'008)) == at(100'008));
    CHECK(clock.now() == at(100'008));
    CHECK(clock.bad_timestamps().read() == 2);
}

TEST_CASE("BurstClock: a time out of range becomes the last good one and is counted",
          "[daemon][unit]") {
    BurstClock clock(true);
    clock.begin_burst(at(5000));
    CHECK(clock.stamp(at(0)) == kFirstTimestamp);
    CHECK(clock.stamp(at(50)) == at(50));
    CHECK(clock.stamp(kLastTimestamp + nanoseconds{1}) == at(50));
    CHECK(clock.stamp(kFirstTimestamp - nanoseconds{1}) == at(50));
    CHECK(clock.now() == at(50));
    CHECK(clock.bad_timestamps().read() == 3);
}

TEST_CASE("BurstClock: both ends of the range are good, and the clock stays within",
          "[daemon][unit]") {
    BurstClock clock(true);
    clock.begin_burst(kLastTimestamp - seconds{5});
    CHECK(clock.stamp(kFirstTimestamp) == kFirstTimestamp);
    CHECK(clock.stamp(kLastTimestamp) == kLastTimestamp);
    clock.begin_burst(kLastTimestamp + seconds{100});
    clock.end_empty_burst();
    CHECK(clock.now() == kLastTimestamp);
    CHECK(clock.stamp(kLastTimestamp) == kLastTimestamp);
    CHECK(clock.now() == kLastTimestamp);
    CHECK(clock.bad_timestamps().read() == 0);
}

TEST_CASE("BurstClock: a packet time may be 10 s ahead of the host, and is bad beyond",
          "[daemon][unit]") {
    BurstClock clock(true);
    clock.begin_burst(at(1000));
    CHECK(clock.stamp(at(1000)) == at(1000));
    CHECK(clock.stamp(at(1010)) == at(1010));
    CHECK(clock.bad_timestamps().read() == 0);
    CHECK(clock.stamp(at(1010) + nanoseconds{1}) == at(1010));
    CHECK(clock.stamp(kLastTimestamp) == at(1010));
    CHECK(clock.bad_timestamps().read() == 2);
    CHECK(clock.now() == at(1010));
    clock.begin_burst(at(1011));
    CHECK(clock.stamp(at(1021)) == at(1021));
    CHECK(clock.bad_timestamps().read() == 2);
}

TEST_CASE("BurstClock: one record with a wrong clock harms no record behind it", "[daemon][unit]") {
    FramePolls source;
    source.frames = {unified_frame({{.time = at(1000)}, {.time = kLastTimestamp}}),
                     unified_frame({{.time = at(1001)}}, 2)};
    constexpr bool kPacketTimes = true;
    UnifiedHeaderReader<FramePolls, BurstClock> path(source, {}, kPacketTimes);
    const ParsedBurst first = path.read_burst(test::burst_of_no_use());
    REQUIRE(first.packets.size() == 2);
    CHECK(first.packets[1].packet->seen_at == at(1000));
    CHECK(first.burst.now == at(1000));
    path.release(first.burst);
    const ParsedBurst second = path.read_burst(test::burst_of_no_use());
    REQUIRE(second.packets.size() == 1);
    CHECK(second.packets[0].packet->seen_at == at(1001));
    CHECK(second.packets[0].packet->clock == at(1001));
    CHECK(second.burst.now == at(1001));
    path.release(second.burst);
    CHECK(path.counters().bad_timestamp.read() == 1);
}

TEST_CASE("BurstClock: packets at once are stamped, counted and moved on from as one by one",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(true, HostBench::uptime);
    host.poll(clock);
    std::array<PacketView, 4> packets;
    packets[0].seen_at = at(50);
    packets[1].seen_at = at(0);
    packets[2].seen_at = at(60);
    packets[3].seen_at = at(55);
    CHECK(clock.stamp(std::span(packets)) == 0b0010);
    CHECK(clock.bad_timestamps().read() == 1);
    CHECK(packets[1].seen_at == at(50));
    CHECK(packets[3].clock == at(60));
    CHECK(clock.now() == at(60));
    host.pass(seconds{4});
    host.poll(clock);
    clock.end_empty_burst();
    CHECK(clock.now() == at(64));
    CHECK(clock.stamp(std::span<PacketView>{}) == 0);
    host.pass(seconds{1});
    host.poll(clock);
    clock.end_empty_burst();
    CHECK(clock.now() == at(65));
}

}  // namespace
}  // namespace tributary
