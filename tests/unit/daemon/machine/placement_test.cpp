// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/placement.hpp"

#include <catch2/catch.hpp>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

using Ids = std::vector<std::uint32_t>;

/// Two nodes of two cores with two hardware threads each: node 0 has CPUs 0, 1, 4, 5, node 1 has 2,
/// 3, 6, 7.
Topology two_nodes() {
    Topology topology;
    for (std::uint32_t id = 0; id < 8; ++id) {
        topology.cpus.push_back({.id = id, .node = id % 4 / 2, .sibling = id / 4});
    }
    return topology;
}

Topology plain(std::uint32_t cpus) {
    Topology topology;
    for (std::uint32_t id = 0; id < cpus; ++id) {
        topology.cpus.push_back({.id = id, .node = 0});
    }
    return topology;
}

std::vector<QueueToPlace> queues(std::uint16_t count, NumaNode node) {
    std::vector<QueueToPlace> list;
    for (std::uint16_t queue = 0; queue < count; ++queue) {
        list.push_back({"uplink", queue, node});
    }
    return list;
}

CoreOptions with(NumaPolicy numa, Ids input = {}, Ids exporting = {}) {
    return {.export_cores = std::move(exporting),
            .input_cores = std::move(input),
            .helper_cores = {},
            .numa = numa};
}

CoreOptions with_helpers(Ids helpers, NumaPolicy numa = NumaPolicy::strict) {
    CoreOptions options = with(numa);
    options.helper_cores = std::move(helpers);
    return options;
}

std::string refusal(const CoreOptions& options, const Topology& topology,
                    const std::vector<QueueToPlace>& list) {
    try {
        (void)place_threads(options, topology, list);
    } catch (const StartupError& error) {
        CHECK(error.exit_code() == 78);
        return error.what();
    }
    return "";
}

TEST_CASE("place_threads: auto, the NIC's node first and one hardware thread per core first",
          "[daemon][unit]") {
    const CorePlan plan = place_threads({}, two_nodes(), queues(2, 1));
    CHECK(plan.input_cpus == Ids{2, 3});
    CHECK(plan.export_cpu == 6);
    CHECK_FALSE(plan.back_off);
    CHECK(plan.warnings.empty());
}

TEST_CASE("place_threads: auto, queues of NICs on two nodes each stay on theirs",
          "[daemon][unit]") {
    auto list = queues(1, 0);
    list.push_back({"downlink", 0, 1});
    const CorePlan plan = place_threads({}, two_nodes(), list);
    CHECK(plan.input_cpus == Ids{0, 2});
    CHECK(plan.export_cpu == 1);
}

TEST_CASE("place_threads: strict, more queues than the node has cores share them",
          "[daemon][unit]") {
    const CorePlan plan = place_threads(with(NumaPolicy::strict), two_nodes(), queues(5, 1));
    CHECK(plan.input_cpus == Ids{2, 3, 6, 7, 2});
    CHECK(plan.export_cpu == 0);
    CHECK(plan.back_off);
    REQUIRE(plan.warnings.size() == 1);
    CHECK(plan.warnings[0] ==
          "more busy threads than cores: core 2 has 2; idle threads sleep between polls");
}

TEST_CASE("place_threads: warn and off, more queues than the node has cores go to the other node",
          "[daemon][unit]") {
    const CorePlan warned = place_threads(with(NumaPolicy::warn), two_nodes(), queues(5, 1));
    CHECK(warned.input_cpus == Ids{2, 3, 6, 7, 0});
    CHECK_FALSE(warned.back_off);
    REQUIRE(warned.warnings.size() == 1);
    CHECK(warned.warnings[0] ==
          "input uplink queue 4: its NIC is on NUMA node 1, which has no free core; core 0 is on "
          "NUMA node 0");

    const CorePlan silent = place_threads(with(NumaPolicy::off), two_nodes(), queues(5, 1));
    CHECK(silent.input_cpus == warned.input_cpus);
    CHECK(silent.warnings.empty());
}

