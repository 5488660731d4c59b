// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/nic_hints.hpp"

#include <rte_mbuf_ptype.h>
#include <catch2/catch.hpp>

#include <vector>

namespace tributary {
namespace {

constexpr std::uint32_t kEther = RTE_PTYPE_L2_ETHER;
constexpr std::uint32_t kIpv4Tcp = kEther | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP;

}  // namespace

TEST_CASE("nic_hint_of: TCP and UDP over IP over Ethernet", "[daemon][unit]") {
    for (const std::uint32_t ipv4 :
         std::vector<std::uint32_t>{RTE_PTYPE_L3_IPV4, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN}) {
        CHECK(nic_hint_of(kEther | ipv4 | RTE_PTYPE_L4_TCP) == PlainKind::ipv4_tcp);
        CHECK(nic_hint_of(kEther | ipv4 | RTE_PTYPE_L4_UDP) == PlainKind::ipv4_udp);
    }
    for (const std::uint32_t ipv6 :
         std::vector<std::uint32_t>{RTE_PTYPE_L3_IPV6, RTE_PTYPE_L3_IPV6_EXT_UNKNOWN}) {
        CHECK(nic_hint_of(kEther | ipv6 | RTE_PTYPE_L4_TCP) == PlainKind::ipv6_tcp);
        CHECK(nic_hint_of(kEther | ipv6 | RTE_PTYPE_L4_UDP) == PlainKind::ipv6_udp);
    }
}

TEST_CASE("nic_hint_of: all else is no hint", "[daemon][unit]") {
    for (const std::uint32_t type : std::vector<std::uint32_t>{
             0, RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
             RTE_PTYPE_L2_ETHER_VLAN | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
             RTE_PTYPE_L2_ETHER_QINQ | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
             RTE_PTYPE_L2_ETHER_MPLS | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
             kEther | RTE_PTYPE_L4_TCP, kEther | RTE_PTYPE_L3_IPV4,
             kEther | RTE_PTYPE_L3_IPV4_EXT | RTE_PTYPE_L4_TCP,
             kEther | RTE_PTYPE_L3_IPV6_EXT | RTE_PTYPE_L4_UDP,
             kEther | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_FRAG,
             kEther | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_SCTP,
             kEther | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_ICMP,
             kEther | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_NONFRAG,
             kEther | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP | RTE_PTYPE_TUNNEL_VXLAN,
             kIpv4Tcp | RTE_PTYPE_INNER_L3_IPV4, kIpv4Tcp | RTE_PTYPE_INNER_L4_TCP, 0xFFFF'FFFF}) {
        CAPTURE(type);
        CHECK(nic_hint_of(type) == PlainKind::none);
    }
}

TEST_CASE("are_hints_supported: where Ethernet, IP and TCP or UDP are told apart",
          "[daemon][unit]") {
    using Types = std::vector<std::uint32_t>;
    CHECK_FALSE(are_hints_supported(Types{}));
    CHECK_FALSE(are_hints_supported(Types{RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4}));
    CHECK_FALSE(are_hints_supported(Types{RTE_PTYPE_L2_ETHER, RTE_PTYPE_L4_TCP}));
    CHECK_FALSE(are_hints_supported(Types{RTE_PTYPE_L3_IPV4, RTE_PTYPE_L4_TCP}));
    CHECK(are_hints_supported(
        Types{RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN, RTE_PTYPE_L4_UDP}));
    CHECK(are_hints_supported(Types{kIpv4Tcp}));  // some drivers list whole types
}

}  // namespace tributary
