// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/trimming.hpp"

#include <rte_ethdev.h>
#include <sysexits.h>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

/// Why this driver cannot separate the first octets of packets; empty: it can.
std::string obstacle(const TrimFacts& facts) {
    if (!facts.buffer_split) {
        return "driver " + facts.driver + " does not offer buffer split";
    }
    if (facts.driver == "net_ice") {
        return "driver net_ice splits packets behind a protocol header only, not at a length";
    }
    if (facts.segments < 2) {
        return "driver " + facts.driver + " splits packets into no more than " +
               std::to_string(facts.segments) + " segment(s)";
    }
    if (!facts.several_pools) {
        return "driver " + facts.driver +
               " takes all segments from one pool (mlx5 does so with mprq_en=1)";
    }
    return {};
}

}  // namespace

TrimFacts trim_facts(const rte_eth_dev_info& info) {
    return {.driver = info.driver_name,
            .buffer_split = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT) != 0,
            .scatter = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0,
            .segments = info.rx_seg_capa.max_nseg,
            .several_pools = info.rx_seg_capa.multi_pools != 0};
}

TrimPlan plan_trimming(const InputOptions& input, const TrimFacts& facts) {
    if (!needs_head_buffers(input)) {
        return {};
    }
    if (const std::string why = obstacle(facts); !why.empty()) {
        throw StartupError(
            EX_CONFIG,
            "input " + input.name + ": parse is trimmed, trimmed-by is driver, but " + why +
                "; of DPDK 22.11's drivers only mlx5 (mlx5_pci) can cut packets at a length. "
                "trimmed-by: source takes packets that come cut, and looks at the first "
                "trim-length octets of others");
    }
    return {.splits = true,
            .offloads =
                RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | (facts.scatter ? RTE_ETH_RX_OFFLOAD_SCATTER : 0),
            .head_octets = input.trim_length};
}

std::array<rte_eth_rxseg, 2> split_segments(const TrimPlan& plan, rte_mempool* heads,
                                            rte_mempool* rest) {
    std::array<rte_eth_rxseg, 2> segments{};
    segments[0].split.mp = heads;
    segments[0].split.length = plan.head_octets;
    segments[1].split.mp = rest;
    segments[1].split.length = 0;  // as much as a buffer holds
    return segments;
}

}  // namespace tributary
