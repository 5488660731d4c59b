// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/signal_loop.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace tributary {
namespace {

using namespace std::chrono_literals;

/// A loop with what its rounds have seen.
struct Run {
    Signals signals;
    MemoryReserve reserve;
    int statistics = 0;
    std::vector<std::optional<int>> seen;
    SignalLoop loop{signals, reserve, [this] {
                        ++statistics;
                        return std::string("3 packets");
                    }};

    /// Rounds that note the signal and go on until `most` of them are done.
    SignalLoop::Rounds rounds(std::size_t most) {
        return {.is_over = [this, most] { return seen.size() == most; },
                .pause = [] { return 0ms; },
                .act =
                    [this](std::optional<int> signal) {
                        seen.push_back(signal);
                        return true;
                    },
                .without_memory = "not enough memory"};
    }
};

TEST_CASE("SignalLoop: SIGUSR1 logs statistics, and a round sees the other signals",
          "[daemon][unit]") {
    Run run;
    std::raise(SIGUSR1);
    run.loop.run(run.rounds(1));
    std::raise(SIGTERM);
    run.loop.run(run.rounds(2));
    run.loop.run(run.rounds(3));
    CHECK(run.statistics == 1);
    CHECK(run.seen ==
          std::vector<std::optional<int>>{std::nullopt, std::optional(SIGTERM), std::nullopt});
}

TEST_CASE("SignalLoop: a loop that is over takes no signal", "[daemon][unit]") {
    Run run;
    std::raise(SIGTERM);
    run.loop.run(run.rounds(0));
    CHECK(run.seen.empty());
    run.loop.run(run.rounds(1));
    CHECK(run.seen == std::vector<std::optional<int>>{SIGTERM});
}

TEST_CASE("SignalLoop: a round may end it", "[daemon][unit]") {
    Run run;
    SignalLoop::Rounds rounds = run.rounds(9);
    rounds.act = [&run](std::optional<int> signal) {
        run.seen.push_back(signal);
        return run.seen.size() < 4;
    };
    run.loop.run(rounds);
    CHECK(run.seen.size() == 4);
}

TEST_CASE("SignalLoop: without memory for a round it goes on", "[daemon][unit]") {
    Run run;
    SignalLoop::Rounds rounds = run.rounds(3);
    rounds.act = [&run](std::optional<int> signal) -> bool {
        run.seen.push_back(signal);
        throw std::bad_alloc();
    };
    run.loop.run(rounds);
    CHECK(run.seen.size() == 3);
}

TEST_CASE("SignalLoop: it wakes from another thread's call, and waits no longer",
          "[daemon][unit]") {
    Run run;
    SignalLoop::Rounds rounds = run.rounds(1);
    rounds.pause = [] { return 1h; };
    run.signals.wake();
    run.loop.run(rounds);
    CHECK(run.seen == std::vector<std::optional<int>>{std::nullopt});
}

}  // namespace
}  // namespace tributary
