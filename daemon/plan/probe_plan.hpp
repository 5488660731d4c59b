// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/machine/memory_part.hpp"
#include "daemon/machine/placement.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/port/packet_pool.hpp"
#include "daemon/table/table_memory.hpp"

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
    /// What each declared table has in each queue; empty where a declaration is no table.
    std::vector<TableMemory> tables;
};

/// @errors  StartupError(78): as eal_device()
/// @thread  main
[[nodiscard]] ProbePlan plan_probe(const Config& config);

/// A helper thread of a probe.
struct PlannedHelper {
    std::string name;  ///< as `top -H` shows it
    std::string work;
};

/// The helper threads of a probe, and of the libraries that it uses, as `tributary top` shows them.
/// @thread  any; pure
[[nodiscard]] std::vector<PlannedHelper> helpers_of(const Config& config);

/// Memory of a probe on a node, in huge pages of 2 MiB.
struct NodeMemory {
    NumaNode node;
    std::uint64_t pages{};
};

/// The memory of each part outside the heap, by node: packet buffers, head buffers, flow caches,
/// record rings, those of declared tables, the recorder's, the triggers', and DPDK's own. The heap
/// holds the rest: fragments, filters, the messages of collectors and what answers take.
[[nodiscard]] std::vector<MemoryPart> memory_parts(const ProbePlan& plan, const Config& config);

// The names of parts in use.
inline constexpr const char* kPacketBuffers = "packet buffers";
inline constexpr const char* kHeadBuffers = "head buffers";
inline constexpr const char* kFlowCaches = "flow caches";
inline constexpr const char* kRecordRings = "record rings";
inline constexpr const char* kTableCaches = "caches of tables";
inline constexpr const char* kTableRings = "rings of tables";
inline constexpr const char* kTableInboxes = "rings between queues";
inline constexpr const char* kRecorderRings = "recorder";
inline constexpr const char* kTriggerStates = "triggers";

/// @return  octets on all nodes
[[nodiscard]] std::uint64_t octets_of(std::span<const NodeMemory> memory);

/// memory_parts(), each buffer pool, cache and ring in pages of its own.
[[nodiscard]] std::vector<NodeMemory> memory_of(const ProbePlan& plan, const Config& config);

}  // namespace tributary
