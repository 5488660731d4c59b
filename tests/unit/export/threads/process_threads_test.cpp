// SPDX-License-Identifier: Apache-2.0
#include "export/threads/process_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "export/threads/helper_thread.hpp"
#include "tests/support/wait_until.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<std::uint32_t>;

const ProcessThread* find(const std::vector<ProcessThread>& threads, const std::string& name) {
    const auto found = std::ranges::find(threads, name, &ProcessThread::name);
    return found == threads.end() ? nullptr : &*found;
}

std::chrono::nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

TEST_CASE("parse_task_stat: a name with blanks and brackets, and fields by their numbers",
          "[export][unit]") {
    const std::string front = "4711 (rdk:main (a) b) S 1 2 3 4 -1 0 5 6 7 8 ";
    const std::string line = front +
                             "250 50 0 0 20 0 3 0 99 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 17 23 0 0 "
                             "0\n";
    const auto stat = parse_task_stat(line);
    REQUIRE(stat);
    CHECK(stat->name == "rdk:main (a) b");
    CHECK(stat->ticks == 300);
    CHECK(stat->cpu == 23);
    for (std::size_t size = 0; size < front.size() + 6; ++size) {
        CHECK_FALSE(parse_task_stat(line.substr(0, size)));
    }
    CHECK_FALSE(parse_task_stat(") ("));
}

TEST_CASE("cpu_list: as the kernel writes it", "[export][unit]") {
    CHECK(cpu_list({}).empty());
    CHECK(cpu_list({0}) == "0");
    CHECK(cpu_list({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
}

TEST_CASE("read_process_threads: helpers, and threads that a library has started",
          "[export][unit]") {
    std::promise<void> named;
    std::promise<void> end;
    const std::shared_future<void> ending = end.get_future().share();
    std::thread library([&named, ending] {
        pthread_setname_np(pthread_self(), "lib thread");
        named.set_value();
        ending.wait();
    });
    std::promise<void> began;
    HelperThread helper({.name = "burner", .patience = 60s}, [&](ThreadPlaceInRegistry&) {
        const auto until = std::chrono::steady_clock::now() + 60ms;
        while (std::chrono::steady_clock::now() < until) {
        }
        began.set_value();
        ending.wait();
    });
    named.get_future().wait();
    began.get_future().wait();
    const std::vector<ProcessThread> threads = read_process_threads(now() + 61s);
    end.set_value();
    library.join();

    REQUIRE(find(threads, "main") == &threads.front());
    CHECK(threads.front().role == ThreadRole::main);
    CHECK(threads.front().id == getpid());
    const ProcessThread* const ours = find(threads, "burner");
    REQUIRE(ours != nullptr);
    CHECK(ours->role == ThreadRole::helper);
    REQUIRE(ours->cpu);
    CHECK(std::ranges::find(ours->cpus, *ours->cpu) != ours->cpus.end());
    CHECK(ours->cpu_time.value() >= 10ms);
    CHECK(ours->cpu_time.value() < 10s);
    CHECK(ours->hangs == true);
    const ProcessThread* const theirs = find(threads, "lib thread");
    REQUIRE(theirs != nullptr);
    CHECK(theirs->role == ThreadRole::library);
    CHECK_FALSE(theirs->hangs.has_value());
    CHECK(theirs->cpus == ours->cpus);
    CHECK(theirs->cpu_time.value() < 60ms);
    // The kernel lets join() return a moment before the thread leaves /proc.
    CHECK(test::wait_until(
        [] { return find(read_process_threads(now()), "lib thread") == nullptr; }));
}

}  // namespace
}  // namespace tributary
