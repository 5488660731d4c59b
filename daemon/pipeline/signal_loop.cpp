// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/signal_loop.hpp"

#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "daemon/base/spdlog.hpp"

namespace tributary {

SignalLoop::SignalLoop(Signals& signals, MemoryReserve& reserve,
                       std::function<std::string()> statistics)
    : signals_(signals), reserve_(reserve), statistics_(std::move(statistics)) {}

void SignalLoop::run(const Rounds& rounds) {
    while (go_round(rounds)) {
    }
}

bool SignalLoop::go_round(const Rounds& rounds) {
    try {
        return !rounds.is_over() && rounds.act(wait(rounds.pause()));
    } catch (const std::bad_alloc&) {
        spdlog::error(rounds.without_memory);
        return true;
    }
}

std::optional<int> SignalLoop::wait(std::chrono::milliseconds time) {
    const std::optional<int> signal = signals_.wait_for(time);
    reserve_.fill();
    if (signal != SIGUSR1) {
        return signal;
    }
    try {
        spdlog::info("statistics: {}", statistics_());
    } catch (const std::bad_alloc&) {
        spdlog::error("not enough memory for statistics");
    }
    return std::nullopt;
}

void SignalLoop::log_stopping(int signal) {
    spdlog::info("SIG{}: stopping", ::sigabbrev_np(signal));
}

}  // namespace tributary
