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
