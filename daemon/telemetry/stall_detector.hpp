// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/pipeline/thread_load.hpp"

namespace tributary {

/// Finds hanging threads by counters of rounds that stand still. An idle thread goes on counting,
/// so that no traffic is no stall.
/// @thread  main
class StallDetector {
public:
    using Uptime = std::chrono::nanoseconds;

    /// How long a busy machine may keep a thread from its CPU before it counts as hanging.
    static constexpr std::chrono::seconds kPatience{2};

    /// @param threads  outlive the detector
    StallDetector(const std::vector<const ThreadLoad*>& threads, Uptime now);

    /// Looks at all threads once.
    ///
    /// @return  true: each has gone on since the last look, or has stood for less than kPatience
    [[nodiscard]] bool look(Uptime now);
    /// A line for each thread that began to hang, or goes on again, since the last call.
    [[nodiscard]] std::vector<std::string> take_news();
    /// Names of the hanging threads.
    [[nodiscard]] std::vector<std::string> hanging() const;

private:
    struct Seen {
        const ThreadLoad* thread;
        std::uint64_t rounds;
        Uptime since;  ///< uptime at its last progress
        bool hangs = false;
    };

    std::vector<Seen> seen_;
    std::vector<std::string> news_;
};

}  // namespace tributary
