// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/rss.hpp"

#include <rte_ethdev.h>
#include <rte_thash.h>
#include <catch2/catch.hpp>

#include <array>

namespace tributary {
namespace {

RssFacts facts(const std::string& driver, std::uint64_t asked) {
    RssFacts facts;
    facts.driver = driver;
    facts.queues = 4;
    facts.asked = asked;
    facts.readable = asked != 0;
    facts.in_effect = asked;
    facts.key = symmetric_rss_key(40);
    return facts;
}

TEST_CASE("symmetric_rss_key: Toeplitz gives both directions of a flow one value",
          "[daemon][unit]") {
    const auto key = symmetric_rss_key(52);
    std::array<std::uint32_t, 3> there{0x0A000001, 0xC0A80102, 0x1F90'0050};
    std::array<std::uint32_t, 3> back{0xC0A80102, 0x0A000001, 0x0050'1F90};
    CHECK(rte_softrss(there.data(), 3, key.data()) == rte_softrss(back.data(), 3, key.data()));
    back[2] = 0x0051'1F90;
    CHECK(rte_softrss(there.data(), 3, key.data()) != rte_softrss(back.data(), 3, key.data()));
}

TEST_CASE("symmetric_rss_key: as long as the NIC wants it", "[daemon][unit]") {
    CHECK(symmetric_rss_key(5) == std::vector<std::uint8_t>{0x6D, 0x5A, 0x6D, 0x5A, 0x6D});
}

TEST_CASE("is_symmetric_rss_key: one wrong octet, or none at all, is not symmetric",
          "[daemon][unit]") {
    auto key = symmetric_rss_key(40);
    CHECK(is_symmetric_rss_key(key));
    key[39] ^= 1;
    CHECK_FALSE(is_symmetric_rss_key(key));
    CHECK_FALSE(is_symmetric_rss_key({}));
}

TEST_CASE("rss_types: by addresses only, and by addresses and ports", "[daemon][unit]") {
    CHECK(rss_types(RssMode::ip) == RTE_ETH_RSS_IP);
    CHECK(rss_types(RssMode::ip_and_l4) ==
          (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP));
}

TEST_CASE("rss_type_names: known types by name, the rest as a number", "[daemon][unit]") {
    CHECK(rss_type_names(0) == "none");
    CHECK(rss_type_names(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV6_TCP) == "ipv4,ipv6-tcp");
    CHECK(rss_type_names(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_MPLS) == "ipv4,0x200000000");
}

TEST_CASE("report_rss: what was asked for is in effect", "[daemon][unit]") {
    const RssReport report = report_rss(facts("net_ice", RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6));
    CHECK(report.symmetric);
    CHECK(report.text == "4 queues, RSS by ipv4,ipv6, symmetric key");
}

TEST_CASE("report_rss: types that the NIC did not take are named", "[daemon][unit]") {
    RssFacts taken = facts("net_ice", RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6);
    taken.in_effect = RTE_ETH_RSS_IPV4;
    CHECK(report_rss(taken).text == "4 queues, RSS by ipv4, symmetric key; not taken: ipv6");
}

TEST_CASE("report_rss: another key in effect is not symmetric", "[daemon][unit]") {
    RssFacts taken = facts("net_ice", RTE_ETH_RSS_IPV4);
    taken.key[7] = 0;
    CHECK_FALSE(report_rss(taken).symmetric);
    CHECK(report_rss(taken).text == "4 queues, RSS by ipv4, not a symmetric key");
}

TEST_CASE("report_rss: no type in effect is not symmetric", "[daemon][unit]") {
    RssFacts taken = facts("net_ice", RTE_ETH_RSS_IPV4);
    taken.in_effect = 0;
    CHECK_FALSE(report_rss(taken).symmetric);
}

TEST_CASE("report_rss: a driver that does not tell is not called symmetric", "[daemon][unit]") {
    RssFacts untold = facts("net_x", RTE_ETH_RSS_IPV4);
    untold.readable = false;
    CHECK_FALSE(report_rss(untold).symmetric);
    CHECK(report_rss(untold).text ==
          "4 queues, RSS by ipv4 asked for; driver net_x does not tell what it took");
}

TEST_CASE("report_rss: drivers that spread by themselves are named as such", "[daemon][unit]") {
    const RssReport fanout = report_rss(facts("net_af_packet", 0));
    CHECK(fanout.symmetric);
    CHECK(fanout.text ==
          "4 queues, spread by driver net_af_packet: the kernel's fanout hash, symmetric; under "
          "overload it may part a flow");
    CHECK_FALSE(report_rss(facts("net_pcap", 0)).symmetric);
    CHECK(
        report_rss(facts("net_x", 0)).text ==
        "4 queues, but driver net_x offers no RSS by addresses: all packets may come to one queue");
}

TEST_CASE("report_rss: one queue needs no RSS", "[daemon][unit]") {
    RssFacts one = facts("net_x", 0);
    one.queues = 1;
    CHECK(report_rss(one).symmetric);
    CHECK(report_rss(one).text == "1 queue");
}

InputOptions uplink(std::uint16_t queues) {
    InputOptions input;
    input.name = "uplink";
    input.device = "0000:81:00.0";
    input.queues = queues;
    return input;
}

TEST_CASE("biflow_warning: of an input whose queues may part a flow, which it names",
          "[daemon][unit]") {
    const InputOptions input = uplink(4);
    const FlowCacheOptions flows{.direction = FlowDirection::biflow};
    const RssReport asymmetric = report_rss(facts("net_pcap", 0));
    CHECK(biflow_warning(input, flows, asymmetric) ==
          "input uplink (0000:81:00.0): the two directions of a flow may come to different queues, "
          "and are then two records instead of one biflow: 4 queues, spread by driver net_pcap: "
          "one file per queue; of an interface every queue gets every packet; one queue keeps them "
          "together");
    CHECK_FALSE(biflow_warning(input, flows, report_rss(facts("net_ice", RTE_ETH_RSS_IPV4))));
    CHECK_FALSE(biflow_warning(input, {}, asymmetric));
}

TEST_CASE("biflow_warning: not where one queue, or the sender of unified headers, decides",
          "[daemon][unit]") {
    const FlowCacheOptions flows{.direction = FlowDirection::biflow};
    const RssReport asymmetric = report_rss(facts("net_pcap", 0));
    CHECK_FALSE(biflow_warning(uplink(1), flows, asymmetric));
    InputOptions preparsed = uplink(4);
    preparsed.parse = ParseMode::unified_header;
    CHECK_FALSE(biflow_warning(preparsed, flows, asymmetric));
}

TEST_CASE("biflow_warning: of tunnels whose outer ports differ by direction", "[daemon][unit]") {
    const FlowCacheOptions flows{.direction = FlowDirection::biflow, .tunnel = TunnelMode::inner};
    const RssReport by_ports = report_rss(facts("net_ice", RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_UDP));
    const InputOptions input = uplink(4);
    CHECK(
        biflow_warning(input, flows, by_ports) ==
        "input uplink (0000:81:00.0): the two directions of a flow may come to different queues, "
        "and are then two records instead of one biflow: packets are spread by ports too, and "
        "those around VXLAN, GENEVE and GTP-U differ by direction; one queue keeps them together, "
        "or rss: ip where the NIC spreads them");
    CHECK_FALSE(biflow_warning(input, flows, report_rss(facts("net_ice", RTE_ETH_RSS_IPV4))));
    // A driver with a spread of its own does not use the requested one.
    InputOptions asked = input;
    asked.rss = RssMode::ip;
    CHECK(biflow_warning(asked, flows, report_rss(facts("net_af_packet", 0))));
}

}  // namespace
}  // namespace tributary
