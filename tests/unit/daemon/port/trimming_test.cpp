// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/trimming.hpp"

#include <rte_ethdev.h>
#include <sysexits.h>
#include <catch2/catch.hpp>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

InputOptions trimmed(TrimmedBy by) {
    InputOptions input;
    input.name = "uplink";
    input.parse = ParseMode::trimmed;
    input.trim_length = 96;
    input.trimmed_by = by;
    return input;
}

TrimFacts able() {
    return {.driver = "mlx5_pci",
            .buffer_split = true,
            .scatter = true,
            .segments = 32,
            .several_pools = true};
}

std::string refusal(const TrimFacts& facts) {
    try {
        (void)plan_trimming(trimmed(TrimmedBy::driver), facts);
    } catch (const StartupError& error) {
        CHECK(error.exit_code() == EX_CONFIG);
        return error.what();
    }
    return "accepted";
}

constexpr const char* kWays =
    "; of DPDK 22.11's drivers only mlx5 (mlx5_pci) can cut packets at a length. trimmed-by: "
    "source takes packets that come cut, and looks at the first trim-length octets of others";

}  // namespace

TEST_CASE("plan_trimming: a driver with buffer split cuts at trim-length", "[daemon][unit]") {
    CHECK(plan_trimming(trimmed(TrimmedBy::driver), able()) ==
          TrimPlan{.splits = true,
                   .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_SCATTER,
                   .head_octets = 96});
    TrimFacts no_scatter = able();
    no_scatter.scatter = false;
    CHECK(plan_trimming(trimmed(TrimmedBy::driver), no_scatter).offloads ==
          RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT);
}

TEST_CASE("plan_trimming: nothing is asked of the driver unless it is to cut", "[daemon][unit]") {
    InputOptions full = trimmed(TrimmedBy::driver);
    full.parse = ParseMode::full;
    CHECK(plan_trimming(full, able()) == TrimPlan{});
    CHECK(plan_trimming(trimmed(TrimmedBy::source), able()) == TrimPlan{});
    CHECK(plan_trimming(trimmed(TrimmedBy::source), {.driver = "net_null"}) == TrimPlan{});
    CHECK(needs_head_buffers(trimmed(TrimmedBy::driver)));
    CHECK_FALSE(needs_head_buffers(trimmed(TrimmedBy::source)));
    CHECK_FALSE(needs_head_buffers(full));
}

TEST_CASE("plan_trimming: a driver that can't is refused, with those that can", "[daemon][unit]") {
    const std::string begin = "input uplink: parse is trimmed, trimmed-by is driver, but ";
    CHECK(refusal({.driver = "net_pcap"}) ==
          begin + "driver net_pcap does not offer buffer split" + kWays);
    TrimFacts ice = able();
    ice.driver = "net_ice";
    CHECK(refusal(ice) ==
          begin + "driver net_ice splits packets behind a protocol header only, not at a length" +
              kWays);
    TrimFacts one_segment = able();
    one_segment.segments = 1;
    CHECK(refusal(one_segment) ==
          begin + "driver mlx5_pci splits packets into no more than 1 segment(s)" + kWays);
    TrimFacts one_pool = able();
    one_pool.several_pools = false;
    CHECK(refusal(one_pool) == begin +
                                   "driver mlx5_pci takes all segments from one pool (mlx5 does "
                                   "so with mprq_en=1)" +
                                   kWays);
}

TEST_CASE("trim_facts: what the driver tells", "[daemon][unit]") {
    rte_eth_dev_info info{};
    info.driver_name = "mlx5_pci";
    TrimFacts facts = trim_facts(info);
    CHECK_FALSE(facts.buffer_split);
    CHECK_FALSE(facts.scatter);
    CHECK_FALSE(facts.several_pools);
    info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_SCATTER;
    info.rx_seg_capa.max_nseg = 32;
    info.rx_seg_capa.multi_pools = 1;
    facts = trim_facts(info);
    CHECK(facts.driver == "mlx5_pci");
    CHECK(facts.buffer_split);
    CHECK(facts.scatter);
    CHECK(facts.several_pools);
    CHECK(facts.segments == 32);
}

TEST_CASE("split_segments: the head into small buffers, the rest into the others",
          "[daemon][unit]") {
    // Pools are opaque here: only their identity matters.
    int head = 0;
    int rest = 0;
    auto* const heads = reinterpret_cast<rte_mempool*>(&head);
    auto* const rests = reinterpret_cast<rte_mempool*>(&rest);
    const auto segments = split_segments({.splits = true, .head_octets = 96}, heads, rests);
    CHECK(segments[0].split.mp == heads);
    CHECK(segments[0].split.length == 96);
    CHECK(segments[0].split.offset == 0);
    CHECK(segments[0].split.proto_hdr == 0);
    CHECK(segments[1].split.mp == rests);
    CHECK(segments[1].split.length == 0);
    CHECK(segments[1].split.offset == 0);
    CHECK(segments[1].split.proto_hdr == 0);
}

}  // namespace tributary
