// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/main_calls.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

using namespace tributary;

namespace {

/// Makes a call from another thread, and returns when it waits for the main thread.
struct Caller {
    explicit Caller(MainCalls::Call call)
        : result(std::async(std::launch::async,
                            [this, call = std::move(call)] { return calls.make(call); })) {
        while (!is_woken) {
            std::this_thread::yield();
        }
    }

    std::atomic<bool> is_woken = false;
    MainCalls calls{[this] { is_woken = true; }};
    std::future<std::string> result;  // last: its thread uses the others
};

}  // namespace

TEST_CASE("MainCalls: the caller gets what the main thread's call returns", "[daemon][unit]") {
    const std::thread::id main = std::this_thread::get_id();
    Caller caller([main] { return std::this_thread::get_id() == main ? "main" : "another"; });
    caller.calls.run_all();
    CHECK(caller.result.get() == "main");
}

TEST_CASE("MainCalls: the caller gets what the call throws", "[daemon][unit]") {
    Caller caller([]() -> std::string { throw std::runtime_error("no"); });
    caller.calls.run_all();
    CHECK_THROWS_WITH(caller.result.get(), "no");
}

TEST_CASE("MainCalls: who waits at the end, or comes after it, is told", "[daemon][unit]") {
    Caller caller([] { return "never"; });
    caller.calls.close();
    CHECK_THROWS_WITH(caller.result.get(), "tributaryd is stopping");
    CHECK_THROWS_WITH(caller.calls.make([] { return "never"; }), "tributaryd is stopping");
}
