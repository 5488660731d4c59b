// SPDX-License-Identifier: Apache-2.0
#include "export/threads/helper_thread.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "export/threads/helper_cores.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

/// A helper thread that goes through its states when it is told to.
class Stepped {
public:
    explicit Stepped(HelperKind kind)
        : thread_(std::move(kind), [this](ThreadPlaceInRegistry& place) {
              began_.set_value();
              work_.get_future().wait();
              place.begin_work();
              works_.set_value();
              wait_.get_future().wait();
              place.begin_to_wait();
              waits_.set_value();
              end_.get_future().wait();
          }) {
        began_.get_future().wait();
    }
    ~Stepped() { end_.set_value(); }
    Stepped(const Stepped&) = delete;
    Stepped& operator=(const Stepped&) = delete;

    void work() {
        work_.set_value();
        works_.get_future().wait();
    }
    void wait() {
        wait_.set_value();
        waits_.get_future().wait();
    }

private:
    std::promise<void> began_;
    std::promise<void> work_;
    std::promise<void> works_;
    std::promise<void> wait_;
    std::promise<void> waits_;
    std::promise<void> end_;
    HelperThread thread_;  // last: it uses the rest
};

std::optional<RegisteredThread> find(const std::string& name) {
    const std::vector<RegisteredThread> all = registered_threads();
    const auto found = std::ranges::find(all, name, &RegisteredThread::name);
    return found == all.end() ? std::nullopt : std::optional(*found);
}

TEST_CASE("HelperThread: it is registered under its name until it ends", "[export][unit]") {
    {
        Stepped stepped({.name = "a-name-longer-than-15", .patience = 7s});
        std::optional<RegisteredThread> thread = find("a-name-longer-t");
        REQUIRE(thread);
        CHECK(thread->role == ThreadRole::helper);
        CHECK(thread->patience == 7s);
        const auto first = thread->work_began;
        REQUIRE(first);
        stepped.work();
        thread = find("a-name-longer-t");
        REQUIRE(thread);
        REQUIRE(thread->work_began);
        CHECK(*thread->work_began > *first);
        stepped.wait();
        thread = find("a-name-longer-t");
        REQUIRE(thread);
        CHECK_FALSE(thread->work_began);
    }
    CHECK_FALSE(find("a-name-longer-t"));
}

TEST_CASE("RegisteredThread: it hangs when its work takes longer than its patience",
          "[export][unit]") {
    RegisteredThread thread{.name = "files", .patience = 2s, .work_began = 100s};
    CHECK_FALSE(thread.hangs(100s));
    CHECK_FALSE(thread.hangs(102s));
    CHECK(thread.hangs(102s + 1ns));
    thread.work_began = std::nullopt;  // it waits
    CHECK_FALSE(thread.hangs(1000s));
    CHECK_FALSE(RegisteredThread{.name = "lookup", .work_began = 0s}.hangs(1000s));
}

TEST_CASE("HelperThread: the registry keeps the others when one of them ends", "[export][unit]") {
    std::array<std::optional<Stepped>, 3> threads;
    threads[0].emplace(HelperKind{.name = "first"});
    threads[1].emplace(HelperKind{.name = "second"});
    threads[2].emplace(HelperKind{.name = "third"});
    const std::uint64_t serial = find("third").value().serial;
    CHECK(find("first").value().serial < find("second").value().serial);
    const auto end = [](std::optional<Stepped>& thread) {
        thread->work();
        thread->wait();
        thread.reset();
    };
    end(threads[1]);
    CHECK_FALSE(find("second"));
    CHECK(find("first"));
    CHECK(find("third").value().serial == serial);
    end(threads[2]);
    CHECK(find("first"));
    end(threads[0]);
    CHECK(registered_threads().empty());
}

TEST_CASE("HelperThread: it runs on the helper cores, wherever its creator runs",
          "[export][unit]") {
    cpu_set_t all;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    std::vector<std::uint32_t> cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all)) {
            cpus.push_back(cpu);
        }
    }
    REQUIRE(take_helper_cores({cpus.front()}) == 0);
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(cpus.back(), &last);
    REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof last, &last) == 0);
    cpu_set_t seen;
    std::array<char, 16> name{};
    HelperThread({.name = "helper"}, [&](ThreadPlaceInRegistry&) {
        sched_getaffinity(0, sizeof seen, &seen);
        pthread_getname_np(pthread_self(), name.data(), name.size());
    }).join();
    CHECK(CPU_COUNT(&seen) == 1);
    CHECK(CPU_ISSET(cpus.front(), &seen));
    CHECK(std::string(name.data()) == "helper");
    REQUIRE(take_helper_cores(cpus) == 0);
}

TEST_CASE("HelperThread: an assigned one waits for the one before", "[export][unit]") {
    bool first_ended = false;
    HelperThread thread({.name = "one"}, [&](ThreadPlaceInRegistry&) { first_ended = true; });
    thread = HelperThread({.name = "two"}, [](ThreadPlaceInRegistry&) {});
    CHECK(first_ended);
    CHECK(thread.joinable());
    thread.join();
    CHECK_FALSE(thread.joinable());
    thread.join();  // does nothing
    CHECK_FALSE(HelperThread().joinable());
}

TEST_CASE("HelperThread: a detached one goes on alone", "[export][unit]") {
    auto result = std::make_shared<std::promise<int>>();
    std::future<int> future = result->get_future();
    HelperThread thread({.name = "alone"},
                        [result](ThreadPlaceInRegistry&) { result->set_value(3); });
    thread.detach();
    CHECK(future.get() == 3);
}

}  // namespace
}  // namespace tributary
