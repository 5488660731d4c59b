// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_view.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "export/listing/ipfix_reader.hpp"
#include "tests/support/ipfix_bytes.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint32_t kOurs = 32473;

/// The view of the one record in a message with these fields.
FlowView view_of(const std::vector<Specifier>& fields, const IpfixBytes& data) {
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes().set(2, template_record(300, fields)).set(300, data))
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    return view_flow(*record);
}

std::size_t place_of(std::string_view measure) {
    return tributary::ListedCounts().find(measure).value();
}

}  // namespace

TEST_CASE("view_flow: a tunnel over IPv4, beside the flow's own addresses", "[export][unit]") {
    const FlowView flow =
        view_of({{8, 4}, {1, 1, kOurs}, {2, 4, kOurs}, {3, 4, kOurs}, {4, 4, kOurs}, {12, 4}},
                IpfixBytes()
                    .u32(0x0A000001)
                    .u8(4)
                    .u32(5001)
                    .u32(0xC0000201)
                    .u32(0xC0000202)
                    .u32(0x0A000002));
    CHECK(flow.core.key.source == ip_address("10.0.0.1"));
    CHECK(flow.core.key.destination == ip_address("10.0.0.2"));
    CHECK(flow.tunnel.kind == TunnelKind::vxlan);
    CHECK(flow.tunnel.id == 5001);
    CHECK(flow.tunnel.ip_version == 4);
    CHECK(flow.tunnel.source == ip_address("192.0.2.1"));
    CHECK(flow.tunnel.destination == ip_address("192.0.2.2"));
}

TEST_CASE("view_flow: a tunnel over IPv6", "[export][unit]") {
    const IpfixBytes prefix = IpfixBytes().u32(0x20010DB8).u32(0).u32(0);
    const FlowView flow =
        view_of({{1, 1, kOurs}, {5, 16, kOurs}, {6, 16, kOurs}},
                IpfixBytes().u8(6).text(prefix.octets()).u32(1).text(prefix.octets()).u32(2));
    CHECK(flow.tunnel.kind == TunnelKind::gtp_u);
    CHECK(flow.tunnel.id == 0);
    CHECK(flow.tunnel.ip_version == 6);
    CHECK(flow.tunnel.source == ip_address("2001:db8::1"));
    CHECK(flow.tunnel.destination == ip_address("2001:db8::2"));
}

TEST_CASE("view_flow: elements of other enterprises and of odd sizes, are no tunnel",
          "[export][unit]") {
    const FlowView flow = view_of({{1, 1, 12345}, {3, 3, kOurs}, {4, 0xFFFF, kOurs}},
                                  IpfixBytes().u8(4).u16(1).u8(2).u8(0));
    CHECK(flow.tunnel.kind == TunnelKind::none);
    CHECK(flow.tunnel.ip_version == 0);
    CHECK(flow.tunnel.source == IpAddress{});
}

TEST_CASE("view_flow: a biflow's reverse direction, and the times of both", "[export][unit]") {
    constexpr std::uint32_t kReverse = 29305;
    const FlowView flow = view_of({{1, 4},
                                   {2, 4},
                                   {6, 1},
                                   {5, 1},
                                   {152, 8},
                                   {153, 8},
                                   {239, 1},
                                   {1, 4, kReverse},
                                   {2, 4, kReverse},
                                   {6, 2, kReverse},
                                   {5, 1, kReverse},
                                   {152, 8, kReverse},
                                   {153, 8, kReverse}},
                                  IpfixBytes()
                                      .u32(500)
                                      .u32(5)
                                      .u8(0x1B)
                                      .u8(8)
                                      .u64(2000)
                                      .u64(3000)
                                      .u8(1)
                                      .u32(900)
                                      .u32(9)
                                      .u16(0x112)
                                      .u8(16)
                                      .u64(1500)
                                      .u64(2500));
    using std::chrono::milliseconds;
    CHECK(flow.core.octets == 500);
    CHECK(flow.core.packets == 5);
    CHECK(flow.core.tcp_control_bits == 0x1B);
    CHECK(flow.core.start == Timestamp{milliseconds{2000}});
    CHECK(flow.core.end == Timestamp{milliseconds{3000}});
    CHECK(flow.has_reverse());
    CHECK(flow.reverse.octets == 900);
    CHECK(flow.reverse.packets == 9);
    CHECK(flow.reverse.tcp_control_bits == 0x112);
    CHECK(flow.reverse.ip_class_of_service == 16);
    CHECK(flow.reverse.start == Timestamp{milliseconds{1500}});
    CHECK(flow.reverse.end == Timestamp{milliseconds{2500}});
    CHECK(flow.start() == Timestamp{milliseconds{1500}});
    CHECK(flow.end() == Timestamp{milliseconds{3000}});
    CHECK(flow.packets() == 14U);
    CHECK(flow.octets() == 1400U);
    CHECK(flow.tunnel.kind == TunnelKind::none);
}

