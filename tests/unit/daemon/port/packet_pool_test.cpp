// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/packet_pool.hpp"

#include <catch2/catch.hpp>

#include <array>

namespace tributary {
namespace {

InputOptions input(std::uint16_t queues, std::uint16_t descriptors) {
    InputOptions options;
    options.device = "0000:81:00.0";
    options.queues = queues;
    options.rx_descriptors = descriptors;
    return options;
}

TEST_CASE("plan_pools: full rings, two bursts and the threads' caches fit", "[daemon][unit]") {
    const std::array inputs{input(2, 4096)};
    const std::array nodes{NumaNode{0}};
    CHECK(plan_pools(inputs, nodes) ==
          std::vector<PoolSize>{
              {.node = 0, .buffers = 2 * (4096 + 2 * 64 + 384), .cached = 256, .octets = 2048}});
}

TEST_CASE("plan_pools: inputs of one node share a pool, whose buffers fit the largest mtu",
          "[daemon][unit]") {
    std::array inputs{input(1, 1024), input(1, 1024), input(1, 2048)};
    inputs[2].mtu = 9000;
    const std::array nodes{NumaNode{1}, NumaNode{}, NumaNode{1}};
    CHECK(plan_pools(inputs, nodes) ==
          std::vector<PoolSize>{
              {.node = 1, .buffers = 1024 + 2048 + 2 * 512, .cached = 256, .octets = 9216},
              {.node = std::nullopt, .buffers = 1024 + 512, .cached = 256, .octets = 2048}});
}

TEST_CASE("plan_pools: mempool-size replaces an input's share, and caches stay a part of it",
          "[daemon][unit]") {
    std::array inputs{input(4, 4096)};
    inputs[0].mempool_size = 800;
    const std::array nodes{NumaNode{}};
    CHECK(plan_pools(inputs, nodes) ==
          std::vector<PoolSize>{
              {.node = std::nullopt, .buffers = 800, .cached = 50, .octets = 2048}});
}

TEST_CASE("plan_pools: packets that stages keep have buffers of their own, beside any others",
          "[daemon][unit]") {
    std::array inputs{input(2, 1024), input(4, 4096)};
    inputs[0].kept_buffers = 1000;
    inputs[1].kept_buffers = 10;
    inputs[1].mempool_size = 800;
    const std::array nodes{NumaNode{0}, NumaNode{1}};
    CHECK(
        plan_pools(inputs, nodes) ==
        std::vector<PoolSize>{
            {.node = 0,
             .buffers = 2 * (1024 + 512 + 1000),
             .cached = 256,
             .octets = 2048,
             .is_shared = true},
            {.node = 1, .buffers = 800 + 4 * 10, .cached = 50, .octets = 2048, .is_shared = true}});
    CHECK(plan_head_pool(inputs[0], NumaNode{}).buffers == 2 * (1024 + 512 + 1000));
}

TEST_CASE("plan_pools: caches stay a part of what kept packets leave of a pool", "[daemon][unit]") {
    std::array inputs{input(4, 4096), input(2, 4096)};
    inputs[0].mempool_size = 800;
    inputs[0].kept_buffers = 10'000;
    inputs[0].trim_length = 96;
    inputs[1].mempool_size = 400;
    CHECK(plan_pools(inputs, std::array<NumaNode, 2>{}) ==
          std::vector<PoolSize>{{.node = std::nullopt,
                                 .buffers = 1200 + 40'000,
                                 .cached = 50,
                                 .octets = 2048,
                                 .is_shared = true}});
    CHECK(plan_head_pool(inputs[0], NumaNode{}) == PoolSize{.node = std::nullopt,
                                                            .buffers = 800 + 40'000,
                                                            .cached = 50,
                                                            .octets = 96,
                                                            .is_shared = true});
}

TEST_CASE("plan_head_pool: as many buffers as for the packets, of trim-length", "[daemon][unit]") {
    InputOptions trimmed = input(2, 1024);
    trimmed.trim_length = 96;
    CHECK(plan_head_pool(trimmed, NumaNode{1}) ==
          PoolSize{.node = 1, .buffers = 2 * (1024 + 512), .cached = 256, .octets = 96});
    trimmed.mempool_size = 800;
    CHECK(plan_head_pool(trimmed, NumaNode{}) ==
          PoolSize{.node = std::nullopt, .buffers = 800, .cached = 100, .octets = 96});
}

}  // namespace
}  // namespace tributary
