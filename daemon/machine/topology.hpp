// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/machine/device.hpp"

namespace tributary {

/// A NUMA node; nullopt: unknown (virtual devices). An unknown node is never remote.
using NumaNode = std::optional<std::uint32_t>;

/// A CPU as the kernel counts them: one hardware thread.
struct Cpu {
    std::uint32_t id{};
    NumaNode node{};
    std::uint32_t sibling{};  ///< index of the hardware thread in its core, from 0
    std::uint32_t core{};     ///< the first CPU of its core
    /// In this process's affinity; isolated CPUs are not, but may be configured.
    bool allowed = true;
    bool isolated = false;  ///< not used by the kernel's scheduler (isolcpus)
};

/// A node's huge pages of 2 MiB.
struct HugePages {
    std::uint32_t node{};
    std::uint64_t total{};
    std::uint64_t free{};
};

struct Topology {
    std::vector<Cpu> cpus;              ///< all online CPUs, by id
    std::vector<HugePages> huge_pages;  ///< of all nodes; without NUMA of node 0

    /// @return  nullptr: no such CPU is online
    [[nodiscard]] const Cpu* find(std::uint32_t id) const noexcept;
    /// @return  CPUs of this process's affinity
    [[nodiscard]] std::vector<std::uint32_t> allowed() const;
};

/// Whether a CPU, or memory, is known to be on another node than a NIC.
[[nodiscard]] constexpr bool is_remote(const NumaNode& cpu, const NumaNode& nic) noexcept {
    return cpu && nic && *cpu != *nic;
}

/// This machine, from sched_getaffinity and /sys. Call it before EAL, which changes the affinity.
[[nodiscard]] Topology read_topology();

/// The node of a PCI device, from /sys; unknown for virtual devices.
[[nodiscard]] NumaNode read_device_node(const EalDevice& device);

/// Reads the kernel's list format, `0-3,8,10-11`.
///
/// @return  the numbers; other text is skipped
/// @thread  any; pure
[[nodiscard]] std::vector<std::uint32_t> parse_cpu_list(std::string_view text);

}  // namespace tributary