TEST_CASE("place_threads: strict, a node without a core for this process is refused",
          "[daemon][unit]") {
    CHECK(refusal(with(NumaPolicy::strict), plain(4), queues(1, 1)) ==
          "the NIC of input uplink queue 0 is on NUMA node 1, where this process may use no core; "
          "allow one, or set cores.numa to warn");
}

TEST_CASE("place_threads: strict, a configured core on another node is refused by both nodes",
          "[daemon][unit]") {
    CHECK(refusal(with(NumaPolicy::strict, {2, 1}), two_nodes(), queues(2, 1)) ==
          "cores.input: core 1 is on NUMA node 0, but the NIC of input uplink queue 1 is on NUMA "
          "node 1; "
          "choose a core of that node, or numa: warn");
}

TEST_CASE("place_threads: warn, a configured core on another node is taken with a warning",
          "[daemon][unit]") {
    const CorePlan plan = place_threads(with(NumaPolicy::warn, {1}), two_nodes(), queues(1, 1));
    CHECK(plan.input_cpus == Ids{1});
    REQUIRE(plan.warnings.size() == 1);
    CHECK(plan.warnings[0] ==
          "cores.input: core 1 is on NUMA node 0, but the NIC of input uplink queue 0 is on NUMA "
          "node 1");
    CHECK(place_threads(with(NumaPolicy::off, {1}), two_nodes(), queues(1, 1)).warnings.empty());
}

TEST_CASE("place_threads: an unknown node is never remote", "[daemon][unit]") {
    const auto unknown = queues(2, std::nullopt);
    const CorePlan chosen = place_threads(with(NumaPolicy::strict, {1, 3}), two_nodes(), unknown);
    CHECK(chosen.input_cpus == Ids{1, 3});
    CHECK(chosen.warnings.empty());
    CHECK(place_threads({}, two_nodes(), unknown).input_cpus == Ids{0, 1});

    Topology hidden = plain(2);
    hidden.cpus[0].node = hidden.cpus[1].node = std::nullopt;
    CHECK(place_threads(with(NumaPolicy::strict), hidden, queues(1, 1)).input_cpus == Ids{0});
}

TEST_CASE("place_threads: two cores for two queues and export, all back off", "[daemon][unit]") {
    const CorePlan plan = place_threads({}, plain(2), queues(2, std::nullopt));
    CHECK(plan.input_cpus == Ids{0, 1});
    CHECK(plan.export_cpu == 0);
    CHECK(plan.back_off);
    REQUIRE(plan.warnings.size() == 2);
    CHECK(plan.helper_cpus == Ids{0});
    CHECK(plan.warnings[1] ==
          "no core is left for helper threads: they share core 0 with an input thread, which may "
          "lose packets meanwhile");
}

TEST_CASE("place_threads: one queue and export on two cores need not back off", "[daemon][unit]") {
    const CorePlan plan = place_threads({}, plain(2), queues(1, std::nullopt));
    CHECK(plan.input_cpus == Ids{0});
    CHECK(plan.export_cpu == 1);
    CHECK_FALSE(plan.back_off);
}

TEST_CASE("place_threads: automatic input keeps away from a configured export core",
          "[daemon][unit]") {
    const CorePlan plan =
        place_threads(with(NumaPolicy::strict, {}, {0}), plain(3), queues(2, std::nullopt));
    CHECK(plan.export_cpu == 0);
    CHECK(plan.input_cpus == Ids{1, 2});
}

TEST_CASE("place_threads: helper threads are on the export thread's core by default",
          "[daemon][unit]") {
    CHECK(place_threads({}, two_nodes(), queues(2, 1)).helper_cpus == Ids{6});
    const CorePlan plan =
        place_threads(with(NumaPolicy::strict, {1}, {3}), plain(4), queues(1, std::nullopt));
    CHECK(plan.helper_cpus == Ids{3});
    CHECK(plan.warnings.empty());
}

