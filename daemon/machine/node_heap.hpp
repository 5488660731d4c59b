// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/machine/topology.hpp"

namespace tributary {

/// While it lives, its thread allocates heap memory on a NUMA node: from that node's own jemalloc
/// arena, with pages that the kernel places there. It is for a queue's counters, burst buffers and
/// fragments; big tables are not in the heap (NumaMemory). A block freed meanwhile may be reused
/// wherever it lies.
///
/// Without jemalloc (builds with sanitizers) pages are placed, but nodes share arenas.
/// @thread  its own; may be nested
/// @cost    a few system calls
class NodeHeap {
public:
    /// @param node  unknown: nothing changes
    explicit NodeHeap(const NumaNode& node);
    ~NodeHeap();
    NodeHeap(const NodeHeap&) = delete;
    NodeHeap& operator=(const NodeHeap&) = delete;

private:
    struct Policy;

    std::unique_ptr<Policy> former_policy_;  ///< nullptr: not changed
    std::optional<unsigned> former_arena_;   ///< nullopt: not changed
};

[[nodiscard]] NumaNode node_of_cpu(std::uint32_t cpu);
/// The node of the calling thread's CPU.
[[nodiscard]] NumaNode node_of_this_cpu();

/// The heap's use, in octets.
struct HeapUse {
    NumaNode node;              ///< nullopt: all memory outside the nodes' arenas
    std::uint64_t allocated{};  ///< by the program
    std::uint64_t resident{};   ///< in physical memory, including jemalloc's own
};

/// One entry per node with an arena, and the rest; empty without jemalloc.
/// @thread  any
/// @cost    some ten microseconds: jemalloc adds up its threads' numbers
[[nodiscard]] std::vector<HeapUse> read_heap_use();

}  // namespace tributary
