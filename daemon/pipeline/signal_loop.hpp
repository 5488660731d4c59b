// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "daemon/base/signals.hpp"
#include "export/memory_reserve.hpp"

namespace tributary {

/// The main thread's loop, the same for a probe, captures and preparse: it waits for signals, logs
/// statistics on SIGUSR1, and passes the other signals to the run.
///
/// @thread  main
class SignalLoop {
public:
    /// What a loop does.
    struct Rounds {
        std::function<bool()> is_over;                     ///< asked before each wait
        std::function<std::chrono::milliseconds()> pause;  ///< how long a round waits at most
        /// The work of a round. Returns false: the loop ends.
        ///
        /// @param signal  the received signal, except SIGUSR1; nullopt: none
        std::function<bool(std::optional<int> signal)> act;
        /// Logged when a round fails for lack of memory; the loop continues.
        const char* without_memory;
    };

    /// @param reserve     of the main thread, filled before the work of each round
    /// @param statistics  what SIGUSR1 logs, in one line
    SignalLoop(Signals& signals, MemoryReserve& reserve, std::function<std::string()> statistics);

    /// Runs rounds until is_over() is true or act() returns false.
    void run(const Rounds& rounds);

    /// For the log: this signal ends the run.
    static void log_stopping(int signal);

private:
    [[nodiscard]] bool go_round(const Rounds& rounds);
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds time);

    Signals& signals_;
    MemoryReserve& reserve_;
    std::function<std::string()> statistics_;
};

}  // namespace tributary
