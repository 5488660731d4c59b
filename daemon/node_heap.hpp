// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/topology.hpp"

namespace tributary {

/// While it lives, what its thread takes from the heap lies on a NUMA node: in an arena of
/// jemalloc's that is that node's own, whose pages the kernel is asked to place there. Big tables
/// are no matter of the heap (NumaMemory); this is for what a queue has beside them: counters,
/// burst buffers, fragments.
///
/// Without jemalloc (builds with sanitizers) pages are placed, but nodes share arenas.
/// @thread  its own; one inside another is good
/// @cost    a few system calls
class NodeHeap {
public:
    /// @param node  unknown: everything stays as it is
    explicit NodeHeap(const NumaNode& node);
    ~NodeHeap();
    NodeHeap(const NodeHeap&) = delete;
    NodeHeap& operator=(const NodeHeap&) = delete;

private:
    bool is_on_ = false;
    NumaNode former_node_;  ///< that pages were wanted on
    unsigned former_arena_ = 0;
};

/// The node of the CPU that the calling thread runs on.
[[nodiscard]] NumaNode node_of_this_cpu();

/// What the heap has, in octets.
struct HeapUse {
    NumaNode node;              ///< none: everything that is in no node's arena
    std::uint64_t allocated{};  ///< by the program
    std::uint64_t resident{};   ///< in physical memory, with jemalloc's own
};

/// One entry per node that has an arena, and the rest; nothing without jemalloc.
/// @thread  any
/// @cost    some ten microseconds: jemalloc adds up its threads' numbers
[[nodiscard]] std::vector<HeapUse> read_heap_use();

}  // namespace tributary
