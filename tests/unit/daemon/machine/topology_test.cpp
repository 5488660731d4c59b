// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/topology.hpp"

#include <catch2/catch.hpp>

namespace tributary {
namespace {

using Ids = std::vector<std::uint32_t>;

TEST_CASE("parse_cpu_list: numbers and ranges of the kernel's format", "[daemon][unit]") {
    CHECK(parse_cpu_list("0-3,8,10-11") == Ids{0, 1, 2, 3, 8, 10, 11});
    CHECK(parse_cpu_list("5") == Ids{5});
    CHECK(parse_cpu_list("").empty());
}

TEST_CASE("parse_cpu_list: what is no number or range is left out", "[daemon][unit]") {
    CHECK(parse_cpu_list("x,1,2-,-3,4-2,7") == Ids{1, 7});
    CHECK(parse_cpu_list("0-4294967295,1") == Ids{1});
}

TEST_CASE("read_topology: this machine has a CPU for this process", "[daemon][unit]") {
    const Topology topology = read_topology();
    REQUIRE_FALSE(topology.allowed().empty());
    REQUIRE(topology.find(topology.allowed().front()) != nullptr);
    CHECK(topology.find(topology.allowed().front())->allowed);
    CHECK(topology.find(1U << 20U) == nullptr);
}

TEST_CASE("read_device_node: a virtual device has no node, nor has a PCI device that is absent",
          "[daemon][unit]") {
    EalDevice device;
    device.port_name = "net_pcap0";
    CHECK_FALSE(read_device_node(device).has_value());
    device.port_name = "ffff:ff:1f.7";
    device.is_pci = true;
    CHECK_FALSE(read_device_node(device).has_value());
}

}  // namespace
}  // namespace tributary
