// SPDX-License-Identifier: Apache-2.0
#include "parsers/mpls.hpp"

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

constexpr ParseOptions kPseudowires{.mpls_pseudowires = true};
constexpr std::size_t kBehindLabel = 14 + 4;

/// An IPv4 packet's header checksum (RFC 791 §3.1).
Frame with_checksum(Frame frame, std::size_t ip_at = kBehindLabel) {
    const auto octet = [&frame](std::size_t at) {
        return std::to_integer<std::uint32_t>(frame.captured.at(at));
    };
    std::uint32_t sum = 0;
    for (std::size_t at = ip_at; at < ip_at + (octet(ip_at) & 0x0fU) * 4; at += 2) {
        sum += octet(at) << 8U | octet(at + 1);
    }
    sum = 0xffffU - sum % 0xffffU;
    frame.captured.at(ip_at + 10) = static_cast<std::byte>(sum >> 8U);
    frame.captured.at(ip_at + 11) = static_cast<std::byte>(sum);
    return frame;
}

PacketBuilder pseudowire(const MacAddress& destination) {
    return ethernet().mpls(1).inner_ethernet(destination);
}

/// Destination addresses that begin like an IP header, as far as they reach: IHL or a class, total
/// length, identification; or class and flow label, payload length.
constexpr MacAddress kLikeIp[] = {
    {0x40, 0, 0, 0, 0, 0x01},           // IPv4 without a header length
    {0x44, 0x4c, 0, 0x60, 0, 0x01},     // IPv4 with too short a one
    {0x45, 0, 0, 0x2e, 0, 0x01},        // IPv4 that is shorter than the frame
    {0x45, 0, 0, 0, 0, 0x01},           // of length 0
    {0x45, 0, 0xff, 0xff, 0, 0x01},     // longer than the frame
    {0x45, 0, 0, 0x13, 0, 0x01},        // shorter than its header
    {0x46, 0x12, 0, 0x40, 0x34, 0x56},  // with options
    {0x4f, 0xff, 0xff, 0xff, 0xff, 0xff},
    {0x60, 0x02, 0x03, 0x04, 0x05, 0x06},  // IPv6 that is longer than the frame
    {0x66, 0, 0, 0, 0, 0x07},              // shorter
    {0x6f, 0xff, 0xff, 0xff, 0xff, 0xff},
};

}  // namespace

TEST_CASE("mpls: a label stack is stepped over and noted", "[parsers][unit]") {
    const Frame frame = ethernet().vlan(7).mpls(16, false).mpls(0xabcde).ipv4().udp(1, 2).build();
    const Parsed parsed = parse(frame);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_version == 4);
    CHECK(parsed.fields.destination_port == L4Port{2});
    CHECK(parsed.fields.outer_vlan == VlanId{7});
    REQUIRE(parsed.fields.mpls_labels == 2);
    const auto* const stack = reinterpret_cast<const std::uint8_t*>(parsed.fields.mpls_stack);
    CHECK(std::vector<int>(stack, stack + 8) ==
          std::vector<int>{0x00, 0x01, 0x00, 64, 0xab, 0xcd, 0xe1, 64});
}

TEST_CASE("mpls: the first nibble behind the stack is IPv6's", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().mpls(2).ipv6().tcp(3, 4).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_version == 6);
    CHECK(parsed.fields.source_port == L4Port{3});
}

TEST_CASE("mpls: multicast labels have an ethertype of their own", "[parsers][unit]") {
    const Frame inner = ethernet().mpls(20).ipv4().udp(1, 2).build();
    Frame frame = inner;
    frame.captured[13] = std::byte{0x48};
    CHECK(parse(frame).status == ParseStatus::ok);
}

TEST_CASE("mpls: a packet without labels has none noted", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().ipv4().build());
    CHECK(parsed.fields.mpls_labels == 0);
    CHECK(parsed.fields.mpls_stack == nullptr);
}

TEST_CASE("mpls: the number of labels saturates", "[parsers][unit]") {
    PacketBuilder builder = ethernet();
    for (std::uint32_t label = 0; label < 300; ++label) {
        builder.mpls(label, false);
    }
    const Parsed parsed = parse(builder.mpls(300).ipv4().udp(1, 2).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.mpls_labels == 255);
}

