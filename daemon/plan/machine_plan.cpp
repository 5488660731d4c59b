// SPDX-License-Identifier: Apache-2.0
#include "daemon/plan/machine_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace tributary {
namespace {

std::string text_of(const NumaNode& node) { return node ? std::to_string(*node) : "?"; }

class Planner {
public:
    explicit Planner(const Topology& topology) : topology_(topology) {
        const auto is_isolated = [](const Cpu& cpu) { return cpu.isolated; };
        some_isolated_ = std::ranges::any_of(topology.cpus, is_isolated);
    }

    MachinePlan plan(std::span<const QueueToPlace> queues) {
        for (const QueueToPlace& queue : queues) {
            const Cpu* const best = best_for(queue.node, true);
            add(fmt::format("{} queue {}", queue.input, queue.queue), best, queue.node);
        }
        const NumaNode first = queues.empty() ? std::nullopt : queues.front().node;
        add("export", best_for(first, false), first);
        place_helpers();
        judge_nodes(queues);
        warn_of_sharing();
        warn_of_cpus();
        return std::move(plan_);
    }

private:
    void add(std::string name, const Cpu* best, const NumaNode& node) {
        if (best == nullptr) {
            plan_.warnings.push_back(name + ": this process may use no CPU");
            return;
        }
        plan_.threads.push_back({.name = std::move(name),
                                 .cpu = best->id,
                                 .node = best->node,
                                 .why = reasons_for(*best, node)});
        threads_on_[best->id].push_back(plan_.threads.back().name);
        ++busy_in_core_[best->core];
    }

    /// @param packets  true: for packets of the NIC on `node`; then it shares a CPU before it
    ///                 leaves the node
    [[nodiscard]] const Cpu* best_for(const NumaNode& node, bool packets) {
        const auto rank = [&](const Cpu& cpu) {
            const bool remote = is_remote(cpu.node, node);
            return std::tuple(packets && remote, threads_on_[cpu.id].size(),
                              busy_in_core_[cpu.core], remote, !cpu.isolated, cpu.core == 0,
                              cpu.id);
        };
        const Cpu* best = nullptr;
        for (const Cpu& cpu : topology_.cpus) {
            const bool is_usable = cpu.allowed || cpu.isolated;
            if (is_usable && (best == nullptr || rank(cpu) < rank(*best))) {
                best = &cpu;
            }
        }
        return best;
    }

    /// They are seldom busy, and may have the core that the kernel uses too.
    void place_helpers() {
        for (const Cpu& cpu : topology_.cpus) {
            const bool is_free = cpu.allowed && !cpu.isolated && busy_in_core_[cpu.core] == 0;
            if (is_free && !plan_.helpers) {
                plan_.helpers = {.name = "helpers",
                                 .cpu = cpu.id,
                                 .node = cpu.node,
                                 .why = "a core without a busy thread"};
            }
        }
        if (!plan_.helpers && !plan_.threads.empty()) {
            const PlannedThread& exporting = plan_.threads.back();
            plan_.helpers = {.name = "helpers",
                             .cpu = exporting.cpu,
                             .node = exporting.node,
                             .why = "no core is left: with the export thread"};
            warn_if_helpers_share(exporting);
        }
    }

    void warn_if_helpers_share(const PlannedThread& exporting) {
        const std::vector<std::string>& there = threads_on_[exporting.cpu];
        if (there.size() > 1) {
            plan_.warnings.push_back(
                fmt::format("helper threads share CPU {} with {}, which may lose packets meanwhile",
                            exporting.cpu, there.front()));
        }
    }

    [[nodiscard]] std::string reasons_for(const Cpu& cpu, const NumaNode& node) {
        std::string why;
        const auto say = [&why](const std::string& reason) {
            why += (why.empty() ? "" : ", ") + reason;
        };
        if (!node || !cpu.node) {
            say("any node: where the device is attached is not known");
        } else if (*node == *cpu.node) {
            say("on the NIC's node");
        } else {
            say(fmt::format("not on the NIC's node {}", *node));
        }
        if (!threads_on_[cpu.id].empty()) {
            say("shared with " + threads_on_[cpu.id].front());
        } else if (busy_in_core_[cpu.core] > 0) {
            say("beside a busy thread of the same core");
        } else {
            say("a core of its own");
        }
        if (cpu.isolated) {
            say("isolated");
        }
        return why;
    }

