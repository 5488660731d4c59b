// SPDX-License-Identifier: Apache-2.0
#include "export/threads/helper_cores.hpp"

#include <pthread.h>
#include <sched.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <thread>

#include "export/threads/process_threads.hpp"

namespace tributary {
namespace {

using Ids = std::vector<std::uint32_t>;

Ids own_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
    Ids cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

Ids cpus_of_a_new_thread() {
    Ids cpus;
    std::thread([&cpus] { cpus = own_cpus(); }).join();
    return cpus;
}

/// Gives the test's thread its CPUs back.
class Restored {
public:
    Restored() { sched_getaffinity(0, sizeof former_, &former_); }
    ~Restored() { sched_setaffinity(0, sizeof former_, &former_); }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;

private:
    cpu_set_t former_{};
};

TEST_CASE("helper cores: the caller moves there, and threads that begin later inherit them",
          "[export][unit]") {
    const Restored restored;
    const Ids all = own_cpus();
    REQUIRE(take_helper_cores({all.back()}) == 0);
    CHECK(own_cpus() == Ids{all.back()});
    CHECK(cpus_of_a_new_thread() == Ids{all.back()});
    REQUIRE(take_helper_cores(all) == 0);
    CHECK(own_cpus() == all);
}

TEST_CASE("helper cores: those that do not exist are refused, and nothing changes",
          "[export][unit]") {
    const Restored restored;
    const Ids all = own_cpus();
    CHECK(take_helper_cores({CPU_SETSIZE - 1}) == EINVAL);
    CHECK(take_helper_cores({CPU_SETSIZE}) == EINVAL);
    CHECK(own_cpus() == all);
}

TEST_CASE("helper scope: a pinned thread starts threads on the helper cores", "[export][unit]") {
    const Ids all = own_cpus();
    if (all.size() < 2) {
        WARN("skipped: this needs two CPUs");
        return;
    }
    const Restored restored;
    REQUIRE(take_helper_cores({all.back()}) == 0);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(all.front(), &first);
    REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof first, &first) == 0);
    {
        const HelperScope scope;
        CHECK(own_cpus() == Ids{all.back()});
        CHECK(cpus_of_a_new_thread() == Ids{all.back()});
        {
            const HelperScope inner;
            CHECK(own_cpus() == Ids{all.back()});
        }
        CHECK(own_cpus() == Ids{all.back()});
    }
    CHECK(own_cpus() == Ids{all.front()});
    CHECK(cpus_of_a_new_thread() == Ids{all.front()});
}

}  // namespace
}  // namespace tributary
