// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/packet_filter.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/filter/filter_compilation.hpp"
#include "daemon/filter/filter_names.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary {
namespace {

using namespace tributary::test;

/// A frame of this link type: its link-layer header, and the rest of an Ethernet frame.
Frame of_link_type(std::initializer_list<std::uint8_t> header, const Frame& ethernet_frame) {
    Frame frame;
    for (const std::uint8_t byte : header) {
        frame.captured.push_back(std::byte{byte});
    }
    frame.captured.insert(frame.captured.end(), ethernet_frame.captured.begin() + 14,
                          ethernet_frame.captured.end());
    frame.wire_bytes = static_cast<std::uint32_t>(frame.captured.size());
    return frame;
}

bool passes(PacketFilter& filter, const Frame& frame, LinkType type = LinkType::ethernet) {
    PacketView view = frame.view();
    view.link_type = type;
    return filter.select(std::span(&view, 1)) == 1;
}

bool passes(const std::string& expression, const Frame& frame, LinkType type = LinkType::ethernet) {
    PacketFilter filter(expression);
    return passes(filter, frame, type);
}

std::string refusal(const std::string& expression) {
    try {
        const PacketFilter filter(expression);
    } catch (const PacketFilterError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("PacketFilter: one bit for each packet of a burst", "[daemon][unit]") {
    const Frame dns = ethernet().ipv4().udp(1000, 53).build();
    const Frame web = ethernet().ipv4().tcp(1000, 443).build();
    const Frame arp = ethernet().ethertype(0x0806).payload(46).build();
    std::vector<PacketView> packets{dns.view(), web.view(), arp.view(), dns.view()};
    PacketFilter filter("udp port 53");
    CHECK(filter.select(packets) == 0b1001);
    CHECK(filter.select({}) == 0);
    PacketFilter other("not udp");
    CHECK(other.select(packets) == 0b0110);
    packets.assign(kBurstPackets, dns.view());
    CHECK(filter.select(packets) == ~PacketMask{0});
}

TEST_CASE("PacketFilter: what libpcap understands of Ethernet frames", "[daemon][unit]") {
    const Frame syn = ethernet().ipv4().tcp(1000, 443, tcp_flag::kSyn).build();
    CHECK(passes("tcp[tcpflags] & tcp-syn != 0", syn));
    CHECK_FALSE(passes("tcp[tcpflags] & tcp-fin != 0", syn));
    CHECK(passes("src net 192.0.2.0/24 and dst host 198.51.100.2", syn));
    CHECK(passes("ether src 02:00:00:00:00:05", syn));
    CHECK(passes("ip6 and udp", ethernet().ipv6().udp(1, 2).build()));
    const Frame tagged = ethernet().vlan(5).ipv4().udp(1, 53).build();
    CHECK_FALSE(passes("udp port 53", tagged));
    CHECK(passes("vlan 5 and udp port 53", tagged));
}

TEST_CASE("PacketFilter: a frame that ends before what is read does not match", "[daemon][unit]") {
    const Frame dns = ethernet().ipv4().udp(1000, 53).payload(20).build();
    CHECK(passes("udp port 53", dns.cut(38)));
    CHECK_FALSE(passes("udp port 53", dns.cut(37)));
    CHECK_FALSE(passes("udp port 53", dns.cut(0)));
    CHECK(passes("greater 62", dns.cut(20)));  // by the length on the wire
    CHECK_FALSE(passes("greater 63", dns.cut(20)));
}

TEST_CASE("PacketFilter: the expression means the same for every link type", "[daemon][unit]") {
    const Frame dns = ethernet().ipv4().udp(1000, 53).build();
    const Frame dns6 = ethernet().ipv6().udp(1000, 53).build();
    const Frame web = ethernet().ipv4().tcp(1000, 443).build();
    PacketFilter filter("udp port 53");
    const auto check = [&](LinkType type, std::initializer_list<std::uint8_t> header,
                           std::initializer_list<std::uint8_t> header6) {
        CAPTURE(static_cast<int>(type));
        CHECK(passes(filter, of_link_type(header, dns), type));
        CHECK_FALSE(passes(filter, of_link_type(header, web), type));
        CHECK(passes(filter, of_link_type(header6, dns6), type));
    };
    for (const LinkType type : {LinkType::raw_bsd, LinkType::raw_openbsd, LinkType::raw_ip}) {
        check(type, {}, {});
    }
    CHECK(passes(filter, of_link_type({}, dns), LinkType::ipv4));
    CHECK(passes(filter, of_link_type({}, dns6), LinkType::ipv6));
    check(LinkType::ppp, {0xff, 0x03, 0x00, 0x21}, {0xff, 0x03, 0x00, 0x57});
    check(LinkType::ppp_hdlc, {0xff, 0x03, 0x00, 0x21}, {0xff, 0x03, 0x00, 0x57});
    check(LinkType::pppoe, {0x11, 0, 0, 1, 0, 30, 0x00, 0x21}, {0x11, 0, 0, 1, 0, 50, 0x00, 0x57});
    check(LinkType::cisco_hdlc, {0x0f, 0, 0x08, 0x00}, {0x0f, 0, 0x86, 0xdd});
    check(LinkType::linux_sll, {0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x08, 0x00},
          {0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x86, 0xdd});
    check(LinkType::linux_sll2, {0x08, 0x00, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0},
          {0x86, 0xdd, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0});
}

TEST_CASE("PacketFilter: loopback headers in either byte order, of any BSD", "[daemon][unit]") {
    const Frame dns = ethernet().ipv4().udp(1000, 53).build();
    const Frame dns6 = ethernet().ipv6().udp(1000, 53).build();
    for (const LinkType type : {LinkType::null, LinkType::openbsd_loopback}) {
        CHECK(passes("udp port 53", of_link_type({2, 0, 0, 0}, dns), type));
        CHECK(passes("udp port 53", of_link_type({0, 0, 0, 2}, dns), type));
        for (const std::uint8_t family : std::initializer_list<std::uint8_t>{24, 28, 30}) {
            CHECK(passes("udp port 53", of_link_type({family, 0, 0, 0}, dns6), type));
            CHECK(passes("udp port 53", of_link_type({0, 0, 0, family}, dns6), type));
        }
        CHECK_FALSE(passes("tcp port 53", of_link_type({2, 0, 0, 0}, dns), type));
        CHECK_FALSE(passes("udp port 53", Frame{}, type));
    }
}

TEST_CASE("PacketFilter: where an expression has no meaning nothing matches", "[daemon][unit]") {
    const Frame dns = ethernet().ipv4().udp(1000, 53).build();
    PacketFilter filter("ether host 02:00:00:00:00:05");
    CHECK(passes(filter, dns));
    CHECK_FALSE(passes(filter, of_link_type({}, dns), LinkType::raw_ip));
    PacketFilter ip6("ip6");
    CHECK_FALSE(passes(ip6, of_link_type({}, dns), LinkType::ipv4));
}

TEST_CASE("PacketFilter: frames of an unknown link type pass, to be ignored by name",
          "[daemon][unit]") {
    CHECK(passes("udp port 53", ethernet().ipv4().tcp(1, 2).build(), LinkType{147}));
    CHECK(passes("udp port 53", Frame{}, LinkType{0xFFFF'FFFF}));
}

TEST_CASE("PacketFilter: libpcap says what is wrong with an expression", "[daemon][unit]") {
    CHECK(refusal("udp prt 53").find("syntax error") != std::string::npos);
    CHECK(refusal("ip and ip6").find("rejects all packets") != std::string::npos);
    CHECK(refusal("outbound") != "accepted");  // a frame alone does not have it
    CHECK(refusal("udp port 53") == "accepted");
}

TEST_CASE("PacketFilter: host names are checked without a resolver", "[daemon][unit]") {
    using Names = std::vector<std::string>;
    CHECK(PacketFilter::check("udp port 53").names.empty());
    CHECK(
        PacketFilter::check("port http or net 10.0.0.0/8 or ip6 host 2001:db8::1 or ip proto 1 or "
                            "ether host 02:00:00:00:00:05 or tcp[tcpflags] & tcp-syn != 0")
            .names.empty());
    CHECK(PacketFilter::check(
              "host a.invalid or src b.invalid and not dst host (c.invalid or a.invalid)")
              .names == Names{"a.invalid", "b.invalid", "c.invalid"});
    CHECK(PacketFilter::check("tcp port 80 and host www-1.x_y.invalid").names ==
          Names{"www-1.x_y.invalid"});
    for (const char* const expression :
         {"ip host a.invalid", "ip6 host a.invalid", "ip6 src host a.invalid", "arp host a.invalid",
          "ip and host a.invalid", "icmp6 and host a.invalid"}) {
        INFO(expression);
        CHECK(PacketFilter::check(expression).names == Names{"a.invalid"});
    }
    // Two names are two hosts.
    CHECK(PacketFilter::check("src host a.invalid and not src host b.invalid").names.size() == 2);
    CHECK(PacketFilter::check("src host a.invalid and dst host b.invalid").names.size() == 2);
    CHECK(PacketFilter::check("host a.invalid").execution == "compiled to machine code");
    for (const char* const wrong : {"host a.invalid prt 53", "host a.invalid or or host b.invalid",
                                    "port a.invalid.nothing", "host a.invalid and ip and ip6"}) {
        INFO(wrong);
        CHECK_THROWS_AS(PacketFilter::check(wrong), PacketFilterError);
    }
}

TEST_CASE("PacketFilter: a host name means its addresses, for each link type", "[daemon][unit]") {
    const Frame local = ethernet().ipv4({.source = "127.0.0.1"}).udp(1000, 53).build();
    const Frame other = ethernet().ipv4().udp(1000, 53).build();
    PacketFilter filter("udp and host localhost");
    CHECK(passes(filter, local));
    CHECK_FALSE(passes(filter, other));
    CHECK(passes(filter, of_link_type({}, local), LinkType::raw_ip));
    CHECK_FALSE(passes(filter, of_link_type({}, other), LinkType::raw_ip));

    FilterNames names(NameUse::resolve);
    const PacketFilter twice("src host localhost or dst host localhost", FilterLinks::all, names);
    CHECK(names.names() == std::vector<std::string>{"localhost"});
    CHECK(names.fault().empty());
}

TEST_CASE("PacketFilter: a host name without address is another fault than bad syntax",
          "[daemon][unit]") {
    const std::string no_name = std::string(64, 'x') + ".invalid";  // a label has 63 octets at most
    CHECK_THROWS_AS(PacketFilter("host " + no_name), UnresolvedName);
    CHECK(refusal("host " + no_name).starts_with("no address for " + no_name + " ("));
    CHECK(refusal("host localhost prt 5").find("syntax error") != std::string::npos);
}

TEST_CASE("PacketFilter: for ports it is compiled for Ethernet alone", "[daemon][unit]") {
    const Frame dns = ethernet().ipv4().udp(1000, 53).build();
    PacketFilter filter("udp port 53", FilterLinks::ethernet);
    CHECK(passes(filter, dns));
    CHECK_FALSE(passes(filter, of_link_type({}, dns), LinkType::raw_ip));
}

TEST_CASE("FilterCompilation: the outcome comes once, with the reason where there is no filter",
          "[daemon][unit]") {
    const auto outcome_of = [](const std::string& expression) {
        FilterCompilation compilation(expression, FilterLinks::ethernet);
        std::optional<FilterCompilation::Outcome> outcome = compilation.poll();
        for (; !outcome; outcome = compilation.poll()) {
            std::this_thread::yield();
        }
        CHECK_FALSE(compilation.poll());
        CHECK_FALSE(compilation.asks_resolver());
        return std::move(*outcome);
    };
    const auto good = outcome_of("udp port 53");
    REQUIRE(good.filter != nullptr);
    CHECK(passes(*good.filter, ethernet().ipv4().udp(1000, 53).build()));
    const auto bad = outcome_of("udp prt 53");
    CHECK(bad.filter == nullptr);
    CHECK_FALSE(bad.may_heal);
    CHECK(bad.fault.find("syntax error") != std::string::npos);
    const auto unresolved = outcome_of("host " + std::string(64, 'x'));
    CHECK(unresolved.filter == nullptr);
    CHECK(unresolved.may_heal);
}

}  // namespace tributary
