// SPDX-License-Identifier: Apache-2.0
#include "daemon/pinned_thread.hpp"

#include <sched.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/idle_back_off.hpp"
#include "daemon/startup_error.hpp"
#include "daemon/topology.hpp"

namespace tributary {
namespace {

TEST_CASE("PinnedThread: it runs on its CPU under its name", "[daemon][unit]") {
    const std::uint32_t cpu = read_topology().allowed().back();
    cpu_set_t expected;
    CPU_ZERO(&expected);
    CPU_SET(cpu, &expected);
    cpu_set_t affinity;
    std::array<char, 16> name{};
    {
        const PinnedThread thread({.name = "a-name-longer-than-15", .cpu = cpu}, [&] {
            sched_getaffinity(0, sizeof(affinity), &affinity);
            pthread_getname_np(pthread_self(), name.data(), name.size());
        });
    }
    CHECK(CPU_EQUAL(&affinity, &expected));
    CHECK(std::string(name.data()) == "a-name-longer-t");
}

TEST_CASE("PinnedThread: a CPU that does not exist is refused before the body runs",
          "[daemon][unit]") {
    bool ran = false;
    try {
        const PinnedThread thread({.name = "lost", .cpu = CPU_SETSIZE - 1}, [&] { ran = true; });
        FAIL("accepted");
    } catch (const StartupError& error) {
        CHECK(error.exit_code() == 71);
    }
    CHECK_FALSE(ran);
}

TEST_CASE("IdleBackOff: with a core to itself a thread never sleeps", "[daemon][unit]") {
    IdleBackOff back_off(false);
    for (std::uint32_t poll = 0; poll < 10 * IdleBackOff::kEmptyPollsBeforeSleep; ++poll) {
        CHECK_FALSE(back_off.is_sleep_due(false));
    }
}

TEST_CASE("IdleBackOff: on a shared core it sleeps from the 64th empty poll on, until one is not",
          "[daemon][unit]") {
    IdleBackOff back_off(true);
    for (std::uint32_t poll = 1; poll < 64; ++poll) {
        CHECK_FALSE(back_off.is_sleep_due(false));
    }
    CHECK(back_off.is_sleep_due(false));
    CHECK(back_off.is_sleep_due(false));
    CHECK_FALSE(back_off.is_sleep_due(true));
    CHECK_FALSE(back_off.is_sleep_due(false));
}

}  // namespace
}  // namespace tributary
