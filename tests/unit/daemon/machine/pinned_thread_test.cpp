// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/pinned_thread.hpp"

#include <sched.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/base/startup_error.hpp"
#include "daemon/machine/topology.hpp"

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

}  // namespace
}  // namespace tributary
