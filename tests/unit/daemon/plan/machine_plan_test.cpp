// SPDX-License-Identifier: Apache-2.0
#include "daemon/plan/machine_plan.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/pipeline/queue_worker.hpp"

using namespace tributary;
using Catch::Contains;

namespace {

using Ids = std::vector<std::uint32_t>;

constexpr std::uint64_t kPlenty = 100'000;

/// One input with two queues.
Config two_queues() {
    Config config;
    config.inputs.resize(1);
    config.inputs[0].device = "net_null0";
    config.inputs[0].queues = 2;
    config.flows.max_flows = 1U << 20U;
    return config;
}

/// CPUs 0 .. n-1, spread over the nodes in blocks, each a core.
Topology machine(std::uint32_t cpus, std::uint32_t nodes, std::uint64_t free_pages = kPlenty) {
    Topology topology;
    for (std::uint32_t id = 0; id < cpus; ++id) {
        topology.cpus.push_back({.id = id, .node = id * nodes / cpus, .core = id});
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
        topology.huge_pages.push_back({.node = node, .total = free_pages, .free = free_pages});
    }
    return topology;
}

/// The second half of the CPUs are second hardware threads of the first half's cores.
Topology hyper_threaded(std::uint32_t cores, std::uint32_t nodes) {
    Topology topology = machine(cores, nodes);
    for (std::uint32_t core = 0; core < cores; ++core) {
        topology.cpus.push_back(
            {.id = cores + core, .node = topology.cpus[core].node, .sibling = 1, .core = core});
    }
    return topology;
}

void isolate(Topology& topology, const Ids& cpus) {
    for (const std::uint32_t id : cpus) {
        topology.cpus.at(id).isolated = true;
        topology.cpus.at(id).allowed = false;  // like the kernel
    }
}

std::vector<QueueToPlace> queues(const std::string& input, std::uint16_t count, NumaNode node) {
    std::vector<QueueToPlace> list;
    for (std::uint16_t queue = 0; queue < count; ++queue) {
        list.push_back({.input = input, .queue = queue, .node = node});
    }
    return list;
}

std::vector<QueueToPlace> operator+(std::vector<QueueToPlace> a,
                                    const std::vector<QueueToPlace>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

MachinePlan plan_of(const Topology& topology, const std::vector<QueueToPlace>& list) {
    return plan_machine(topology, list, {});
}

/// The daemon's placement with the block pasted into its configuration.
CorePlan pasted(const MachinePlan& plan, const Topology& topology,
                const std::vector<QueueToPlace>& list) {
    return place_threads(plan.cores(), topology, list);
}

}  // namespace

TEST_CASE("plan: one node, core 0 is left to the kernel", "[daemon][unit]") {
    const Topology topology = machine(4, 1);
    const auto list = queues("up", 2, 0);
    const MachinePlan plan = plan_of(topology, list);
    CHECK(plan.cores().input_cores == Ids{1, 2});
    CHECK(plan.cores().export_cores == Ids{3});
    CHECK(plan.cores().helper_cores == Ids{0});
    CHECK(plan.numa == NumaPolicy::strict);
    CHECK(plan.warnings.empty());
    CHECK(plan.threads[0].name == "up queue 0");
    CHECK(plan.threads[0].why == "on the NIC's node, a core of its own");
    CHECK(pasted(plan, topology, list).warnings.empty());
}

TEST_CASE("plan: two nodes with a NIC on each", "[daemon][unit]") {
    const Topology topology = machine(8, 2);
    const auto list = queues("west", 2, 0) + queues("east", 2, 1);
    const MachinePlan plan = plan_of(topology, list);
    CHECK(plan.cores().input_cores == Ids{1, 2, 4, 5});
    CHECK(plan.cores().export_cores == Ids{3});  // on the first NIC's node
    CHECK(plan.warnings.empty());
    CHECK(pasted(plan, topology, list).warnings.empty());
}

TEST_CASE("plan: a NIC on a node whose CPUs are not this process's", "[daemon][unit]") {
    Topology topology = machine(4, 2);
    topology.cpus[2].allowed = topology.cpus[3].allowed = false;
    const auto list = queues("up", 1, 1);
    const MachinePlan plan = plan_of(topology, list);
    CHECK(plan.cores().input_cores == Ids{1});
    CHECK(plan.cores().export_cores == Ids{0});
    CHECK(plan.numa == NumaPolicy::warn);  // strict would refuse it
    CHECK(plan.threads[0].why == "not on the NIC's node 1, a core of its own");
    REQUIRE(plan.warnings.size() == 2);
    CHECK(plan.warnings[0] == "up queue 0: its NIC is on node 1, its CPU 1 on node 0");
    CHECK(plan.warnings[1] == "export is on core 0, which the kernel uses too");
    CHECK_NOTHROW(pasted(plan, topology, list));
}

TEST_CASE("plan: hardware threads of one core are not both busy, while there are other cores",
          "[daemon][unit]") {
    const Topology topology = hyper_threaded(4, 1);
    const MachinePlan plan = plan_of(topology, queues("up", 3, 0));
    CHECK(plan.cores().input_cores == Ids{1, 2, 3});
    CHECK(plan.cores().export_cores == Ids{0});
    CHECK(plan.warnings ==
          std::vector<std::string>{"export is on core 0, which the kernel uses too"});

    const MachinePlan crowded = plan_of(topology, queues("up", 5, 0));
    CHECK(crowded.cores().input_cores == Ids{1, 2, 3, 0, 5});
    CHECK(crowded.cores().export_cores == Ids{6});
    CHECK(crowded.threads[4].why == "on the NIC's node, beside a busy thread of the same core");
    CHECK(crowded.warnings ==
          std::vector<std::string>{
              "hyper-threads of core 1 have 2 busy threads: each gets a part of it",
              "hyper-threads of core 2 have 2 busy threads: each gets a part of it",
              "up queue 3 is on core 0, which the kernel uses too"});
}

TEST_CASE("plan: isolated CPUs first", "[daemon][unit]") {
    Topology topology = machine(8, 2);
    isolate(topology, {2, 3, 6, 7});
    const auto list = queues("up", 2, 1);
    const MachinePlan plan = plan_of(topology, list);
    CHECK(plan.cores().input_cores == Ids{6, 7});
    CHECK(plan.cores().export_cores == Ids{4});
    CHECK(plan.threads[0].why == "on the NIC's node, a core of its own, isolated");
    CHECK(plan.warnings == std::vector<std::string>{"export: no isolated CPU is left for it"});
    CHECK(pasted(plan, topology, list).warnings.empty());
}

TEST_CASE("plan: an unknown node is any", "[daemon][unit]") {
    const MachinePlan one = plan_of(machine(4, 1), queues("veth", 1, std::nullopt));
    CHECK(one.cores().input_cores == Ids{1});
    CHECK(one.warnings.empty());
    const MachinePlan two = plan_of(machine(4, 2), queues("veth", 1, std::nullopt));
    CHECK(two.cores().input_cores == Ids{1});
    CHECK(two.threads[0].why ==
          "any node: where the device is attached is not known, a core of its own");
    REQUIRE(two.warnings.size() == 1);
    CHECK_THAT(two.warnings[0], Contains("where a device is attached is not known"));
}

TEST_CASE("plan: more queues than CPUs of the node share them rather than leave it",
          "[daemon][unit]") {
    const auto list = queues("up", 3, 1);
    const Topology topology = machine(4, 2);
    const MachinePlan plan = plan_of(topology, list);
    CHECK(plan.cores().input_cores == Ids{2, 3, 2});
    CHECK(plan.cores().export_cores == Ids{1});
    CHECK(plan.warnings ==
          std::vector<std::string>{"CPU 2 has 2 busy threads: fewer queues would do as much"});
    CHECK(plan.cores().helper_cores == Ids{0});
    CHECK(pasted(plan, topology, list).back_off);
}

TEST_CASE("plan: helper threads are on a core without a busy thread, or with the export thread",
          "[daemon][unit]") {
    // Hyper-threads of busy cores are no place for them.
    const MachinePlan crowded = plan_of(hyper_threaded(4, 1), queues("up", 3, 0));
    CHECK(crowded.cores().helper_cores == crowded.cores().export_cores);
    CHECK(crowded.helpers.value().why == "no core is left: with the export thread");
    // Nor are isolated CPUs.
    Topology isolated = machine(8, 2);
    isolate(isolated, {0, 1, 2});
    CHECK(plan_of(isolated, queues("up", 1, 0)).cores().helper_cores == Ids{3});

    const Topology one = machine(1, 1);
    const MachinePlan shared = plan_of(one, queues("up", 1, 0));
    CHECK(shared.cores().helper_cores == Ids{0});
    REQUIRE_FALSE(shared.warnings.empty());
    CHECK(shared.warnings[0] ==
          "helper threads share CPU 0 with up queue 0, which may lose packets meanwhile");
}

TEST_CASE("plan: the helper threads of a configuration", "[daemon][unit]") {
    const auto names = [](const Config& config) {
        std::vector<std::string> list;
        for (const PlannedHelper& helper : helpers_of(config)) {
            list.push_back(helper.name);
        }
        return list;
    };
    using Names = std::vector<std::string>;
    Config config;
    config.inputs.resize(1);
    config.export_.collectors.resize(1);
    CHECK(names(config) ==
          Names{"main", "telemetry", "control", "command", "lookup", "eal-intr-thread", "stop"});
    config.telemetry.listen.clear();
    config.telemetry.dpdk = true;
    config.control.socket.clear();
    config.inputs[0].filter = "ip";
    config.export_.collectors[0].transport = TransportKind::file;
    config.export_.collectors[0].rotation.interval = std::chrono::seconds(60);
    CHECK(names(config) ==
          Names{"main", "files", "filter", "eal-intr-thread", "telemetry-v2", "stop"});
}

TEST_CASE("plan: huge pages that a node lacks, and the command for them", "[daemon][unit]") {
    Topology topology = machine(8, 2, 10);
    topology.huge_pages[1].free = 4;
    const std::vector<NodeMemory> memory{{.node = 0, .pages = 10}, {.node = 1, .pages = 7}};
    const MachinePlan plan = plan_machine(topology, queues("up", 1, 1), memory);
    CHECK(plan.warnings ==
          std::vector<std::string>{
              "node 1 has 4 huge pages free, 7 are needed: echo 13 "
              ">/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"});
    const MachinePlan unknown =
        plan_machine(topology, queues("veth", 1, std::nullopt),
                     std::vector<NodeMemory>{{.node = std::nullopt, .pages = 11}});
    CHECK_THAT(unknown.warnings.back(), Contains("node 0 has 10 huge pages free, 11 are needed"));
}

TEST_CASE("plan: as it is printed", "[daemon][unit]") {
    Topology topology = hyper_threaded(4, 2);
    isolate(topology, {1, 3});
    const std::vector<NodeMemory> memory{{.node = 1, .pages = 300}};
    const MachinePlan plan = plan_machine(topology, queues("up", 1, 1), memory);
    const std::vector<MemoryPart> parts{
        {.part = "flow caches", .node = 1, .octets = 599U << 20U, .used = {}},
        {.part = "DPDK", .node = {}, .octets = 3U << 19U, .used = {}}};
    const std::vector<PlannedHelper> helpers{{.name = "main", .work = "signals"},
                                             {.name = "telemetry", .work = "metrics"}};
    CHECK(to_text(plan, topology, {.pages = memory, .memory = parts, .helpers = helpers}) ==
          "node  CPUs                    isolated        huge pages of 2 MiB: reserved, free, "
          "needed\n"
          "0     0-1,4-5                 1               100000, 100000, 0\n"
          "1     2-3,6-7                 3               100000, 100000, 300\n"
          "\n"
          "memory                          MiB  node\n"
          "flow caches                   599.0  1\n"
          "DPDK                            1.5  ?\n"
          "heap                      as needed  fragments, filters, messages for collectors, "
          "answers\n"
          "\n"
          "thread                  CPU   node  why\n"
          "up queue 0              3     1     on the NIC's node, a core of its own, isolated\n"
          "export                  2     1     on the NIC's node, a core of its own\n"
          "helpers                 0     0     a core without a busy thread\n"
          "\n"
          "helper thread           what it does\n"
          "main                    signals\n"
          "telemetry               metrics\n"
          "\n"
          "cores:\n"
          "  export: 2\n"
          "  input: [3]\n"
          "  helpers: [0]\n"
          "  numa: strict\n"
          "\n"
          "warning: export: no isolated CPU is left for it\n");
}

TEST_CASE("plan: the memory of a configuration, in whole pages", "[daemon][unit]") {
    const Config config = two_queues();
    const std::vector<NodeMemory> memory = memory_of(plan_probe(config), config);
    REQUIRE(memory.size() == 1);
    CHECK_FALSE(memory[0].node.has_value());
    // Two caches of 125 bytes a flow, the pool's buffers, two rings, and DPDK's own memory.
    CHECK(memory[0].pages > 2 * 62 + 32);
    CHECK(memory[0].pages < 2 * 62 + 32 + 40);
}

TEST_CASE("plan: the memory of each part is what pages are reserved for", "[daemon][unit]") {
    const Config config = two_queues();
    const ProbePlan probe = plan_probe(config);
    const std::vector<MemoryPart> parts = memory_parts(probe, config);
    REQUIRE(parts.size() == 4);
    CHECK(parts[0].part == "packet buffers");
    CHECK(parts[0].octets == probe.pools.at(0).memory());
    CHECK(parts[1].part == "flow caches");
    const std::uint64_t octets_per_flow = parts[1].octets / (2 * config.flows.max_flows);
    CHECK(octets_per_flow >= 124);
    CHECK(octets_per_flow <= 125);
    CHECK(parts[2].part == "record rings");
    CHECK(parts[3].part == "DPDK");
    std::uint64_t octets = 0;
    for (const MemoryPart& part : parts) {
        octets += part.octets;
    }
    const std::uint64_t pages = octets_of(memory_of(probe, config));
    CHECK(pages >= octets);
    CHECK(pages < octets + 6 * (2U << 20U));  // six blocks, each in whole pages
}

TEST_CASE("plan: tables have their memory, also one with fields of tunnels", "[daemon][unit]") {
    Config config = two_queues();
    config.flows.tunnel = TunnelMode::inner;
    config.tables.push_back(
        {.name = "nets", .filter = {}, .key = {"sourceAddress/24/56"}, .values = {}});
    config.tables.push_back({.name = "tenants", .filter = {}, .key = {"tunnelId"}, .values = {}});
    const ProbePlan probe = plan_probe(config);
    REQUIRE(probe.tables.size() == 2);
    for (const TableMemory& table : probe.tables) {
        CHECK(table.cache > 80 * std::uint64_t{config.tables.front().max_flows});
        CHECK(table.ring > 0);
    }
}

TEST_CASE("plan: a flow takes the memory that docs/install.md names", "[daemon][unit]") {
    const auto bytes_per_flow = [](bool all_fields, bool tcp_analysis, FlowDirection direction) {
        FieldGroups groups = all_fields ? kEveryGroup : FieldGroups{};
        FlowCacheOptions flows{.max_flows = 1U << 20U, .direction = direction};
        flows.tcp_analysis = tcp_analysis;
        groups.set(kFieldGroupId<TcpAnalysisGroup>, tcp_analysis);
        groups.set(kFieldGroupId<PacketDumpGroup>, false);
        const QueueParts parts{.flows = flows, .layout = RecordLayout::of(groups, direction)};
        return (queue_memory(parts).front() + flows.max_flows - 1) / flows.max_flows;
    };
    constexpr bool kNone = false;  // of export.fields
    constexpr bool kAll = true;
    CHECK(bytes_per_flow(kNone, false, FlowDirection::uniflow) == 125);
    CHECK(bytes_per_flow(kNone, false, FlowDirection::biflow) == 193);
    CHECK(bytes_per_flow(kNone, true, FlowDirection::uniflow) == 209);
    CHECK(bytes_per_flow(kNone, true, FlowDirection::biflow) == 345);
    CHECK(bytes_per_flow(kAll, false, FlowDirection::uniflow) == 329);
    CHECK(bytes_per_flow(kAll, false, FlowDirection::biflow) == 533);
    CHECK(bytes_per_flow(kAll, true, FlowDirection::uniflow) == 549);
    CHECK(bytes_per_flow(kAll, true, FlowDirection::biflow) == 685);
}
