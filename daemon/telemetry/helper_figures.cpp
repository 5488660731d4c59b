// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/helper_figures.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/machine/node_heap.hpp"

namespace tributary {
namespace {

NumaNode common_node(const std::vector<std::uint32_t>& cpus) {
    if (cpus.empty()) {
        return {};
    }
    const NumaNode first = node_of_cpu(cpus.front());
    const bool is_common = std::ranges::all_of(
        cpus, [&first](std::uint32_t cpu) { return node_of_cpu(cpu) == first; });
    return is_common ? first : NumaNode{};
}

}  // namespace

std::vector<HelperFigures> read_helpers() {
    std::vector<HelperFigures> helpers;
    for (ProcessThread& thread :
         read_process_threads(std::chrono::steady_clock::now().time_since_epoch())) {
        if (thread.role != ThreadRole::pinned) {
            const NumaNode node = common_node(thread.cpus);
            helpers.push_back({.thread = std::move(thread), .node = node});
        }
    }
    return helpers;
}

}  // namespace tributary
