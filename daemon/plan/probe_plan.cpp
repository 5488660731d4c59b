// SPDX-License-Identifier: Apache-2.0
#include "daemon/plan/probe_plan.hpp"

#include <algorithm>
#include <numeric>

#include "daemon/pipeline/queue_worker.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/trimming.hpp"
#include "export/metering_process.hpp"

namespace tributary {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;

class MemoryByNode {
public:
    void add(const NumaNode& node, std::uint64_t octets) {
        auto place = std::ranges::find(needs_, node, &NodeMemory::node);
        if (place == needs_.end()) {
            place = needs_.insert(place, {.node = node, .pages = 0});
        }
        place->pages += (octets + kPage - 1) / kPage;
    }
    [[nodiscard]] std::vector<NodeMemory> take() { return std::move(needs_); }

private:
    std::vector<NodeMemory> needs_;
};

}  // namespace

ProbePlan plan_probe(const Config& config) {
    ProbePlan plan;
    for (std::size_t index = 0; index < config.inputs.size(); ++index) {
        plan.inputs.push_back(with_mtu_of_interface(config.inputs[index]));
        const InputOptions& input = plan.inputs.back();
        plan.devices.push_back(eal_device(input, index));
        plan.nodes.push_back(read_device_node(plan.devices.back()));
        plan.heads.push_back(needs_head_buffers(input)
                                 ? std::optional(plan_head_pool(input, plan.nodes.back()))
                                 : std::nullopt);
        for (std::uint16_t queue = 0; queue < input.queues; ++queue) {
            plan.queues.push_back({.input = input.name, .queue = queue, .node = plan.nodes.back()});
        }
    }
    plan.pools = plan_pools(plan.inputs, plan.nodes);
    return plan;
}

std::uint64_t octets_of(std::span<const NodeMemory> memory) {
    return std::accumulate(
        memory.begin(), memory.end(), std::uint64_t{0},
        [](std::uint64_t sum, const NodeMemory& node) { return sum + node.pages * kPage; });
}

std::vector<NodeMemory> memory_of(const ProbePlan& plan, const Config& config) {
    MemoryByNode memory;
    for (const PoolSize& pool : plan.pools) {
        memory.add(pool.node, pool.memory());
    }
    for (const std::optional<PoolSize>& heads : plan.heads) {
        if (heads) {
            memory.add(heads->node, heads->memory());
        }
    }
    const RecordLayout layout = RecordLayout::of(
        effective_groups(config.export_.fields, config.flows), config.flows.direction);
    for (const QueueToPlace& queue : plan.queues) {
        for (const std::size_t octets : queue_memory({.flows = config.flows, .layout = layout})) {
            memory.add(queue.node, octets);
        }
    }
    memory.add(plan.nodes.empty() ? std::nullopt : plan.nodes.front(), kEalOwnMemory);
    return memory.take();
}

}  // namespace tributary
