// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_cycles.h>

#include <cstdint>

#include "daemon/pipeline/thread_load.hpp"

namespace tributary {

/// Times the rounds of one thread's loop.
/// @thread  the timed thread
/// @cost    one reading of the TSC a round
class RoundTimer {
public:
    explicit RoundTimer(ThreadLoad& load) noexcept : load_(load), last_(rte_rdtsc()) {}

    /// Call at the end of each round.
    ///
    /// @param found  whether the round brought anything
    void after_round(bool found) noexcept {
        const std::uint64_t now = rte_rdtsc();
        (found ? load_.busy_cycles : load_.idle_cycles).add(now - last_);
        load_.rounds.add();
        last_ = now;
    }

private:
    ThreadLoad& load_;
    std::uint64_t last_;
};

}  // namespace tributary
