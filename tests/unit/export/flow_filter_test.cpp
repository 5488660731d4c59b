// SPDX-License-Identifier: Apache-2.0
#include "export/flow_filter.hpp"

#include <arpa/inet.h>

#include <catch2/catch.hpp>
#include <string>

using tributary::FilterError;
using tributary::FlowFilter;
using tributary::FlowKey;
using tributary::FlowView;
using tributary::TunnelKind;

namespace {

FlowKey make_flow(const std::string& source, std::uint16_t source_port,
                  const std::string& destination, std::uint16_t destination_port,
                  std::uint8_t protocol) {
    FlowKey key;
    key.ip_version = source.find(':') == std::string::npos ? 4 : 6;
    const int family = key.ip_version == 4 ? AF_INET : AF_INET6;
    REQUIRE(inet_pton(family, source.c_str(), key.source.data()) == 1);
    REQUIRE(inet_pton(family, destination.c_str(), key.destination.data()) == 1);
    key.source_port = {source_port};
    key.destination_port = {destination_port};
    key.protocol = protocol;
    return key;
}

bool matches(const std::string& filter, const FlowView& flow) {
    return FlowFilter(filter).matches(flow);
}

bool matches(const std::string& filter, const FlowKey& key) {
    FlowView flow;
    flow.core.key = key;
    return matches(filter, flow);
}

std::string fault_of(const std::string& filter) {
    try {
        const FlowFilter parsed(filter);
    } catch (const FilterError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("FlowFilter: none given, matches all", "[export][unit]") {
    CHECK(FlowFilter().matches(FlowView{}));
    CHECK(FlowFilter().matches_all());
    CHECK_FALSE(FlowFilter("proto udp").matches_all());
}

TEST_CASE("FlowFilter: host, looks at either side or the one that is named", "[export][unit]") {
    const FlowKey flow = make_flow("10.1.2.3", 5000, "10.9.9.9", 53, 17);
    CHECK(matches("host 10.1.2.3", flow));
    CHECK(matches("host 10.9.9.9", flow));
    CHECK_FALSE(matches("host 10.1.2.4", flow));
    CHECK(matches("src host 10.1.2.3", flow));
    CHECK_FALSE(matches("src host 10.9.9.9", flow));
    CHECK(matches("dst host 10.9.9.9", flow));
    CHECK_FALSE(matches("dst host 10.1.2.3", flow));
}

TEST_CASE("FlowFilter: net, compares just its prefix", "[export][unit]") {
    const FlowKey flow = make_flow("10.1.130.3", 1, "192.0.2.1", 2, 6);
    CHECK(matches("net 10.1.0.0/16", flow));
    CHECK(matches("net 10.1.128.0/17", flow));
    CHECK_FALSE(matches("net 10.1.0.0/17", flow));
    CHECK(matches("net 10.1.130.2/31", flow));
    CHECK_FALSE(matches("net 10.1.130.2/32", flow));
    CHECK(matches("net 0.0.0.0/0", flow));
    CHECK_FALSE(matches("net ::/0", flow));
    const FlowKey ipv6 = make_flow("2001:db8::1", 1, "2001:db8:8000::2", 2, 6);
    CHECK(matches("src net 2001:db8::/33", ipv6));
    CHECK_FALSE(matches("dst net 2001:db8::/33", ipv6));
    CHECK(matches("host 2001:DB8:0::1", ipv6));
    CHECK_FALSE(matches("net 0.0.0.0/0", ipv6));
}

TEST_CASE("FlowFilter: port, a number or a range", "[export][unit]") {
    const FlowKey flow = make_flow("10.0.0.1", 5000, "10.0.0.2", 53, 17);
    CHECK(matches("port 53", flow));
    CHECK(matches("src port 5000", flow));
    CHECK_FALSE(matches("src port 53", flow));
    CHECK(matches("port 5000-5001", flow));
    CHECK_FALSE(matches("port 5001-65535", flow));
}

TEST_CASE("FlowFilter: port, never matches an ICMP type and code", "[export][unit]") {
    CHECK_FALSE(matches("port 2048", make_flow("10.0.0.1", 0, "10.0.0.2", 2048, 1)));
    CHECK_FALSE(matches("port 32768", make_flow("::1", 0, "::2", 32768, 58)));
}

TEST_CASE("FlowFilter: proto, a name in any case or a number", "[export][unit]") {
    const FlowKey flow = make_flow("10.0.0.1", 0, "10.0.0.2", 0, 132);
    CHECK(matches("proto sctp", flow));
    CHECK(matches("proto SCTP", flow));
    CHECK(matches("proto 132", flow));
    CHECK_FALSE(matches("proto tcp", flow));
}

TEST_CASE("FlowFilter: tunnel, of any kind or one, and its id", "[export][unit]") {
    FlowView flow;
    flow.core.key = make_flow("10.0.0.1", 1, "10.0.0.2", 2, 17);
    CHECK_FALSE(matches("tunnel any", flow));
    CHECK_FALSE(matches("tunnel-id 0", flow));
    CHECK(matches("not tunnel any", flow));
    flow.tunnel.kind = TunnelKind::gtp_u;
    flow.tunnel.id = 4'294'967'295;
    CHECK(matches("tunnel any", flow));
    CHECK(matches("tunnel GTP-U", flow));
    CHECK(matches("tunnel gtp-u and tunnel-id 4294967295", flow));
    CHECK_FALSE(matches("tunnel-id 1", flow));
    for (const char* other : {"ip-in-ip", "gre", "erspan", "vxlan", "geneve"}) {
        CHECK_FALSE(matches(std::string("tunnel ") + other, flow));
    }
}

TEST_CASE("FlowFilter: outer, looks at the tunnel's addresses and not at the flow's",
          "[export][unit]") {
    FlowView flow;
    flow.core.key = make_flow("10.0.0.1", 1, "10.0.0.2", 2, 17);
    CHECK_FALSE(matches("outer net 0.0.0.0/0", flow));
    const FlowKey outer = make_flow("2001:db8::1", 0, "2001:db8::2", 0, 0);
    flow.tunnel = {.source = outer.source,
                   .destination = outer.destination,
                   .kind = TunnelKind::gre,
                   .ip_version = 6};
    CHECK(matches("outer host 2001:db8::1", flow));
    CHECK(matches("outer src host 2001:db8::1", flow));
    CHECK_FALSE(matches("outer dst host 2001:db8::1", flow));
    CHECK(matches("outer dst net 2001:db8::/32 and host 10.0.0.1", flow));
    CHECK_FALSE(matches("outer host 10.0.0.1", flow));
    CHECK_FALSE(matches("host 2001:db8::1", flow));
}

TEST_CASE("FlowFilter: and, binds before or; not, before both", "[export][unit]") {
    const FlowKey dns = make_flow("10.0.0.1", 5000, "10.0.0.2", 53, 17);
    CHECK(matches("proto udp or proto tcp and port 80", dns));
    CHECK_FALSE(matches("(proto udp or proto tcp) and port 80", dns));
    CHECK_FALSE(matches("not proto udp and port 80", dns));
    CHECK(matches("not (proto udp and port 80)", dns));
    CHECK(matches("not not(proto udp)and(port 53)", dns));
    CHECK(matches("host 10.0.0.1 and port 53 and proto udp", dns));
}

TEST_CASE("FlowFilter: what cannot be understood, is told with its column", "[export][unit]") {
    CHECK(fault_of("") ==
          "filter, column 1: expected 'host', 'net', 'port', 'proto', 'src', 'dst', 'outer', "
          "'tunnel', 'tunnel-id', 'not' or '(', found the end");
    CHECK(fault_of("host") == "filter, column 5: expected an IPv4 or IPv6 address, found the end");
    CHECK(fault_of("host 10.1.2") ==
          "filter, column 6: expected an IPv4 or IPv6 address, found '10.1.2'");
    CHECK(fault_of("net 10.0.0.0") ==
          "filter, column 5: expected a network such as 10.0.0.0/8 or 2001:db8::/32, found "
          "'10.0.0.0'");
    CHECK(fault_of("net 10.0.0.0/33") ==
          "filter, column 5: expected a prefix length up to 32, found '10.0.0.0/33'");
    CHECK(fault_of("port 65536") ==
          "filter, column 6: expected a port such as 443 or a range such as 8000-8099, found "
          "'65536'");
    CHECK(
        fault_of("port 9-8") ==
        "filter, column 6: expected a port such as 443 or a range such as 8000-8099, found '9-8'");
    CHECK(fault_of("proto 256") ==
          "filter, column 7: expected a protocol name or a number up to 255, found '256'");
    CHECK(fault_of("src proto udp") ==
          "filter, column 5: expected 'host', 'net' or 'port', found 'proto'");
    CHECK(fault_of("outer port 53") ==
          "filter, column 7: expected 'host', 'net', 'src' or 'dst', found 'port'");
    CHECK(fault_of("outer dst port 53") ==
          "filter, column 11: expected 'host' or 'net', found 'port'");
    CHECK(fault_of("tunnel l2tp") ==
          "filter, column 8: expected 'any' or a kind of tunnel such as vxlan, gre or gtp-u, found "
          "'l2tp'");
    CHECK(fault_of("tunnel-id 4294967296") ==
          "filter, column 11: expected a number up to 4294967295, found '4294967296'");
    CHECK(fault_of("port 53 port 54") ==
          "filter, column 9: expected 'and', 'or' or the end, found 'port'");
    CHECK(fault_of("(port 53") == "filter, column 9: expected 'and', 'or' or ')', found the end");
    CHECK(fault_of("port 53)") == "filter, column 8: expected 'and', 'or' or the end, found ')'");
}

TEST_CASE("FlowFilter: nesting beyond reason, is refused", "[export][unit]") {
    CHECK(fault_of(std::string(100'000, '(')) ==
          "filter, column 101: more than 100 nested 'not' and '('");
    CHECK(fault_of(std::string(99, '(') + "port 1" + std::string(99, ')')).empty());
}

TEST_CASE("FlowFilter: an address ends where its word does", "[export][unit]") {
    using namespace std::string_literals;
    CHECK(fault_of("host 10.0.0.1\0x"s) ==
          "filter, column 6: expected an IPv4 or IPv6 address, found '10.0.0.1\\x00x'");
    CHECK_FALSE(fault_of("net 10.0.0.0\0x/8"s).empty());
}
