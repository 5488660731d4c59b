// SPDX-License-Identifier: Apache-2.0
#include "parsers/mpls.hpp"

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

constexpr ParseOptions kPseudowires{.mpls_pseudowires = true};

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

TEST_CASE("mpls: the first nibble behind the stack says IPv6", "[parsers][unit]") {
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

TEST_CASE("mpls: what is not IP is ignored, also an Ethernet frame", "[parsers][unit]") {
    CHECK(parse(ethernet().mpls(1).bytes(40).build()).status == ParseStatus::mpls_non_ip);
    CHECK(parse(ethernet().mpls(1).inner_ethernet().ipv4().udp(1, 2).build()).status ==
          ParseStatus::mpls_non_ip);
}

TEST_CASE("mpls: pseudo-wires are looked into when asked, with and without a control word",
          "[parsers][unit]") {
    const Frame plain = ethernet().mpls(1).inner_ethernet().vlan(9).ipv4().udp(1, 2).build();
    const Frame with_control_word =
        ethernet().mpls(1).bytes(4).inner_ethernet().vlan(9).ipv4().udp(1, 2).build();
    for (const Frame* frame : {&plain, &with_control_word}) {
        const Parsed parsed = parse(*frame, kPseudowires);
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.outer_vlan == VlanId{9});
        CHECK(parsed.fields.destination_port == L4Port{2});
        CHECK(parsed.fields.mac_addresses == frame->captured.data());  // the frame's first
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

}  // namespace tributary::test
