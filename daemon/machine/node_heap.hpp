// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/machine/topology.hpp"

namespace tributary {

/// While it lives, what its thread takes from the heap lies on a NUMA node: in an arena of
/// jemalloc's that is that node's own, whose pages the kernel is asked to place there. Big tables
/// are no matter of the heap (NumaMemory); this is for what a queue has beside them: counters,
/// burst buffers, fragments. A block that the thread frees meanwhile it may get again, wherever
/// that lies.
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
    struct Policy;

    std::unique_ptr<Policy> former_policy_;  ///< nullptr: it was not changed
    std::optional<unsigned> former_arena_;   ///< none: it was not changed
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
