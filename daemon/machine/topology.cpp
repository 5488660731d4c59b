// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>

namespace tributary {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu/";
constexpr const char* kNodes = "/sys/devices/system/node/";

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

/// Each CPU once, without its core and node, for a hidden /sys.
std::vector<Cpu> count_cpus() {
    std::vector<Cpu> cpus(std::max(1U, std::thread::hardware_concurrency()));
    for (std::uint32_t id = 0; id < cpus.size(); ++id) {
        cpus[id].id = cpus[id].core = id;
    }
    return cpus;
}

void mark_cores(std::vector<Cpu>& cpus) {
    for (Cpu& cpu : cpus) {
        const auto siblings =
            parse_cpu_list(read_line(std::string(kCpus) + "cpu" + std::to_string(cpu.id) +
                                     "/topology/thread_siblings_list"));
        cpu.sibling = static_cast<std::uint32_t>(
            std::ranges::count_if(siblings, [&](std::uint32_t other) { return other < cpu.id; }));
        cpu.core = siblings.empty() ? cpu.id : *std::ranges::min_element(siblings);
    }
}

void mark_isolated(std::vector<Cpu>& cpus) {
    const auto isolated = parse_cpu_list(read_line(std::string(kCpus) + "isolated"));
    for (Cpu& cpu : cpus) {
        cpu.isolated = std::ranges::find(isolated, cpu.id) != isolated.end();
    }
}

std::uint64_t read_count(const std::string& path) {
    return parse_number(read_line(path)).value_or(0);
}

std::vector<HugePages> read_huge_pages() {
    std::vector<HugePages> pages;
    for (const std::uint32_t node : parse_cpu_list(read_line(std::string(kNodes) + "online"))) {
        const std::string folder =
            std::string(kNodes) + "node" + std::to_string(node) + "/hugepages/hugepages-2048kB/";
        pages.push_back({.node = node,
                         .total = read_count(folder + "nr_hugepages"),
                         .free = read_count(folder + "free_hugepages")});
    }
    if (pages.empty()) {
        const std::string folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
        pages.push_back({.node = 0,
                         .total = read_count(folder + "nr_hugepages"),
                         .free = read_count(folder + "free_hugepages")});
    }
    return pages;
}

void mark_nodes(std::vector<Cpu>& cpus) {
    for (const std::uint32_t node : parse_cpu_list(read_line(std::string(kNodes) + "online"))) {
        const auto members = parse_cpu_list(
            read_line(std::string(kNodes) + "node" + std::to_string(node) + "/cpulist"));
        for (Cpu& cpu : cpus) {
            const bool member = std::find(members.begin(), members.end(), cpu.id) != members.end();
            cpu.node = member ? node : cpu.node;
        }
    }
}

void mark_allowed(std::vector<Cpu>& cpus) {
    cpu_set_t affinity;
    CPU_ZERO(&affinity);
    if (sched_getaffinity(0, sizeof(affinity), &affinity) != 0) {
        return;
    }
    for (Cpu& cpu : cpus) {
        cpu.allowed = cpu.id < CPU_SETSIZE && CPU_ISSET(cpu.id, &affinity);
    }
}

}  // namespace

const Cpu* Topology::find(std::uint32_t id) const noexcept {
    const auto found =
        std::find_if(cpus.begin(), cpus.end(), [id](const Cpu& cpu) { return cpu.id == id; });
    return found == cpus.end() ? nullptr : &*found;
}

std::vector<std::uint32_t> Topology::allowed() const {
    std::vector<std::uint32_t> ids;
    for (const Cpu& cpu : cpus) {
        if (cpu.allowed) {
            ids.push_back(cpu.id);
        }
    }
    return ids;
}

std::vector<std::uint32_t> parse_cpu_list(std::string_view text) {
    std::vector<std::uint32_t> numbers;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t dash = part.find('-');
        const auto first = parse_number(part.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1));
        if (!first || !last || *last >= CPU_SETSIZE) {
            continue;
        }
        for (std::uint32_t number = *first; number <= *last; ++number) {
            numbers.push_back(number);
        }
    }
    return numbers;
}

Topology read_topology() {
    Topology topology;
    for (const std::uint32_t id : parse_cpu_list(read_line(std::string(kCpus) + "online"))) {
        topology.cpus.push_back({.id = id, .core = id});
    }
    if (topology.cpus.empty()) {
        topology.cpus = count_cpus();
    }
    mark_nodes(topology.cpus);
    mark_cores(topology.cpus);
    mark_allowed(topology.cpus);
    mark_isolated(topology.cpus);
    topology.huge_pages = read_huge_pages();
    return topology;
}

NumaNode read_device_node(const EalDevice& device) {
    if (!device.is_pci) {
        return std::nullopt;
    }
    // The kernel writes -1 for unknown, which parse_number refuses.
    return parse_number(read_line("/sys/bus/pci/devices/" + device.port_name + "/numa_node"));
}

}  // namespace tributary
