// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/placement.hpp"

#include <sysexits.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

std::string node_text(const NumaNode& node) {
    return node ? "NUMA node " + std::to_string(*node) : std::string("an unknown NUMA node");
}

std::string queue_text(const QueueToPlace& queue) {
    return "input " + queue.input + " queue " + std::to_string(queue.queue);
}

class Placer {
public:
    Placer(const CoreOptions& options, const Topology& topology)
        : options_(options), topology_(topology) {}

    CorePlan place(std::span<const QueueToPlace> queues) {
        // Configured CPUs first, so that automatic placement avoids them.
        for (const std::uint32_t id : options_.helper_cores) {
            demand_online(id, "cores.helpers");
        }
        if (!options_.export_cores.empty()) {
            plan_.export_cpu = take(options_.export_cores.front(), "cores.export");
        }
        for (std::size_t i = 0; i < queues.size(); ++i) {
            plan_.input_cpus.push_back(options_.input_cores.empty()
                                           ? choose_input(queues[i])
                                           : configured_input(queues[i], i));
        }
        if (options_.export_cores.empty()) {
            plan_.export_cpu = choose_export(queues);
        }
        place_helpers();
        warn_unused(queues.size());
        warn_shared();
        warn_of_helpers();
        return std::move(plan_);
    }

private:
    void demand_online(std::uint32_t id, const char* key) const {
        if (topology_.find(id) == nullptr) {
            throw StartupError(EX_CONFIG, std::string(key) + ": core " + std::to_string(id) +
                                              " is not online on this machine (see lscpu -e)");
        }
    }

    std::uint32_t take(std::uint32_t id, const char* key) {
        demand_online(id, key);
        ++threads_on_[id];
        return id;
    }

    std::uint32_t configured_input(const QueueToPlace& queue, std::size_t position) {
        const auto& cores = options_.input_cores;
        const std::uint32_t id = take(cores[position % cores.size()], "cores.input");
        const NumaNode node = topology_.find(id)->node;
        if (!is_remote(node, queue.node) || options_.numa == NumaPolicy::off) {
            return id;
        }
        const std::string text = "cores.input: core " + std::to_string(id) + " is on " +
                                 node_text(node) + ", but the NIC of " + queue_text(queue) +
                                 " is on " + node_text(queue.node);
        if (options_.numa == NumaPolicy::strict) {
            throw StartupError(EX_CONFIG, text + "; choose a core of that node, or numa: warn");
        }
        plan_.warnings.push_back(text);
        return id;
    }

    std::uint32_t choose_input(const QueueToPlace& queue) {
        const bool strict = options_.numa == NumaPolicy::strict;
        const Cpu* best = least_busy(queue.node, strict);
        if (best == nullptr) {
            throw StartupError(
                EX_CONFIG,
                "the NIC of " + queue_text(queue) + " is on " + node_text(queue.node) +
                    ", where this process may use no core; allow one, or set cores.numa to warn");
        }
        if (is_remote(best->node, queue.node) && options_.numa == NumaPolicy::warn) {
            plan_.warnings.push_back(queue_text(queue) + ": its NIC is on " +
                                     node_text(queue.node) + ", which has no free core; core " +
                                     std::to_string(best->id) + " is on " + node_text(best->node));
        }
        ++threads_on_[best->id];
        return best->id;
    }

    std::uint32_t choose_export(std::span<const QueueToPlace> queues) {
        const Cpu* best = least_busy(queues.empty() ? std::nullopt : queues.front().node, false);
        if (best == nullptr) {
            throw StartupError(EX_CONFIG, "this process may use no core; name one in cores.export");
        }
        ++threads_on_[best->id];
        return best->id;
    }

    /// @return  nullptr: no CPU may be used
    const Cpu* least_busy(const NumaNode& node, bool local_only) {
        const auto rank = [&](const Cpu& cpu) {
            return std::tuple(threads_on_[cpu.id], is_helpers(cpu.id), is_remote(cpu.node, node),
                              cpu.sibling, cpu.id);
        };
        const Cpu* best = nullptr;
        for (const Cpu& cpu : topology_.cpus) {
            const bool usable = cpu.allowed && !(local_only && is_remote(cpu.node, node));
            if (usable && (best == nullptr || rank(cpu) < rank(*best))) {
                best = &cpu;
            }
        }
        return best;
    }

    [[nodiscard]] bool is_helpers(std::uint32_t id) const {
        return std::ranges::find(options_.helper_cores, id) != options_.helper_cores.end();
    }

    [[nodiscard]] bool is_inputs(std::uint32_t id) const {
        return std::ranges::find(plan_.input_cpus, id) != plan_.input_cpus.end();
    }

    void place_helpers() {
        plan_.helper_cpus = options_.helper_cores;
        if (plan_.helper_cpus.empty()) {
            plan_.helper_cpus = {plan_.export_cpu};
        }
        helpers_share_ =
            std::ranges::all_of(plan_.helper_cpus, [this](auto id) { return is_inputs(id); });
        if (!helpers_share_) {
            std::erase_if(plan_.helper_cpus, [this](auto id) { return is_inputs(id); });
        }
    }

    void warn_of_helpers() {
        if (!helpers_share_) {
            return;
        }
        std::string cores;
        for (const std::uint32_t id : plan_.helper_cpus) {
            cores += (cores.empty() ? "core " : ", core ") + std::to_string(id);
        }
        plan_.back_off = true;
        plan_.warnings.push_back("no core is left for helper threads: they share " + cores +
                                 " with an input thread, which may lose packets meanwhile");
    }

    void warn_unused(std::size_t queues) {
        if (options_.input_cores.size() > queues) {
            plan_.warnings.push_back("cores.input names " +
                                     std::to_string(options_.input_cores.size()) + " cores for " +
                                     std::to_string(queues) + " queues; the last ones stay unused");
        }
        if (options_.export_cores.size() > 1) {
            plan_.warnings.push_back("cores.export: there is one export thread, it runs on core " +
                                     std::to_string(plan_.export_cpu));
        }
    }

    void warn_shared() {
        std::string shared;
        for (const auto& [id, threads] : threads_on_) {
            if (threads > 1) {
                shared += (shared.empty() ? "core " : ", core ") + std::to_string(id) + " has " +
                          std::to_string(threads);
            }
        }
        if (shared.empty()) {
            return;
        }
        plan_.back_off = true;
        plan_.warnings.push_back("more busy threads than cores: " + shared +
                                 "; idle threads sleep between polls");
    }

    const CoreOptions& options_;
    const Topology& topology_;
    CorePlan plan_;
    std::map<std::uint32_t, unsigned> threads_on_;
    bool helpers_share_ = false;  ///< each of their CPUs has an input thread
};

}  // namespace

CorePlan place_threads(const CoreOptions& options, const Topology& topology,
                       std::span<const QueueToPlace> queues) {
    return Placer(options, topology).place(queues);
}

}  // namespace tributary