TEST_CASE("view_flow: the counts of analysed TCP in a listing, of both directions",
          "[export][unit]") {
    constexpr std::uint16_t kReverse = 0x4000;
    const FlowView flow = view_of({{7, 4, kOurs},
                                   {9, 4, kOurs},
                                   {11, 4, kOurs},
                                   {12, 4, kOurs},
                                   {13, 2, kOurs},
                                   {kReverse | 9, 4, kOurs},
                                   {kReverse | 13, 2, kOurs}},
                                  IpfixBytes().u32(9).u32(1).u32(2).u32(3).u16(4).u32(5).u16(6));
    CHECK(flow.counts.at(place_of("segments")) == 9);
    CHECK(flow.counts.at(place_of("retransmissions")) == 1);
    CHECK(flow.counts.at(place_of("duplicates")) == 2);
    CHECK(flow.counts.at(place_of("out-of-order")) == 3);
    CHECK(flow.counts.at(place_of("zero-windows")) == 4);
    CHECK(flow.reverse_counts.at(place_of("retransmissions")) == 5);
    CHECK(flow.reverse_counts.at(place_of("zero-windows")) == 6);
    CHECK_FALSE(flow.reverse_counts.at(place_of("segments")));
    CHECK_FALSE(flow.reverse_counts.at(place_of("duplicates")));
    CHECK_FALSE(
        view_of({{9, 4, 12345}}, IpfixBytes().u32(1)).counts.at(place_of("retransmissions")));
}

TEST_CASE("view_flow: total counts of the reverse, whose times are not given", "[export][unit]") {
    constexpr std::uint32_t kReverse = 29305;
    const FlowView flow =
        view_of({{86, 4}, {86, 4, kReverse}, {85, 4, kReverse}, {152, 8}, {153, 8}},
                IpfixBytes().u32(2).u32(3).u32(77).u64(2000).u64(2001));
    CHECK(flow.packets() == 5U);
    CHECK(flow.octets() == 77U);
    CHECK(flow.start() == Timestamp{std::chrono::milliseconds{2000}});
    CHECK(flow.end() == Timestamp{std::chrono::milliseconds{2001}});
    const FlowView one_way = view_of({{2, 4}}, IpfixBytes().u32(2));
    CHECK_FALSE(one_way.has_reverse());
    CHECK(one_way.start() == Timestamp{});
    CHECK(one_way.packets() == 2U);
    CHECK(one_way.octets() == 0U);
}

TEST_CASE("view_flow: the tunnel of the reverse direction is not the flow's", "[export][unit]") {
    const FlowView flow =
        view_of({{0x4001, 1, kOurs}, {0x4002, 4, kOurs}}, IpfixBytes().u8(4).u32(7));
    CHECK(flow.tunnel.kind == TunnelKind::none);
    CHECK(flow.tunnel.id == 0);
}

TEST_CASE("view_flow: what a record does not have is not there", "[export][unit]") {
    const FlowView flow = view_of({{1, 8}, {2, 8}}, IpfixBytes().u64(100).u64(1));
    CHECK_FALSE(flow.has_source());
    CHECK_FALSE(flow.has_destination());
    CHECK_FALSE(flow.source_port());
    CHECK_FALSE(flow.destination_port());
    CHECK_FALSE(flow.protocol());
    CHECK_FALSE(flow.class_of_service());
    CHECK_FALSE(flow.dscp());
    CHECK_FALSE(flow.tcp_flags());
    CHECK_FALSE(flow.interface());
    const FlowView zeros = view_of({{8, 4}, {7, 2}, {11, 2}, {4, 1}, {5, 1}, {6, 2}, {10, 4}},
                                   IpfixBytes().u32(0).u16(0).u16(0).u8(6).u8(0).u16(0).u32(0));
    CHECK(zeros.has_source());
    CHECK_FALSE(zeros.has_destination());
    CHECK(zeros.source_port() == 0);
    CHECK(zeros.destination_port() == 0);
    CHECK(zeros.protocol() == 6);
    CHECK(zeros.dscp() == 0);
    CHECK(zeros.tcp_flags() == 0);
    CHECK(zeros.interface() == 0U);
}