    /// Whether `numa: strict` is possible, with a warning for each thread for which it is not.
    void judge_nodes(std::span<const QueueToPlace> queues) {
        bool is_remote_somewhere = false;
        bool is_unknown = false;
        for (std::size_t index = 0; index < std::min(queues.size(), plan_.threads.size());
             ++index) {
            const PlannedThread& thread = plan_.threads[index];
            is_unknown = is_unknown || !queues[index].node;
            if (is_remote(thread.node, queues[index].node)) {
                is_remote_somewhere = true;
                plan_.warnings.push_back(
                    fmt::format("{}: its NIC is on node {}, its CPU {} on node {}", thread.name,
                                text_of(queues[index].node), thread.cpu, text_of(thread.node)));
            }
        }
        plan_.numa = is_remote_somewhere ? NumaPolicy::warn : NumaPolicy::strict;
        if (is_unknown && has_several_nodes()) {
            plan_.warnings.emplace_back(
                "where a device is attached is not known (virtual devices have no node): compare "
                "its rate on the nodes");
        }
    }

    [[nodiscard]] bool has_several_nodes() const {
        return std::ranges::any_of(topology_.cpus, [this](const Cpu& cpu) {
            return cpu.node != topology_.cpus.front().node;
        });
    }

    void warn_of_sharing() {
        for (const auto& [cpu, names] : threads_on_) {
            if (names.size() > 1) {
                plan_.warnings.push_back(
                    fmt::format("CPU {} has {} busy threads: fewer queues would do as much", cpu,
                                names.size()));
            }
        }
        for (const auto& [core, busy] : busy_in_core_) {
            std::size_t cpus = 0;
            for (const Cpu& cpu : topology_.cpus) {
                cpus += cpu.core == core && !threads_on_[cpu.id].empty() ? 1 : 0;
            }
            if (cpus > 1) {
                plan_.warnings.push_back(fmt::format(
                    "hyper-threads of core {} have {} busy threads: each gets a part of it", core,
                    busy));
            }
        }
    }

    void warn_of_cpus() {
        for (const PlannedThread& thread : plan_.threads) {
            if (topology_.find(thread.cpu)->core == 0 && topology_.cpus.size() > 1) {
                plan_.warnings.push_back(thread.name + " is on core 0, which the kernel uses too");
            }
        }
        for (const PlannedThread& thread : plan_.threads) {
            if (some_isolated_ && !topology_.find(thread.cpu)->isolated) {
                plan_.warnings.push_back(thread.name + ": no isolated CPU is left for it");
            }
        }
    }

    const Topology& topology_;
    MachinePlan plan_;
    bool some_isolated_ = false;
    std::map<std::uint32_t, std::vector<std::string>> threads_on_;  ///< by CPU
    std::map<std::uint32_t, std::size_t> busy_in_core_;
};

/// A machine without NUMA has node 0.
std::uint32_t number_of(const NumaNode& node) { return node.value_or(0); }

std::uint64_t pages_needed(std::uint32_t node, std::span<const NodeMemory> memory) {
    std::uint64_t pages = 0;
    for (const NodeMemory& each : memory) {
        pages += number_of(each.node) == node ? each.pages : 0;
    }
    return pages;
}

void warn_of_huge_pages(const Topology& topology, std::span<const NodeMemory> memory,
                        MachinePlan& plan) {
    for (const HugePages& pages : topology.huge_pages) {
        const std::uint64_t needed = pages_needed(pages.node, memory);
        if (needed > pages.free) {
            plan.warnings.push_back(fmt::format(
                "node {} has {} huge pages free, {} are needed: echo {} "
                ">/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages",
                pages.node, pages.free, needed, pages.total - pages.free + needed, pages.node));
        }
    }
}

/// "0-3,8": as the kernel writes lists of CPUs.
template <class IsIn>
std::string list_of(const Topology& topology, IsIn is_in) {
    std::string text;
    for (std::size_t at = 0; at < topology.cpus.size(); ++at) {
        if (!is_in(topology.cpus[at])) {
            continue;
        }
        const std::uint32_t first = topology.cpus[at].id;
        std::uint32_t last = first;
        while (at + 1 < topology.cpus.size() && topology.cpus[at + 1].id == last + 1 &&
               is_in(topology.cpus[at + 1])) {
            last = topology.cpus[++at].id;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ",", first);
        text += last != first ? fmt::format("-{}", last) : "";
    }
    return text.empty() ? "none" : text;
}

std::string machine_table(const Topology& topology, std::span<const NodeMemory> memory) {
    std::string text = fmt::format("{:<6}{:<24}{:<16}{}\n", "node", "CPUs", "isolated",
                                   "huge pages of 2 MiB: reserved, free, needed");
    for (const HugePages& pages : topology.huge_pages) {
        const auto is_here = [&](const Cpu& cpu) { return number_of(cpu.node) == pages.node; };
        text += fmt::format(
            "{:<6}{:<24}{:<16}{}, {}, {}\n", pages.node, list_of(topology, is_here),
            list_of(topology, [&](const Cpu& cpu) { return is_here(cpu) && cpu.isolated; }),
            pages.total, pages.free, pages_needed(pages.node, memory));
    }
    return text;
}

const char* name_of(NumaPolicy policy) {
    return policy == NumaPolicy::strict ? "strict" : policy == NumaPolicy::warn ? "warn" : "off";
}

}  // namespace