TEST_CASE("place_threads: automatic threads keep away from configured helper cores",
          "[daemon][unit]") {
    const CoreOptions helpers = with_helpers({0, 1});
    const CorePlan free = place_threads(helpers, plain(4), queues(1, std::nullopt));
    CHECK(free.input_cpus == Ids{2});
    CHECK(free.export_cpu == 3);
    CHECK(free.helper_cpus == Ids{0, 1});
    CHECK(free.warnings.empty());

    // Also on another node, if that has the free core.
    const CoreOptions on_node = with_helpers({2, 3, 6, 7}, NumaPolicy::off);
    CHECK(place_threads(on_node, two_nodes(), queues(1, 1)).input_cpus == Ids{0});
}

TEST_CASE("place_threads: an input thread takes a helper core that no other core replaces",
          "[daemon][unit]") {
    const CorePlan plan = place_threads(with_helpers({1, 0}), plain(3), queues(2, std::nullopt));
    CHECK(plan.input_cpus == Ids{2, 0});
    CHECK(plan.export_cpu == 1);
    CHECK(plan.helper_cpus == Ids{1});  // the rest of theirs
    CHECK_FALSE(plan.back_off);
    CHECK(plan.warnings.empty());

    const CorePlan crowded = place_threads(with_helpers({0}), plain(2), queues(2, std::nullopt));
    CHECK(crowded.input_cpus == Ids{1, 0});
    CHECK(crowded.helper_cpus == Ids{0});
    CHECK(crowded.back_off);
    REQUIRE(crowded.warnings.size() == 2);
    CHECK(crowded.warnings[1] ==
          "no core is left for helper threads: they share core 0 with an input thread, which may "
          "lose packets meanwhile");
}

TEST_CASE("place_threads: one core has all threads", "[daemon][unit]") {
    const CorePlan plan = place_threads({}, plain(1), queues(1, std::nullopt));
    CHECK(plan.helper_cpus == Ids{0});
    CHECK(plan.back_off);
    CHECK(plan.warnings.size() == 2);
}

TEST_CASE("place_threads: configured cores are taken in order and again from the first",
          "[daemon][unit]") {
    const CorePlan plan =
        place_threads(with(NumaPolicy::strict, {3, 2}, {1}), plain(4), queues(3, std::nullopt));
    CHECK(plan.input_cpus == Ids{3, 2, 3});
    CHECK(plan.export_cpu == 1);
    CHECK(plan.back_off);
}

TEST_CASE("place_threads: configured cores without a thread are told", "[daemon][unit]") {
    const CorePlan plan =
        place_threads(with(NumaPolicy::strict, {0, 1}, {2, 3}), plain(4), queues(1, std::nullopt));
    CHECK(plan.input_cpus == Ids{0});
    CHECK(plan.export_cpu == 2);
    REQUIRE(plan.warnings.size() == 2);
    CHECK(plan.warnings[0] == "cores.input names 2 cores for 1 queues; the last ones stay unused");
    CHECK(plan.warnings[1] == "cores.export: there is one export thread, it runs on core 2");
}

TEST_CASE("place_threads: a configured core that is not online is refused", "[daemon][unit]") {
    CHECK(refusal(with(NumaPolicy::off, {9}), plain(2), queues(1, std::nullopt)) ==
          "cores.input: core 9 is not online on this machine (see lscpu -e)");
    CHECK(refusal(with(NumaPolicy::off, {}, {9}), plain(2), queues(1, std::nullopt)) ==
          "cores.export: core 9 is not online on this machine (see lscpu -e)");
    CHECK(refusal(with_helpers({1, 9}), plain(2), queues(1, std::nullopt)) ==
          "cores.helpers: core 9 is not online on this machine (see lscpu -e)");
}

TEST_CASE("place_threads: an isolated core is used when configured, never by itself",
          "[daemon][unit]") {
    Topology topology = plain(3);
    topology.cpus[0].allowed = false;
    CHECK(place_threads({}, topology, queues(1, 0)).input_cpus == Ids{1});
    CHECK(place_threads(with(NumaPolicy::strict, {0}), topology, queues(1, 0)).input_cpus ==
          Ids{0});
}

}  // namespace
}  // namespace tributary
