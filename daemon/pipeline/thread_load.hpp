// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "flowcache/record/counter.hpp"

namespace tributary {

/// The time of a polling thread: rounds of its loop, and TSC cycles in rounds that brought
/// something and in empty rounds with the sleep after them. In a cache line of its own, because
/// each round writes it.
struct alignas(64) ThreadLoad {
    std::string thread;  ///< written before the thread starts
    Counter rounds{};
    Counter busy_cycles{};
    Counter idle_cycles{};
};

}  // namespace tributary
