// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/host_time.hpp"

#include <catch2/catch.hpp>

#include "tests/support/host_bench.hpp"

namespace tributary {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using test::HostBench;

constexpr Timestamp at(std::int64_t s) { return Timestamp{seconds{s}}; }

TEST_CASE("HostTime: the host's clock set back a little takes neither clock nor packets back",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.step(-seconds{10});
    CHECK(host.poll(clock) == at(100'000));
    CHECK(clock.stamp() == at(100'000));
    CHECK(clock.host_time().behind() == seconds{10});
    host.pass(nanoseconds{1024});
    CHECK(host.poll(clock) == at(100'000) + nanoseconds{1023});
    CHECK(clock.stamp() == clock.now());
    host.pass(seconds{10'238});
    CHECK(host.poll(clock) > host.now);  // 2 s before the end
    host.pass(seconds{3});
    CHECK(host.poll(clock) == host.now);
    CHECK(clock.host_time().behind() == seconds{0});
    CHECK(clock.host_time().times_gone_back() == 0);
    clock.end_burst(1);
    CHECK(clock.bad_timestamps().read() == 0);
}

TEST_CASE("HostTime: it is slowed also where polls are 100 ns apart", "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.step(-std::chrono::milliseconds{1});
    host.poll(clock);
    for (int poll = 0; poll < 1'024'000; ++poll) {
        host.pass(nanoseconds{100});
        host.poll(clock);
    }
    CHECK(clock.now() - host.now == std::chrono::microseconds{900});
}

TEST_CASE("HostTime: a step forth is taken from the lead first", "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.step(-seconds{8});
    host.poll(clock);
    host.pass(seconds{5});
    host.step(seconds{3});
    const Timestamp before = clock.now();
    CHECK(host.poll(clock) - before == seconds{5} - nanoseconds{seconds{5}} / 1024);
    host.step(seconds{5});
    CHECK(host.poll(clock) == host.now);
    CHECK(clock.now() - before == seconds{5});
    CHECK(clock.host_time().behind() == seconds{0});
    host.step(seconds{7});  // without a lead it is followed
    CHECK(host.poll(clock) - before == seconds{12});
}

TEST_CASE("HostTime: small steps back and forth, again and again, leave no lead",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    Timestamp last = host.poll(clock);
    for (int round = 0; round < 100; ++round) {
        for (const int milliseconds : {-700, 400, -3, 303}) {
            host.pass(std::chrono::microseconds{100});
            host.step(std::chrono::milliseconds{milliseconds});
            const Timestamp now = host.poll(clock);
            CHECK(now >= last);
            CHECK(now - host.now <= std::chrono::milliseconds{704});
            last = now;
        }
    }
    CHECK(clock.now() == host.now);
}

TEST_CASE("HostTime: readings that are apart by less than a millisecond are no steps",
          "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.step(-seconds{5});
    host.poll(clock);
    Timestamp last = clock.now();
    for (int poll = 0; poll < 1000; ++poll) {
        host.step(std::chrono::microseconds{poll % 2 == 0 ? 900 : -900});
        CHECK(host.poll(clock) >= last);
        last = clock.now();
    }
    CHECK(clock.host_time().behind() == seconds{5});
}

TEST_CASE("HostTime: beyond 10 s it goes back with the host's clock, and counts what it stamps",
          "[daemon][unit]") {
    const seconds step = GENERATE(seconds{11}, seconds{3600}, seconds{400 * 86'400});
    CAPTURE(step.count());
    HostBench host;
    host.now = at(1'800'000'000);
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.pass(seconds{1});
    host.poll(clock);
    host.step(-step);
    CHECK(host.poll(clock) == host.now);
    CHECK(clock.stamp() == host.now);
    clock.end_burst(3);
    CHECK(clock.bad_timestamps().read() == 3);
    CHECK(clock.host_time().behind() == step);
    CHECK(clock.host_time().times_gone_back() == 1);
    host.pass(seconds{5});
    CHECK(host.poll(clock) == host.now);
    clock.end_burst(2);
    CHECK(clock.bad_timestamps().read() == 5);
    SECTION("put right") {
        host.step(step);
        CHECK(host.poll(clock) == host.now);
        clock.end_burst(4);
        CHECK(clock.bad_timestamps().read() == 5);
        CHECK(clock.host_time().behind() == seconds{0});
        host.step(-step);  // and again
        CHECK(host.poll(clock) == host.now);
        CHECK(clock.host_time().times_gone_back() == 2);
    }
    SECTION("put right but for 10 s") {
        host.step(step - seconds{10});
        CHECK(host.poll(clock) == host.now);
        clock.end_burst(4);
        CHECK(clock.bad_timestamps().read() == 5);
        CHECK(clock.host_time().behind() == seconds{0});
    }
    SECTION("never put right: it is believed") {
        host.pass(HostTime::kBelievedAfter - seconds{5});
        host.poll(clock);
        clock.end_burst(4);
        CHECK(clock.bad_timestamps().read() == 9);
        host.pass(nanoseconds{1});
        CHECK(host.poll(clock) == host.now);
        clock.end_burst(4);
        CHECK(clock.bad_timestamps().read() == 9);
        CHECK(clock.host_time().behind() == seconds{0});
        host.step(step);  // much later, forth: there is no lead
        CHECK(host.poll(clock) == host.now);
    }
    SECTION("a little further back") {
        host.step(-seconds{2});
        CHECK(host.poll(clock) == host.now + seconds{2});
        CHECK(clock.host_time().behind() == step + seconds{2});
        CHECK(clock.host_time().times_gone_back() == 1);
    }
}

TEST_CASE("HostTime: steps of less than 10 s each go beyond it together", "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.step(-seconds{6});
    CHECK(host.poll(clock) == host.now + seconds{6});
    host.step(-seconds{6});
    CHECK(host.poll(clock) == host.now);
    CHECK(clock.host_time().times_gone_back() == 1);
}

TEST_CASE("HostTime: a clock set back to before 1970 stays in range", "[daemon][unit]") {
    HostBench host;
    BurstClock clock(false, HostBench::uptime);
    host.poll(clock);
    host.step(at(0) - host.now);
    CHECK(host.poll(clock) == kFirstTimestamp);
    CHECK(clock.stamp() == kFirstTimestamp);
    clock.end_burst(1);
    CHECK(clock.bad_timestamps().read() == 1);  // once
}

}  // namespace
}  // namespace tributary
