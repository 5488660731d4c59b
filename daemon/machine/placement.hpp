// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/machine/topology.hpp"

namespace tributary {

/// A receive queue that needs a thread.
struct QueueToPlace {
    std::string input;      ///< name, for messages
    std::uint16_t queue{};  ///< within the input
    NumaNode node;          ///< of its NIC
};

/// The CPUs of the threads.
struct CorePlan {
    std::vector<std::uint32_t> input_cpus;  ///< one per queue, in the order of the queues
    std::uint32_t export_cpu{};
    std::vector<std::uint32_t> helper_cpus;  ///< of the main thread and all others, not empty
    bool back_off = false;                   ///< threads share a CPU: they must sleep when idle
    std::vector<std::string> warnings;       ///< for the log
};

/// Gives every input thread and the export thread a CPU, and the helper threads theirs.
///
/// Automatic input threads take CPUs of their NIC's node, one hardware thread per core first; the
/// export thread takes a CPU of its own, if one is left. If threads outnumber CPUs they share
/// evenly. With `numa: strict` they share before they cross nodes.
///
/// Helper threads have the configured CPUs, or the export thread's. Automatic placement gives an
/// input or export thread one of the configured ones only if no other CPU is free, and helper
/// threads then keep to the rest of theirs. If nothing is left, a warning says that they share.
///
/// @errors  StartupError(78): a configured CPU is not online; with `numa: strict`, a configured CPU
///          is on another node than its NIC, or automatic placement has no CPU on the NIC's node
/// @thread  any; pure
[[nodiscard]] CorePlan place_threads(const CoreOptions& options, const Topology& topology,
                                     std::span<const QueueToPlace> queues);

}  // namespace tributary
