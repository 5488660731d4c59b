// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/pipeline/thread_load.hpp"

namespace tributary {

/// Finds threads that hang: those whose count of rounds stands still. An idle thread goes on
/// counting, so that no traffic is no stall.
/// @thread  main
class StallDetector {
public:
    using Uptime = std::chrono::nanoseconds;

    /// How long a busy machine may keep a thread from its CPU before it is told of.
    static constexpr std::chrono::seconds kPatience{2};

    /// @param threads  outlive the watch
    StallDetector(const std::vector<const ThreadLoad*>& threads, Uptime now);

    /// Looks at all threads once.
    ///
    /// @return  whether each has gone on since the last look, or has not stood for kPatience
    [[nodiscard]] bool look(Uptime now);
    /// A line for each thread that began to hang, or goes on again, since it was last asked.
    [[nodiscard]] std::vector<std::string> take_news();
    /// Names of the threads that hang.
    [[nodiscard]] std::vector<std::string> hanging() const;

private:
    struct Seen {
        const ThreadLoad* thread;
        std::uint64_t rounds;
        Uptime since;  ///< uptime at which it had just gone on
        bool hangs = false;
    };

    std::vector<Seen> seen_;
    std::vector<std::string> news_;
};

}  // namespace tributary