TEST_CASE("view_flow: without a protocol ports and flags are what they are", "[export][unit]") {
    const FlowView flow = view_of({{11, 2}, {6, 2}, {195, 1}}, IpfixBytes().u16(443).u16(2).u8(46));
    CHECK(flow.destination_port() == 443);
    CHECK_FALSE(flow.source_port());
    CHECK(flow.tcp_flags() == 2);
    CHECK(flow.dscp() == 46);
    CHECK_FALSE(flow.class_of_service());
    // ICMP's type and code are a port of ICMP alone.
    const FlowView icmp = view_of({{32, 2}, {4, 1}}, IpfixBytes().u16(0x0800).u8(1));
    CHECK(icmp.core.key.destination_port.value == 0x0800);
    CHECK(icmp.has_destination_port);
    CHECK_FALSE(icmp.destination_port());
    const FlowView typed = view_of({{32, 2}}, IpfixBytes().u16(0x0800));
    CHECK_FALSE(typed.has_destination_port);
}

TEST_CASE("view_flow: prefixes with their lengths", "[export][unit]") {
    const FlowView nets = view_of({{44, 4}, {9, 1}, {45, 4}, {13, 1}},
                                  IpfixBytes().u32(0x0A010200).u8(24).u32(0x0A000000).u8(8));
    CHECK(nets.core.key.ip_version == 4);
    CHECK(nets.core.key.source == ip_address("10.1.2.0"));
    CHECK(nets.source.is_prefix);
    CHECK(nets.source.prefix_bits == 24);
    CHECK(nets.destination.prefix_bits == 8);

    const IpfixBytes v6 = IpfixBytes().u32(0x20010DB8).u32(0).u32(0).u32(0);
    const FlowView sixth = view_of({{29, 1}, {170, 16}, {30, 1}, {169, 16}},
                                   IpfixBytes().u8(32).text(v6.octets()).u8(56).text(v6.octets()));
    CHECK(sixth.core.key.ip_version == 6);
    CHECK(sixth.source.prefix_bits == 32);
    CHECK(sixth.destination.prefix_bits == 56);

    INFO("a length that is not told, or that cannot be");
    const FlowView unknown = view_of({{44, 4}}, IpfixBytes().u32(0x0A010200));
    CHECK(unknown.source.is_prefix);
    CHECK_FALSE(unknown.source.prefix_bits);
    CHECK_FALSE(view_of({{44, 4}, {9, 1}}, IpfixBytes().u32(0x0A010200).u8(33)).source.prefix_bits);

    INFO("a router's mask beside the whole address");
    for (const bool is_first : {true, false}) {
        const FlowView whole = is_first
                                   ? view_of({{44, 4}, {9, 1}, {8, 4}},
                                             IpfixBytes().u32(0x0A010200).u8(24).u32(0x0A010203))
                                   : view_of({{8, 4}, {9, 1}, {44, 4}},
                                             IpfixBytes().u32(0x0A010203).u8(24).u32(0x0A010200));
        CHECK(whole.core.key.source == ip_address("10.1.2.3"));
        CHECK_FALSE(whole.source.is_prefix);
        CHECK_FALSE(whole.source.prefix_bits);
    }
}

TEST_CASE("view_flow: a version that the record has no address of", "[export][unit]") {
    CHECK(view_of({{60, 1}}, IpfixBytes().u8(6)).core.key.ip_version == 6);
    CHECK(view_of({{60, 1}}, IpfixBytes().u8(5)).core.key.ip_version == 0);
    // The addresses of the other version are zeros.
    const IpfixBytes none = IpfixBytes().u64(0).u64(0);
    const FlowView flow =
        view_of({{60, 1}, {27, 16}, {8, 4}, {28, 16}, {12, 4}},
                IpfixBytes().u8(4).text(none.octets()).u32(0).text(none.octets()).u32(0xFFFFFFFF));
    CHECK(flow.core.key.ip_version == 4);
    CHECK(flow.has_source());
    CHECK(flow.core.key.source == ip_address("0.0.0.0"));
    CHECK(flow.core.key.destination == ip_address("255.255.255.255"));
}

TEST_CASE("view_flow: the prefix of an outer address", "[export][unit]") {
    const FlowView flow = view_of({{1, 1, kOurs}, {3, 4, kOurs}, {20, 1, kOurs}, {4, 4, kOurs}},
                                  IpfixBytes().u8(4).u32(0xC0000200).u8(24).u32(0xC0000202));
    CHECK(flow.outer_source.prefix_bits == 24);
    CHECK(flow.outer_source.is_prefix);
    CHECK_FALSE(flow.outer_destination.is_prefix);
}