CoreOptions MachinePlan::cores() const {
    CoreOptions cores{.export_cores = {}, .input_cores = {}, .helper_cores = {}, .numa = numa};
    if (helpers) {
        cores.helper_cores = {helpers->cpu};
    }
    for (const PlannedThread& thread : threads) {
        cores.input_cores.push_back(thread.cpu);
    }
    if (!cores.input_cores.empty()) {
        cores.export_cores = {cores.input_cores.back()};
        cores.input_cores.pop_back();
    }
    return cores;
}

MachinePlan plan_machine(const Topology& topology, std::span<const QueueToPlace> queues,
                         std::span<const NodeMemory> memory) {
    MachinePlan plan = Planner(topology).plan(queues);
    warn_of_huge_pages(topology, memory, plan);
    return plan;
}

std::string to_text(const MachinePlan& plan, const Topology& topology, const ProbeParts& parts) {
    std::string text = machine_table(topology, parts.pages);
    text += fmt::format("\n{:<24}{:>11}  {}\n", "memory", "MiB", "node");
    for (const MemoryPart& part : parts.memory) {
        constexpr double kMebibyte = 1U << 20U;
        text += fmt::format("{:<24}{:>11.1f}  {}\n", part.part,
                            static_cast<double>(part.octets) / kMebibyte, text_of(part.node));
    }
    text += fmt::format("{:<24}{:>11}  {}\n", "heap", "as needed",
                        "fragments, filters, messages for collectors, answers");
    text += fmt::format("\n{:<24}{:<6}{:<6}{}\n", "thread", "CPU", "node", "why");
    const auto add = [&text](const PlannedThread& thread) {
        text += fmt::format("{:<24}{:<6}{:<6}{}\n", thread.name, thread.cpu, text_of(thread.node),
                            thread.why);
    };
    std::ranges::for_each(plan.threads, add);
    if (plan.helpers) {
        add(*plan.helpers);
    }
    text += fmt::format("\n{:<24}{}\n", "helper thread", "what it does");
    for (const PlannedHelper& helper : parts.helpers) {
        text += fmt::format("{:<24}{}\n", helper.name, helper.work);
    }
    const CoreOptions cores = plan.cores();
    text += fmt::format("\ncores:\n  export: {}\n  input: [{}]\n  helpers: {}\n  numa: {}\n",
                        fmt::join(cores.export_cores, ", "), fmt::join(cores.input_cores, ", "),
                        cores.helper_cores.empty()
                            ? "auto"
                            : fmt::format("[{}]", fmt::join(cores.helper_cores, ", ")),
                        name_of(plan.numa));
    for (const std::string& warning : plan.warnings) {
        text += (&warning == plan.warnings.data() ? "\n" : "") + ("warning: " + warning + "\n");
    }
    return text;
}

}  // namespace tributary