TEST_CASE("mpls: a stack or a payload that is not there is a truncated label", "[parsers][unit]") {
    const Frame frame = ethernet().mpls(1, false).mpls(2).ipv4().build();
    for (std::size_t cut = 14; cut <= 22; ++cut) {
        CAPTURE(cut);
        CHECK(parse(frame.cut(cut)).status == ParseStatus::truncated_mpls_label);
    }
    CHECK(parse(frame.cut(23)).status == ParseStatus::truncated_ipv4_header);
}

TEST_CASE("mpls: a payload without IP is ignored, also an Ethernet frame", "[parsers][unit]") {
    CHECK(parse(ethernet().mpls(1).bytes(40).build()).status == ParseStatus::mpls_non_ip);
    CHECK(parse(ethernet().mpls(1).inner_ethernet().ipv4().udp(1, 2).build()).status ==
          ParseStatus::mpls_non_ip);
}

TEST_CASE("mpls: pseudo-wires are parsed when configured, with and without a control word",
          "[parsers][unit]") {
    const Frame plain = ethernet().mpls(1).inner_ethernet().vlan(9).ipv4().udp(1, 2).build();
    const Frame with_control_word =
        ethernet().mpls(1).bytes(4).inner_ethernet().vlan(9).ipv4().udp(1, 2).build();
    for (const Frame* frame : {&plain, &with_control_word}) {
        const Parsed parsed = parse(*frame, kPseudowires);
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.outer_vlan == VlanId{9});
        CHECK(parsed.fields.destination_port == L4Port{2});
        const std::size_t inner_at = frame == &plain ? kBehindLabel : kBehindLabel + 4;
        CHECK(parsed.fields.mac_addresses == frame->captured.data() + inner_at);
        CHECK(parse(*frame, {.mac_addresses = MacMode::outer, .mpls_pseudowires = true})
                  .fields.mac_addresses == frame->captured.data());
    }
    CHECK(parse(ethernet().mpls(1).bytes(60).build(), kPseudowires).status ==
          ParseStatus::mpls_non_ip);
    CHECK(
        parse(ethernet().mpls(1).inner_ethernet().ethertype(0x0806).bytes(28).build(), kPseudowires)
            .status == ParseStatus::mpls_non_ip);
}

TEST_CASE("mpls: a pseudo-wire's own labels are not the frame's", "[parsers][unit]") {
    const Frame frame = ethernet().mpls(5).inner_ethernet().mpls(6).ipv4().udp(1, 2).build();
    const Parsed parsed = parse(frame, kPseudowires);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.mpls_labels == 1);
    CHECK(std::to_integer<int>(parsed.fields.mpls_stack[1]) == 0);
    CHECK(std::to_integer<int>(parsed.fields.mpls_stack[2]) == 0x51);
}

TEST_CASE("mpls: an Ethernet frame whose destination begins like IP is recognised by the rest",
          "[parsers][unit]") {
    for (const MacAddress& mac : kLikeIp) {
        CAPTURE(int{mac[0]}, int{mac[3]});
        const Frame frames[] = {
            pseudowire(mac).ipv4().tcp(1, 2, 0x012).payload(50).build(),
            pseudowire(mac).vlan(9).ipv4().tcp(1, 2, 0x012).payload(50).build(),
            pseudowire(mac).ipv6().tcp(1, 2, 0x012).payload(50).build(),
            pseudowire(mac).pppoe(0x0021).ipv4().tcp(1, 2, 0x012).payload(50).build(),
            ethernet().mpls(1).bytes(4).inner_ethernet(mac).ipv4().tcp(1, 2, 0x012).build(),
        };
        for (const Frame& frame : frames) {
            const auto [status, fields] = parse(frame, kPseudowires);
            REQUIRE(status == ParseStatus::ok);
            CHECK(fields.protocol == ip_protocol::kTcp);
            CHECK(fields.destination_port == L4Port{2});
            CHECK(fields.tcp_control_bits == 0x012);
            CHECK(parse(frame).status == ParseStatus::mpls_non_ip);
        }
        const Frame arp = pseudowire(mac).ethertype(0x0806).bytes(50).build();
        CHECK(parse(arp).status == ParseStatus::mpls_non_ip);
        CHECK(parse(arp, kPseudowires).status == ParseStatus::mpls_non_ip);
    }
}

