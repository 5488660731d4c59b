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

/// A port's capabilities for cutting packets.
struct TrimFacts {
    std::string driver;          ///< DPDK's driver name
    bool buffer_split = false;   ///< can split a packet over several buffers
    bool scatter = false;        ///< can receive packets in more than one buffer
    std::uint16_t segments = 0;  ///< most buffers of one packet, each of its own size
    bool several_pools = false;  ///< buffers may come from different pools
};

[[nodiscard]] TrimFacts trim_facts(const rte_eth_dev_info& info);

/// How a packet's first octets are separated from the rest.
struct TrimPlan {
    bool splits = false;            ///< the NIC splits packets into two buffers
    std::uint64_t offloads = 0;     ///< RTE_ETH_RX_OFFLOAD_* to request
    std::uint16_t head_octets = 0;  ///< octets in the first buffer, if it splits
    friend bool operator==(const TrimPlan&, const TrimPlan&) = default;
};

/// Whether an input needs small buffers for the heads of packets, beside those for the rest. It
/// needs no port.
[[nodiscard]] constexpr bool needs_head_buffers(const InputOptions& input) noexcept {
    return input.parse == ParseMode::trimmed && input.trimmed_by == TrimmedBy::driver;
}

/// Decides how an input's packets are cut. Never run on hardware: no virtual device offers buffer
/// split.
///
/// @errors  StartupError(78): the driver cannot, but the configuration requires it
/// @thread  any; pure
/// @source  rte_ethdev.h of DPDK 22.11, RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT. mlx5 splits at any length,
///          needs scatter beside it and refuses it with multi-packet receive queues (mprq_en=1);
///          ice splits behind a protocol header only.
[[nodiscard]] TrimPlan plan_trimming(const InputOptions& input, const TrimFacts& facts);

/// The two segments of a split packet, as rte_eth_rxconf requires them.
///
/// @param heads  pool of the first segments; its buffers hold plan.head_octets
/// @param rest   pool of the rest
[[nodiscard]] std::array<rte_eth_rxseg, 2> split_segments(const TrimPlan& plan, rte_mempool* heads,
                                                          rte_mempool* rest);

}  // namespace tributary
