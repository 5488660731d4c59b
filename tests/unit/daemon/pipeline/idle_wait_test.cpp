// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/idle_wait.hpp"

#include <catch2/catch.hpp>

#include "daemon/pipeline/idle_back_off.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using Way = IdlePlan::Way;

TEST_CASE("longest_safe_sleep: half of what the descriptors hold at line rate", "[daemon][unit]") {
    // 84 octets on the wire per packet: 14.88 Mpps at 10 Gbit/s.
    CHECK(longest_safe_sleep(4096, 10'000) == 137'625ns);
    CHECK(longest_safe_sleep(4096, 25'000) == 55'050ns);
    CHECK(longest_safe_sleep(4096, 100'000) == 13'762ns);
    CHECK(longest_safe_sleep(65'535, 400'000) == 55'049ns);
    CHECK(longest_safe_sleep(4096, 1'000) == 500us);
    // Unknown is taken for 10 Gbit/s.
    CHECK(longest_safe_sleep(4096, 0) == longest_safe_sleep(4096, 10'000));
}

TEST_CASE("plan_idle: busy polls on, but not where threads share a core", "[daemon][unit]") {
    CHECK(plan_idle({.poll = PollMode::busy, .has_interrupts = true}).way == Way::poll_on);
    const IdlePlan shared = plan_idle({.poll = PollMode::busy, .shares_core = true});
    CHECK(shared.way == Way::sleep);
    CHECK(shared.sleep == 100us);
}

TEST_CASE("plan_idle: adaptive takes the interrupt where there is one, and else sleeps",
          "[daemon][unit]") {
    IdleFacts facts{.poll = PollMode::adaptive, .descriptors = 4096, .megabits = 25'000};
    const IdlePlan sleeps = plan_idle(facts);
    CHECK(sleeps.way == Way::sleep);
    CHECK(sleeps.sleep == 55'050ns);
    CHECK(sleeps.text == "idle threads sleep 55 us at a time");
    facts.has_interrupts = true;
    CHECK(plan_idle(facts).way == Way::interrupt);
}

TEST_CASE("plan_idle: no sleep where the descriptors do not last so long, and it says so",
          "[daemon][unit]") {
    IdleFacts facts{.poll = PollMode::adaptive, .descriptors = 4096, .megabits = 100'000};
    const IdlePlan plan = plan_idle(facts);
    CHECK(plan.way == Way::poll_on);
    CHECK(plan.text ==
          "idle threads poll on in spite of poll: adaptive: 4096 descriptors are full after 27 us "
          "at 100000 Mbit/s, and the driver has no receive interrupts; raise rx-descriptors");
    CHECK(plan_idle({.poll = PollMode::adaptive, .descriptors = 32})
              .text.find("after 2 us at 10000 Mbit/s") != std::string::npos);
    facts.descriptors = 8192;
    CHECK(plan_idle(facts).way == Way::sleep);
    facts.descriptors = 4096;
    facts.shares_core = true;
    CHECK(plan_idle(facts).sleep == 100us);
}

TEST_CASE("IdleBackOff: waits from the 64th empty poll on, until one is not", "[daemon][unit]") {
    int waits = 0;
    IdleBackOff idle([&] {
        ++waits;
        return false;
    });
    for (std::uint32_t poll = 1; poll < 64; ++poll) {
        idle.after_poll(false);
    }
    CHECK(waits == 0);
    idle.after_poll(false);
    idle.after_poll(false);
    CHECK(waits == 2);
    idle.after_poll(true);
    idle.after_poll(false);
    CHECK(waits == 2);
}

TEST_CASE("IdleBackOff: after an interrupt it polls on for a while", "[daemon][unit]") {
    int waits = 0;
    IdleBackOff idle([&] {
        ++waits;
        return true;
    });
    for (std::uint32_t poll = 0; poll < 64 + 2 * 1024; ++poll) {
        idle.after_poll(false);
    }
    CHECK(waits == 3);
    idle.after_poll(true);
    for (std::uint32_t poll = 0; poll < 64; ++poll) {
        idle.after_poll(false);
    }
    CHECK(waits == 4);
}

TEST_CASE("IdleBackOff: with nothing to wait for it polls on", "[daemon][unit]") {
    IdleBackOff idle({});
    for (std::uint32_t poll = 0; poll < 10 * IdleBackOff::kEmptyPollsBeforeWait; ++poll) {
        idle.after_poll(false);
    }
    SUCCEED("no empty function was called");
}

}  // namespace
}  // namespace tributary
