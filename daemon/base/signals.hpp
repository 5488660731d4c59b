// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace tributary {

/// SIGHUP, SIGINT, SIGTERM and SIGUSR1 as ordinary events of the main thread, without handlers.
/// Make it before any thread, so that all threads inherit the blocked mask. Also ignores SIGPIPE: a
/// closed peer is an error code.
class Signals {
public:
    /// @errors  std::system_error
    Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    ~Signals();

    /// Waits for a signal, for wake(), or until the time is over.
    ///
    /// @return  the signal's number; nullopt: none
    /// @thread  main
    [[nodiscard]] std::optional<int> wait_for(std::chrono::milliseconds time);
    /// Whether SIGINT or SIGTERM is pending for wait_for(), so that long work ends first.
    [[nodiscard]] static bool is_end_pending() noexcept;
    /// Ends a wait_for(), the present one or the next.
    /// @thread  any
    void wake() noexcept;
    /// From now on SIGINT, SIGTERM and SIGHUP end the process, and SIGUSR1 does nothing, even if
    /// the process was started with them ignored, as a shell does for a script's jobs.
    /// @thread  main
    void let_go() noexcept;
    /// Lets a signal that wait_for() returned end the process.
    /// @thread  main
    void end_process(int signal) noexcept;

private:
    int signal_fd_;
    int wake_fd_;
};

}  // namespace tributary
