// SPDX-License-Identifier: Apache-2.0
// Linked with jemalloc, like tributaryd.
#include "daemon/machine/node_heap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace tributary {
namespace {

constexpr std::size_t kBlock = 1000;
constexpr std::size_t kBlocks = 1000;

/// Blocks that are freed with the object.
std::vector<std::unique_ptr<std::byte[]>> take_a_million_octets() {
    std::vector<std::unique_ptr<std::byte[]>> blocks(kBlocks);
    std::ranges::generate(blocks, [] { return std::make_unique<std::byte[]>(kBlock); });
    return blocks;
}

std::uint64_t allocated_on(const NumaNode& node) {
    for (const HeapUse& use : read_heap_use()) {
        if (use.node == node) {
            CHECK(use.resident > 0);
            return use.allocated;
        }
    }
    return 0;
}

TEST_CASE("NodeHeap: what its thread allocates is in its node's arena, until it goes",
          "[daemon][unit]") {
    std::uint64_t before = 0;
    {
        const NodeHeap heap(0);
        before = allocated_on(0);
        const auto blocks = take_a_million_octets();
        CHECK(allocated_on(0) >= before + kBlocks * kBlock);
    }
    before = allocated_on(0);
    const auto blocks = take_a_million_octets();
    CHECK(allocated_on(0) < before + kBlocks * kBlock / 2);
    CHECK(allocated_on({}) >= kBlocks * kBlock);
}

TEST_CASE("NodeHeap: one inside another goes back to the one outside", "[daemon][unit]") {
    const NodeHeap outer(0);
    { const NodeHeap inner(1); }
    const std::uint64_t before = allocated_on(0);
    const auto blocks = take_a_million_octets();
    CHECK(allocated_on(0) >= before + kBlocks * kBlock);
}

TEST_CASE("NodeHeap: an unknown node leaves everything as it is", "[daemon][unit]") {
    const std::uint64_t before = allocated_on({});
    const NodeHeap heap({});
    const auto blocks = take_a_million_octets();
    CHECK(allocated_on({}) >= before + kBlocks * kBlock);
}

TEST_CASE("NodeHeap: a thread that is not in one allocates elsewhere meanwhile", "[daemon][unit]") {
    const NodeHeap heap(0);
    const std::uint64_t before = allocated_on(0);
    std::uint64_t meanwhile = 0;
    std::thread([&] {
        const auto blocks = take_a_million_octets();
        meanwhile = allocated_on(0);
    }).join();
    CHECK(meanwhile < before + kBlocks * kBlock / 2);
}

}  // namespace
}  // namespace tributary
