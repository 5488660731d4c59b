// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_filter.hpp"

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

TEST_CASE("FlowFilter: host, tests either side or the named one", "[export][unit]") {
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

TEST_CASE("FlowFilter: outer, tests the tunnel's addresses and not the flow's", "[export][unit]") {
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

TEST_CASE("FlowFilter: and, or, from left to right as in pcap filters; not, before both",
          "[export][unit]") {
    const FlowKey dns = make_flow("10.0.0.1", 5000, "10.0.0.2", 53, 17);
    CHECK_FALSE(matches("udp or tcp and port 80", dns));
    CHECK(matches("udp or (tcp and port 80)", dns));
    CHECK(matches("tcp and port 80 or udp", dns));
    CHECK(matches("tcp and port 80 or udp and host 10.0.0.1", dns));
    CHECK_FALSE(matches("not udp and port 80", dns));
    CHECK(matches("not (udp and port 80)", dns));
    CHECK(matches("not not(udp)and(port 53)", dns));
    CHECK(matches("!(tcp)&&port 53||tcp", dns));
    CHECK(matches("host 10.0.0.1 and port 53 and proto udp", dns));
}

TEST_CASE("FlowFilter: a value without words, has those of the value before it", "[export][unit]") {
    const FlowKey dns = make_flow("10.0.0.1", 5000, "10.0.0.2", 53, 17);
    CHECK(matches("port 80 or 53", dns));
    CHECK(matches("dst port 80 or 443 or 53", dns));
    CHECK_FALSE(matches("src port 80 or 53", dns));
    CHECK(matches("udp port 80 or domain", dns));
    CHECK_FALSE(matches("tcp port 80 or 53", dns));
    CHECK(matches("src host 10.9.9.9 or 10.0.0.1", dns));
    CHECK(matches("net 192.168.0.0/16 or 10.0.0.0/8", dns));
    CHECK(matches("proto 6 or 17", dns));
    CHECK(matches("proto 6 or 10.0.0.1", dns));
    CHECK(matches("port 80 or 10.0.0.1", dns));
    CHECK(matches("port 80 or (53)", dns));
    CHECK(fault_of("(port 53) or 80").starts_with("filter, column 14: expected a condition"));
}

TEST_CASE("FlowFilter: endpoints, either, both or one", "[export][unit]") {
    const FlowKey flow = make_flow("10.0.0.1", 53, "10.0.0.2", 53, 17);
    CHECK(matches("src and dst port 53", flow));
    CHECK(matches("dst and src net 10.0.0.0/24", flow));
    CHECK_FALSE(matches("src and dst host 10.0.0.1", flow));
    CHECK(matches("src or dst host 10.0.0.2", flow));
    CHECK(matches("src 10.0.0.1 and dst 10.0.0.0/30", flow));
    CHECK(matches("10.0.0.2", flow));
}

TEST_CASE("FlowFilter: net, by mask or by the numbers that are there", "[export][unit]") {
    const FlowKey flow = make_flow("10.1.2.3", 1, "192.0.2.1", 2, 6);
    CHECK(matches("net 10", flow));
    CHECK(matches("net 10.1", flow));
    CHECK(matches("net 10.1.2", flow));
    CHECK(matches("net 10.1.2.3", flow));
    CHECK_FALSE(matches("net 10.2", flow));
    CHECK(matches("net 10.1.0.0 mask 255.255.0.0", flow));
    CHECK_FALSE(matches("net 10.1.0.0 mask 255.255.255.0", flow));
    CHECK(fault_of("net 10.1.0.0 mask 255.0.255.0") ==
          "filter, column 19: expected a mask of IPv4 such as 255.255.0.0, found '255.0.255.0'");
}

TEST_CASE("FlowFilter: port, compared", "[export][unit]") {
    const FlowKey flow = make_flow("10.0.0.1", 5000, "10.0.0.2", 53, 17);
    CHECK(matches("src port > 1023 and dst port <= 53", flow));
    CHECK_FALSE(matches("dst port >= 54", flow));
    CHECK_FALSE(matches("port < 53", flow));
    CHECK(matches("port = 53", flow));
    CHECK_FALSE(fault_of("port != 53").empty());
    CHECK_FALSE(fault_of("port > 65535").empty());
}

TEST_CASE("FlowFilter: IP version and protocol, alone or in front", "[export][unit]") {
    const FlowKey flow = make_flow("2001:db8::1", 5000, "ff02::fb", 5353, 17);
    CHECK(matches("ip6", flow));
    CHECK_FALSE(matches("ip", flow));
    CHECK(matches("udp", flow));
    CHECK_FALSE(matches("icmp6", flow));
    CHECK(matches("ip6 proto 17", flow));
    CHECK(matches("ip6 proto \\udp", flow));
    CHECK_FALSE(matches("ip proto 17", flow));
    CHECK(matches("ip6 host 2001:db8::1", flow));
    CHECK(matches("ip6 multicast", flow));
    CHECK_FALSE(matches("ip multicast", flow));
    CHECK(matches("udp portrange 5353-5354", flow));
    CHECK_FALSE(matches("tcp port 5353", flow));
    CHECK(fault_of("ip6 host 10.0.0.1") ==
          "filter, column 10: expected an IPv6 address, found '10.0.0.1'");
    CHECK(fault_of("tcp src host 10.0.0.1") ==
          "filter, column 9: expected 'port' or 'portrange', found 'host'");
}

TEST_CASE("FlowFilter: vlan, any or one", "[export][unit]") {
    FlowKey flow = make_flow("10.0.0.1", 5000, "10.0.0.2", 53, 17);
    CHECK_FALSE(matches("vlan", flow));
    CHECK(matches("not vlan", flow));
    flow.vlan = {100};
    CHECK(matches("vlan", flow));
    CHECK(matches("vlan 100 and udp", flow));
    CHECK_FALSE(matches("vlan 101", flow));
    CHECK(fault_of("vlan 4096") ==
          "filter, column 6: expected a VLAN number from 1 to 4095, found '4096'");
}

TEST_CASE("FlowFilter: measures, compared with quantities", "[export][unit]") {
    FlowView flow;
    flow.core.key = make_flow("10.0.0.1", 5000, "10.0.0.2", 443, 6);
    flow.core.packets = 10;
    flow.core.octets = 90'000;
    flow.reverse.packets = 5;
    flow.reverse.octets = 10'000;
    flow.core.start = tributary::Timestamp{std::chrono::seconds(100)};
    flow.core.end = tributary::Timestamp{std::chrono::seconds(110)};
    flow.core.ip_class_of_service = 0xB8;
    flow.core.key.ingress_interface = {3};
    CHECK(matches("octets = 100k", flow));
    CHECK(matches("octets >= 100000 and octets <= 100k and not octets != 100k", flow));
    CHECK_FALSE(matches("octets > 100k", flow));
    CHECK(matches("packets 15", flow));
    CHECK(matches("duration > 9s and duration < 1m", flow));
    CHECK(matches("duration = 10000ms", flow));
    CHECK(matches("rate = 10k", flow));
    CHECK(matches("dscp 46 and tos 184", flow));
    CHECK(matches("interface 3", flow));
    CHECK(matches("octets>10k&&packets<16", flow));
    CHECK(fault_of("octets > 5x") ==
          "filter, column 10: expected a number such as 1500, 64k, 10MB or 1MiB (units: k, M, G, "
          "T, Ki, "
          "Mi, Gi, Ti, with or without B), found '5x'");
    CHECK(fault_of("duration > 5k") ==
          "filter, column 12: expected a time such as 30s, 250ms or 1h30m (units: ns, us, ms, s, "
          "m, h, "
          "d, w), found '5k'");
    CHECK(matches("octets = 100kB and octets = 100KB and octets < 98KiB and octets > 97Ki", flow));
    CHECK(matches("octets < 1Mi and octets < 1MB and octets < 1TiB", flow));
    CHECK(matches("duration < 1m1s and duration < 1w and duration > 9s999ms", flow));
    for (const char* const wrong :
         {"octets > 1mb", "octets > 1kk", "octets > 64B", "octets > 1k5", "octets > 16777216Ti"}) {
        CAPTURE(wrong);
        CHECK_FALSE(fault_of(wrong).empty());
    }
    CHECK(fault_of("duration > 30500w").empty());  // 64 bits hold 30500.5 weeks
    CHECK_FALSE(fault_of("duration > 30500w6d").empty());
    CHECK_FALSE(fault_of("duration > 30501w").empty());
    CHECK(fault_of("size > 1Mi").ends_with(", found 'size'; did you mean 'octets'?"));
    CHECK(fault_of("tcp and dport 80").ends_with(", found 'dport'; did you mean 'dst port'?"));
    CHECK_FALSE(fault_of("octets > 18446744073709551616").empty());
    CHECK(fault_of("octets > 18446744073709551615").empty());
    CHECK_FALSE(fault_of("octets > 18446744073709552k").empty());
}

TEST_CASE("FlowFilter: a measure that a flow does not have, matches no comparison",
          "[export][unit]") {
    const FlowView flow;
    CHECK_FALSE(matches("duration >= 0", flow));
    CHECK_FALSE(matches("rate >= 0", flow));
    CHECK_FALSE(matches("retransmissions = 0", flow));
    CHECK_FALSE(matches("retransmissions != 0", flow));
    FlowView analysed;
    analysed.reverse_counts.at(tributary::ListedCounts().find("retransmissions").value()) = 2;
    CHECK(matches("retransmissions > 1", analysed));
}

TEST_CASE("FlowFilter: a prefix is in a net that holds all of it", "[export][unit]") {
    FlowView flow;
    flow.core.key = make_flow("10.1.2.0", 1, "10.2.0.0", 2, 17);
    flow.source = {.is_prefix = true, .prefix_bits = 24};
    flow.destination = {.is_prefix = true, .prefix_bits = {}};
    CHECK(matches("src net 10.1.0.0/16", flow));
    CHECK(matches("src net 10.1.2.0/24", flow));
    CHECK(matches("src net 0.0.0.0/0", flow));
    CHECK_FALSE(matches("src net 10.1.2.0/25", flow));
    CHECK_FALSE(matches("src host 10.1.2.0", flow));
    CHECK_FALSE(matches("dst net 10.2.0.0/16", flow));  // its length is not known
    CHECK_FALSE(matches("dst net 0.0.0.0/0", flow));
    CHECK_FALSE(matches("src and dst net 10.0.0.0/8", flow));

    INFO("and so are outer addresses");
    flow.tunnel = {.source = flow.core.key.source,
                   .destination = flow.core.key.destination,
                   .kind = TunnelKind::gre,
                   .ip_version = 4};
    flow.outer_source = flow.source;
    CHECK(matches("outer src net 10.1.0.0/16", flow));
    CHECK_FALSE(matches("outer src net 10.1.2.0/28", flow));
}

TEST_CASE("FlowFilter: what a record does not have matches no condition on it", "[export][unit]") {
    FlowView flow;
    flow.core.key = make_flow("0.0.0.0", 0, "0.0.0.0", 0, 0);
    CHECK(matches("src net 0.0.0.0/0 and proto 0 and tos 0 and dscp 0 and interface 0", flow));
    flow.source.is_known = flow.destination.is_known = flow.has_protocol = false;
    flow.has_class_of_service = flow.has_interface = flow.has_source_port = false;
    flow.has_destination_port = flow.has_flags = false;
    for (const char* const condition :
         {"net 0.0.0.0/0", "proto 0", "tos 0", "dscp 0", "interface 0", "port 0", "flags S"}) {
        CHECK_FALSE(matches(condition, flow));
    }

    INFO("without a protocol ports and flags are what they are");
    flow.has_destination_port = flow.has_flags = true;
    flow.core.key.destination_port = {443};
    flow.core.tcp_control_bits = 2;
    flow.code_point = 46;
    CHECK(matches("dst port 443 and flags S and dscp 46", flow));
    CHECK_FALSE(matches("src port 443", flow));
    CHECK_FALSE(matches("tcp dst port 443", flow));
}

TEST_CASE("FlowFilter: flags, of both directions of a TCP flow", "[export][unit]") {
    FlowView flow;
    flow.core.key = make_flow("10.0.0.1", 5000, "10.0.0.2", 443, 6);
    flow.core.tcp_control_bits = 0x02;
    CHECK(matches("flags S and flags = S", flow));
    flow.reverse.tcp_control_bits = 0x12;
    flow.reverse.packets = 1;
    CHECK(matches("flags SA", flow));
    CHECK(matches("flags = as", flow));
    CHECK_FALSE(matches("flags = S", flow));
    CHECK_FALSE(matches("flags F", flow));
    flow.core.key.protocol = 17;
    CHECK_FALSE(matches("flags S", flow));
    CHECK(fault_of("flags X") ==
          "filter, column 7: expected letters of CEUAPRSF, such as S or SA, found 'X'");
    CHECK_FALSE(fault_of("flags SS").empty());
}

TEST_CASE("FlowFilter: reason, as the table prints it", "[export][unit]") {
    FlowView flow;
    flow.core.end_reason = tributary::FlowEndReason::active_timeout;
    CHECK(matches("reason active", flow));
    CHECK_FALSE(matches("reason idle", flow));
    CHECK(fault_of("reason none") ==
          "filter, column 8: expected 'idle', 'active', 'end', 'forced' or 'resources', found "
          "'none'");
}

TEST_CASE("FlowFilter: words of packets, are refused as such", "[export][unit]") {
    CHECK(fault_of("ether host 02:00:00:00:00:01") ==
          "filter, column 1: 'ether' is of packets; flows do not tell it");
    CHECK(fault_of("port 53 and tcp[13] & 2 != 0") ==
          "filter, column 13: 'tcp[13]' is of packets; flows do not tell it");
    CHECK(fault_of("greater 1000") ==
          "filter, column 1: 'greater' is of packets; flows do not tell it");
}

TEST_CASE("FlowFilter: a fault, is reported with its column", "[export][unit]") {
    CHECK(fault_of("") ==
          "filter, column 1: expected a condition such as tcp, 'port 53', 'net 10.0.0.0/8', "
          "'octets > 1M', 'flags S', 'not' or '(', found the end");
    CHECK(fault_of("host") == "filter, column 5: expected an IPv4 or IPv6 address, found the end");
    CHECK(fault_of("host 10.1.2") ==
          "filter, column 6: expected an IPv4 or IPv6 address, found '10.1.2'");
    CHECK(fault_of("net 10.0.0.256") ==
          "filter, column 5: expected a network such as 10.0.0.0/8 or 2001:db8::/32, found "
          "'10.0.0.256'");
    CHECK(fault_of("net 10.0.0.0/33") ==
          "filter, column 5: expected a network such as 10.0.0.0/8 or 2001:db8::/32, found "
          "'10.0.0.0/33'");
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

TEST_CASE("FlowFilter: sums of measures, compared with a number", "[export][unit]") {
    FlowView flow;
    flow.core.packets = 10;
    flow.core.octets = 5000;
    flow.reverse.packets = 4;
    for (const char* const filter :
         {"packets - reverse-packets = 10", "packets + octets >= 5014", "packets - octets < 0",
          "packets - octets < -4k", "packets + 1 - 2 = 13", "not packets - octets > 0",
          "(packets - 14 = 0) and octets = 5k"}) {
        INFO(filter);
        CHECK(matches(filter, flow));
    }
    CHECK_FALSE(matches("packets - retransmissions > 0", flow));  // it has none
    CHECK_FALSE(matches("packets - retransmissions <= 0", flow));
    CHECK(fault_of("packets - ") ==
          "filter, column 11: expected a number, or the name of one, found the end");
    CHECK(fault_of("packets - 3").find("expected '+', '-' or a comparison, found the end") !=
          std::string::npos);
    CHECK(fault_of("duration - packets > 3").find("a sum of a time and of what is no time") !=
          std::string::npos);
    CHECK(fault_of("packets + 1 > 20E").find("expected a number such as") != std::string::npos);
}

TEST_CASE("FlowFilter: other words for elements", "[export][unit]") {
    const FlowFilter::Aliases aliases{{"distinct(sourceAddress)", "distinctCount"}};
    const FlowFilter filter("tcp and distinct(sourceAddress) > 100 or (udp)", aliases);
    REQUIRE(filter.elements().size() == 1);
    CHECK(filter.elements()[0].name == "distinctCount");
    CHECK_THROWS_AS(FlowFilter("distinct(ipTTL) > 100", aliases), FilterError);
    CHECK_THROWS_AS(FlowFilter("distinct(sourceAddress) > 100"), FilterError);
}
