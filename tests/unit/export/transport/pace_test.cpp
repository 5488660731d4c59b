// SPDX-License-Identifier: Apache-2.0
#include "export/transport/pace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

using namespace tributary;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kMessage = 1400;
constexpr std::size_t kBuffer = std::size_t{4} << 20U;

CollectorOptions udp_at(std::optional<std::uint64_t> rate) {
    CollectorOptions collector;
    collector.rate = rate;
    return collector;
}

/// Messages of kMessage octets that leave within a while, when there are enough of them.
struct Sender {
    explicit Sender(std::optional<std::uint64_t> rate) : pace(udp_at(rate)) {
        pace.advance(now, {});
    }
    std::size_t send_for(milliseconds lasting, std::size_t waiting) {
        std::size_t messages = 0;
        for (const auto end = now + lasting; now < end;) {
            now += milliseconds{1};
            pace.advance(now, {.octets = waiting});
            for (; pace.allows() && messages < 1'000'000; ++messages) {
                pace.take(kMessage);
            }
        }
        return messages;
    }
    Pace pace;
    milliseconds now{0};
};

}  // namespace

TEST_CASE("Pace: a small burst, then so many octets in a second", "[export][unit]") {
    Sender sender(100'000);
    CHECK(sender.send_for(milliseconds{1}, 0) == 18);  // 24'100 octets: the last one ends beyond
    CHECK(sender.send_for(seconds{10}, 0) == 714);
    CHECK(sender.pace.rate() == 100'000);
    CHECK(sender.send_for(seconds{1}, kBuffer) == 71);  // whatever waits
    sender.now += seconds{60};                          // an idle minute gives no larger burst
    CHECK(sender.send_for(milliseconds{1}, 0) == 18);
}

TEST_CASE("Pace: small messages count as the octets that a receive buffer spends on them",
          "[export][unit]") {
    Pace pace(udp_at(100'000));
    pace.advance(milliseconds{0}, {});
    int messages = 0;
    for (; pace.allows(); ++messages) {
        pace.take(80);
    }
    CHECK(messages == 47);  // 24'000 / 512
}

TEST_CASE("Pace: none for a stream, a file or rate 0", "[export][unit]") {
    CollectorOptions tcp;
    tcp.transport = TransportKind::tcp;
    for (Pace pace : {Pace(tcp), Pace(udp_at(0))}) {
        for (int i = 0; i < 1000; ++i) {
            REQUIRE(pace.allows());
            pace.take(kMessage);
        }
        CHECK(pace.rate() == 0);
        CHECK_FALSE(pace.is_auto());
    }
}

TEST_CASE("Pace: auto stays at its base while less than half of the buffer waits",
          "[export][unit]") {
    Sender sender(std::nullopt);
    sender.send_for(milliseconds{1}, 0);
    const std::size_t messages = sender.send_for(seconds{10}, kBuffer / 2);
    CHECK(messages == 7143);  // 10'000'000 octets
    CHECK(sender.pace.rate() == 1'000'000);
}

TEST_CASE("Pace: auto follows records that come faster, and falls back", "[export][unit]") {
    Sender sender(std::nullopt);
    sender.send_for(seconds{1}, kBuffer);
    CHECK(sender.pace.rate() / 1000 == 2000);
    sender.send_for(seconds{4}, kBuffer);
    CHECK(sender.pace.rate() / 1000 == 32'000);
    const std::size_t messages = sender.send_for(milliseconds{1}, 0);
    CHECK(messages <= 46);  // no larger burst than two milliseconds of it
    sender.send_for(seconds{10}, 0);
    CHECK(sender.pace.rate() / 100'000 == 159);
    sender.send_for(seconds{60}, 0);
    CHECK(sender.pace.rate() == 1'000'000);
}

TEST_CASE("Pace: at the end waiting messages leave within half of its time", "[export][unit]") {
    Pace pace(udp_at(std::nullopt));
    pace.advance(milliseconds{0}, {});
    pace.begin_end(seconds{5}, 1'000'000'000);
    CHECK(pace.rate() == 40'000'000);
    pace.advance(seconds{1}, {});
    CHECK(pace.rate() > 40'000'000);  // it does not fall
    Pace unhurried(udp_at(std::nullopt));
    unhurried.advance(milliseconds{0}, {});
    unhurried.begin_end(seconds{5}, 0);
    for (int second = 1; second <= 5; ++second) {
        unhurried.advance(seconds{second}, {});
    }
    CHECK(unhurried.rate() / 1000 == 2000);
    Pace fixed(udp_at(50'000));
    fixed.begin_end(seconds{5}, 1'000'000'000);
    CHECK(fixed.rate() == 50'000);
    Pace hasty(udp_at(std::nullopt));
    hasty.begin_end(seconds{0}, 1'000'000'000);
    CHECK(hasty.rate() == 0);
}

TEST_CASE("Pace: auto has a greatest value", "[export][unit]") {
    Sender sender(std::nullopt);
    for (int minute = 0; minute < 20; ++minute) {
        for (int second = 0; second < 60; ++second) {
            sender.now += seconds{1};
            sender.pace.advance(sender.now, {.octets = kBuffer});
        }
    }
    CHECK(sender.pace.rate() == 100'000'000'000);
    sender.now += seconds{3600};
    for (int step = 0; step < 200; ++step) {
        sender.now += seconds{1};
        sender.pace.advance(sender.now, {});
    }
    CHECK(sender.pace.rate() == 1'000'000);
}

TEST_CASE("Pace: a spool leaves at twice the rate of new octets", "[export][unit]") {
    Pace pace(udp_at(std::nullopt));
    std::uint64_t fastest = 0;
    for (int second = 0; second < 100; ++second) {
        pace.advance(seconds{second}, {.octets = kBuffer, .holds_spool = true});
        fastest = std::max(fastest, pace.rate());
        pace.add(3'000'000);
    }
    CHECK(fastest > 5'500'000);
    CHECK(fastest < 12'000'000);
    for (int second = 100; second < 200; ++second) {  // and no more comes
        pace.advance(seconds{second}, {.octets = kBuffer, .holds_spool = true});
    }
    CHECK(pace.rate() < 2'000'000);
}
