// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/machine/placement.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/plan/probe_plan.hpp"

namespace tributary {

/// A thread of a probe, with its best CPU and the reason.
struct PlannedThread {
    std::string name;
    std::uint32_t cpu{};
    NumaNode node;  ///< of the CPU
    std::string why;
};

/// The best placement on a machine for a configuration.
struct MachinePlan {
    std::vector<PlannedThread> threads;    ///< input threads in their order, the export thread last
    std::optional<PlannedThread> helpers;  ///< all others; nullopt: there is no CPU
    NumaPolicy numa = NumaPolicy::strict;
    std::vector<std::string> warnings;

    /// The placement in the form of the configuration.
    [[nodiscard]] CoreOptions cores() const;
};

/// Chooses a CPU for each thread, in this order: on its NIC's node, alone on its core, isolated
/// from the scheduler if there are such, and not on core 0, which the kernel uses. A condition that
/// cannot be met is a warning. Helper threads get a core that no busy thread uses and that the
/// scheduler does, core 0 first; without one they are on the export thread's CPU. Automatic
/// placement at the start, in contrast, uses isolated CPUs only if they are configured.
///
/// @param memory  of the probe, by node; a node with too few huge pages is a warning
/// @thread  any; pure
[[nodiscard]] MachinePlan plan_machine(const Topology& topology,
                                       std::span<const QueueToPlace> queues,
                                       std::span<const NodeMemory> memory);

/// The parts of a probe, for to_text().
struct ProbeParts {
    std::vector<NodeMemory> pages;       ///< memory_of()
    std::vector<MemoryPart> memory;      ///< memory_parts()
    std::vector<PlannedHelper> helpers;  ///< helpers_of()
};

/// The machine as a table, the memory of each part, the threads with their reasons, the helper
/// threads, a `cores:` block to be pasted into the configuration, and the warnings.
[[nodiscard]] std::string to_text(const MachinePlan& plan, const Topology& topology,
                                  const ProbeParts& parts);

}  // namespace tributary
