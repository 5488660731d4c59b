// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "conf/config.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/machine/placement.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/port/packet_pool.hpp"

namespace tributary {

/// The requirements of a configuration, before any hardware is touched; only the mtu of network
/// interfaces is read.
struct ProbePlan {
    std::vector<InputOptions> inputs;  ///< with_mtu() of their interfaces
    std::vector<EalDevice> devices;    ///< one per input
    std::vector<NumaNode> nodes;       ///< of the inputs' NICs
    std::vector<PoolSize> pools;
    std::vector<std::optional<PoolSize>> heads;  ///< one per input, if it needs head buffers
    std::vector<QueueToPlace> queues;            ///< in the order of inputs and their queues
};

/// @errors  StartupError(78): as eal_device()
/// @thread  main
[[nodiscard]] ProbePlan plan_probe(const Config& config);

/// Memory of a probe on a node, in huge pages of 2 MiB.
struct NodeMemory {
    NumaNode node;
    std::uint64_t pages{};
};

/// @return  octets on all nodes
[[nodiscard]] std::uint64_t octets_of(std::span<const NodeMemory> memory);

/// Packet buffers, caches and rings, each in pages of its own, by node; and DPDK's own memory, on
/// the first node.
[[nodiscard]] std::vector<NodeMemory> memory_of(const ProbePlan& plan, const Config& config);

}  // namespace tributary
