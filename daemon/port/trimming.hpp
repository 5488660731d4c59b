// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/base/options.hpp"

struct rte_eth_dev_info;
struct rte_mempool;
union rte_eth_rxseg;

namespace tributary {

/// What a port says about cutting packets.
struct TrimFacts {
    std::string driver;          ///< DPDK's driver name
    bool buffer_split = false;   ///< offers to put a packet into several buffers
    bool scatter = false;        ///< offers packets in more than one buffer at all
    std::uint16_t segments = 0;  ///< buffers of one packet at the most, each of a size of its own
    bool several_pools = false;  ///< they may come from pools of their own
};

[[nodiscard]] TrimFacts trim_facts(const rte_eth_dev_info& info);

/// Where a packet's first octets are kept apart from the rest.
struct TrimPlan {
    bool splits = false;            ///< by the NIC, into two buffers
    std::uint64_t offloads = 0;     ///< RTE_ETH_RX_OFFLOAD_* to ask the port for
    std::uint16_t head_octets = 0;  ///< octets in the first buffer, where it splits
    friend bool operator==(const TrimPlan&, const TrimPlan&) = default;
};

/// Whether an input needs small buffers for the heads of packets, beside those for the rest. Known
/// before its port is.
[[nodiscard]] constexpr bool needs_head_buffers(const InputOptions& input) noexcept {
    return input.parse == ParseMode::trimmed && input.trimmed_by == TrimmedBy::driver;
}

/// Decides how the packets of an input get cut. Never run on hardware: no virtual device offers
/// buffer split.
///
/// @errors  StartupError(78): the driver can't, but was asked to
/// @thread  any; pure
/// @source  rte_ethdev.h of DPDK 22.11, RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT. mlx5 splits at any length,
///          needs scatter beside it and refuses it with multi-packet receive queues (mprq_en=1);
///          ice splits behind a protocol header only.
[[nodiscard]] TrimPlan plan_trimming(const InputOptions& input, const TrimFacts& facts);

/// The two segments of a packet that is split, as rte_eth_rxconf wants them.
///
/// @param heads  pool of the first segments; its buffers hold plan.head_octets
/// @param rest   pool of what comes behind
[[nodiscard]] std::array<rte_eth_rxseg, 2> split_segments(const TrimPlan& plan, rte_mempool* heads,
                                                          rte_mempool* rest);

}  // namespace tributary
