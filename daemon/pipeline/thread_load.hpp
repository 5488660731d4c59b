// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "flowcache/record/counter.hpp"

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

}  // namespace tributary