TEST_CASE("mpls: IP whose source address is like an EtherType stays IP", "[parsers][unit]") {
    const char* const sources[] = {"8.0.64.1", "8.6.0.1", "134.221.96.1", "129.0.0.1",
                                   "136.71.1.1"};
    const auto is_ipv4_from = [](const Frame& frame, const char* source) {
        const auto [status, fields] = parse(frame, kPseudowires);
        return status == ParseStatus::ok && fields.source == ip_address(source) &&
               fields.destination_port == L4Port{2};
    };
    for (const char* const source : sources) {
        CAPTURE(source);
        const auto packet = [source](Ipv4Header header) {
            header.source = source;
            return with_checksum(ethernet().mpls(1).ipv4(header).udp(1, 2).payload(50).build());
        };
        CHECK(is_ipv4_from(packet({}), source));
        CHECK(is_ipv4_from(packet({.option_bytes = 8}), source));
        CHECK(is_ipv4_from(packet({.total_bytes = 0}), source));       // segmentation offload
        CHECK(is_ipv4_from(packet({.total_bytes = 60'000}), source));  // longer than its frame
        CHECK(is_ipv4_from(packet({}).cut(kBehindLabel + 28), source));
        CHECK(parse(packet({.option_bytes = 8}).cut(kBehindLabel + 24), kPseudowires).status ==
              ParseStatus::truncated_ipv4_header);
    }
    // The checksum is left to the NIC.
    CHECK(
        is_ipv4_from(ethernet().mpls(1).ipv4({.source = "8.0.0.1"}).udp(1, 2).build(), "8.0.0.1"));

    for (const char* const source : {"2001:db8:800:4000::1", "2001:db8:8100::1", "fe80:0:8847::"}) {
        CAPTURE(source);
        for (const std::size_t padding : {std::size_t{0}, std::size_t{4}}) {
            const Frame frames[] = {
                ethernet()
                    .mpls(1)
                    .ipv6({.source = source})
                    .udp(1, 2)
                    .payload(50)
                    .padding(padding)
                    .build(),
                ethernet()
                    .mpls(1)
                    .ipv6({.source = source, .payload_bytes = std::uint16_t{0}})
                    .udp(1, 2)
                    .payload(50)
                    .build(),
                ethernet()
                    .mpls(1)
                    .ipv6({.source = source})
                    .ports(136, 1, 2)
                    .padding(padding)
                    .build(),
            };
            for (const Frame& frame : frames) {
                const auto [status, fields] = parse(frame, kPseudowires);
                REQUIRE(status == ParseStatus::ok);
                CHECK(fields.source == ip_address(source));
                CHECK(fields.destination_port == L4Port{2});
            }
        }
    }
}

TEST_CASE("mpls: the captured part of a pseudo-wire has to show that it is one",
          "[parsers][unit]") {
    const Frame frame = pseudowire({0x45, 0, 0, 0x2e, 0, 1}).ipv4().tcp(1, 2).payload(50).build();
    for (std::size_t cut = kBehindLabel + 1; cut < kBehindLabel + 20; ++cut) {
        CHECK(parse(frame.cut(cut), kPseudowires).status == ParseStatus::truncated_ipv4_header);
    }
    for (std::size_t cut = kBehindLabel + 20; cut < kBehindLabel + 34; ++cut) {
        CHECK(parse(frame.cut(cut), kPseudowires).status == ParseStatus::truncated_ipv4_header);
        CHECK(parse(frame.cut(cut)).status == ParseStatus::mpls_non_ip);
    }
    CHECK(parse(frame.cut(kBehindLabel + 34), kPseudowires).fields.protocol == ip_protocol::kTcp);
}

TEST_CASE("mpls: pseudo-wires inside tunnels are recognised alike", "[parsers][unit]") {
    constexpr ParseOptions kInner{.tunnel = TunnelMode::inner, .mpls_pseudowires = true};
    for (const MacAddress& mac : kLikeIp) {
        CAPTURE(int{mac[0]}, int{mac[3]});
        const Frame frame = ethernet()
                                .ipv4()
                                .gre()
                                .mpls(3)
                                .inner_ethernet(mac)
                                .ipv4()
                                .tcp(1, 2)
                                .payload(50)
                                .build();
        CHECK(parse(frame, kInner).fields.destination_port == L4Port{2});
        CHECK(parse(frame, {.tunnel = TunnelMode::inner}).fields.protocol == ip_protocol::kGre);
    }
}

}  // namespace tributary::test
