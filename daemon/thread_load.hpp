// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_cycles.h>

#include <cstdint>
#include <string>

#include "flowcache/counter.hpp"

namespace tributary {

/// What a polling thread does with its time: rounds of its loop, and the CPU's cycles (TSC) in
/// rounds that brought something and in those that did not, with the sleep after them. In a cache
/// line of its own, because it is written in each round.
struct alignas(64) ThreadLoad {
    std::string thread;  ///< written before the thread starts
    Counter rounds{};
    Counter busy_cycles{};
    Counter idle_cycles{};
};

/// Times the rounds of one thread's loop.
/// @thread  the one that is timed
/// @cost    one reading of the TSC a round
class RoundTimer {
public:
    explicit RoundTimer(ThreadLoad& load) noexcept : load_(load), last_(rte_rdtsc()) {}

    /// Call at the end of each round.
    ///
    /// @param found  whether it brought anything
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
