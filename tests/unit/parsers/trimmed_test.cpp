// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

ParseOptions trimmed(std::uint32_t bytes, TunnelMode tunnel = TunnelMode::outer) {
    return {.tunnel = tunnel, .keep_cut_headers = true, .most_bytes = bytes};
}

}  // namespace

TEST_CASE("trimmed: headers before the cut are read as ever, octets are the IP header's",
          "[parsers][unit]") {
    const Parsed parsed =
        parse(ethernet().ipv4().tcp(1, 2, 0x18).payload(1000).build(), trimmed(64));
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 1040);
    CHECK(parsed.fields.tcp_control_bits == 0x18);
    CHECK(parsed.fields.cut_header == CutHeader::none);
}

TEST_CASE("trimmed: a transport header behind the cut leaves the packet without ports",
          "[parsers][unit]") {
    const Frame frame = ethernet().ipv4({.option_bytes = 32}).tcp(1, 2, 0x18).payload(100).build();
    const Parsed no_ports = parse(frame, trimmed(66));
    REQUIRE(no_ports.status == ParseStatus::ok);
    CHECK(no_ports.fields.protocol == 6);
    CHECK(no_ports.fields.ip_bytes == 172);
    CHECK(no_ports.fields.destination_port == L4Port{});
    CHECK(no_ports.fields.cut_header == CutHeader::transport_header);
    const Parsed no_flags = parse(frame, trimmed(70));
    CHECK(no_flags.fields.destination_port == L4Port{2});
    CHECK(no_flags.fields.tcp_control_bits == 0);
    CHECK(no_flags.fields.cut_header == CutHeader::transport_header);
    CHECK(parse(frame, trimmed(80)).fields.cut_header == CutHeader::none);
}

TEST_CASE("trimmed: IPv4 options behind the cut leave addresses and protocol", "[parsers][unit]") {
    const Frame frame = ethernet()
                            .vlan(1)
                            .vlan(2)
                            .vlan(3)
                            .vlan(4)
                            .vlan(5)
                            .vlan(6)
                            .ipv4({.option_bytes = 40})
                            .udp(1, 2)
                            .payload(100)
                            .build();
    const Parsed parsed = parse(frame, trimmed(64));
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.source == ip_address("192.0.2.1"));
    CHECK(parsed.fields.protocol == 17);
    CHECK(parsed.fields.ip_bytes == 168);
    CHECK(parsed.fields.cut_header == CutHeader::ipv4_options);
}

TEST_CASE("trimmed: an IPv6 extension header behind the cut stands as the protocol",
          "[parsers][unit]") {
    const Frame frame = ethernet().ipv6().extension(0, 8).extension(60, 40).udp(1, 2).build();
    const Parsed parsed = parse(frame, trimmed(64));
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.protocol == 60);
    CHECK(parsed.fields.destination == ip_address("2001:db8::2"));
    CHECK(parsed.fields.cut_header == CutHeader::ipv6_extension_header);
}

TEST_CASE("trimmed: IPv6 payload length 0 is counted by the frame, wherever the cut is",
          "[parsers][unit]") {
    const Ipv6Header length_0{.payload_bytes = std::uint16_t{0}};
    const Frame plain = ethernet().ipv6(length_0).tcp(1, 2, 0x18).payload(1500).build();
    const Frame options =
        ethernet().ipv6(length_0).extension(0, 8).tcp(1, 2, 0x18).payload(1492).build();
    for (const Frame& frame : {plain, options}) {
        for (std::uint32_t cut = 14 + 40; cut <= 128; ++cut) {
            CAPTURE(cut);
            const Parsed parsed = parse(frame, trimmed(cut));
            REQUIRE(parsed.status == ParseStatus::ok);
            CHECK(parsed.fields.ip_bytes == 1560);
        }
        CHECK(parse(frame, trimmed(128)).fields.tcp_control_bits == 0x18);
        CHECK(parse(frame, trimmed(128)).fields.cut_header == CutHeader::none);
    }
    // Its Jumbo option is behind the cut, and the frame is as long as that says.
    const Frame jumbogram =
        ethernet().ipv6(length_0).jumbo(70'000).udp(1, 2).payload(70'000 - 16).build();
    for (const std::uint32_t cut : {54U, 58U, 61U, 64U}) {
        CHECK(parse(jumbogram, trimmed(cut)).fields.ip_bytes == 70'040);
    }
    CHECK(parse(jumbogram, trimmed(58)).fields.cut_header == CutHeader::ipv6_extension_header);
}

TEST_CASE("trimmed: without addresses there is no flow", "[parsers][unit]") {
    PacketBuilder builder = ethernet();
    for (std::uint32_t label = 0; label < 9; ++label) {
        builder.mpls(label, label == 8);
    }
    const Frame frame = builder.ipv4().udp(1, 2).build();
    CHECK(parse(frame, trimmed(64)).status == ParseStatus::truncated_ipv4_header);
    CHECK(parse(frame, trimmed(128)).status == ParseStatus::ok);
}

TEST_CASE("trimmed: a tunnel that runs past the cut is metered by its outer header",
          "[parsers][unit]") {
    const Frame frame =
        ethernet().ipv4({.ttl = 9}).vxlan(5).inner_ethernet().ipv4().tcp(7, 8).payload(99).build();
    const Parsed parsed = parse(frame, trimmed(64, TunnelMode::inner));
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ttl == 9);
    CHECK(parsed.fields.destination_port == L4Port{4789});
    CHECK(parsed.fields.cut_header == CutHeader::tunnel_header);
    const Parsed inner = parse(frame, trimmed(84, TunnelMode::inner));
    CHECK(inner.fields.tunnel.kind == TunnelKind::vxlan);
    CHECK(inner.fields.cut_header == CutHeader::transport_header);
}

TEST_CASE("trimmed: of several headers behind the cut the first one is named", "[parsers][unit]") {
    PacketBuilder builder = ethernet();
    for (std::uint16_t tag = 1; tag <= 6; ++tag) {
        builder.vlan(tag);
    }
    const Frame frame = builder.ipv4({.option_bytes = 40}).ipv4().udp(1, 2).payload(100).build();
    for (const TunnelMode tunnel : {TunnelMode::outer, TunnelMode::inner}) {
        const Parsed parsed = parse(frame, trimmed(64, tunnel));
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.protocol == ip_protocol::kIpv4);
        CHECK(parsed.fields.cut_header == CutHeader::ipv4_options);
    }
    CHECK(parse(frame, trimmed(110, TunnelMode::inner)).fields.cut_header ==
          CutHeader::tunnel_header);
}

TEST_CASE("trimmed: a packet that is really too short is malformed as ever", "[parsers][unit]") {
    // No byte of the frame is missing: its headers claim more than there is.
    CHECK(parse(ethernet().ipv4({.header_words = 15}).bytes(4).build(), trimmed(128)).status ==
          ParseStatus::truncated_ipv4_header);
    CHECK(parse(ethernet().ipv6({.next_header = 60}).bytes(4).build(), trimmed(128)).status ==
          ParseStatus::truncated_ipv6_extension_header);
    // The packet ends before the cut: its header is short, not cut.
    const Parsed parsed =
        parse(ethernet().ipv4({.total_bytes = 22}).tcp(1, 2).payload(200).build(), trimmed(64));
    CHECK(parsed.fields.cut_header == CutHeader::none);
    CHECK(parsed.fields.destination_port == L4Port{});
}

TEST_CASE("trimmed: a frame that its source has cut is treated alike", "[parsers][unit]") {
    const Frame frame = ethernet().ipv4().tcp(1, 2).payload(100).build().cut(40);
    CHECK(parse(frame, trimmed(128)).fields.cut_header == CutHeader::transport_header);
    CHECK(parse(frame).fields.cut_header == CutHeader::none);
}

TEST_CASE("trimmed: at every cut, fields are those of full parsing, or the cut is named",
          "[parsers][unit]") {
    const Frame frames[] = {
        ethernet().vlan(1).mpls(2).ipv4({.option_bytes = 8}).tcp(1, 2).payload(20).build(),
        ethernet().ipv6().extension(0, 16).fragment(0, true).udp(1, 2).payload(20).build(),
        ethernet().ipv6({.payload_bytes = std::uint16_t{0}}).jumbo(16).udp(1, 2).build(),
        ethernet().ipv6({.payload_bytes = std::uint16_t{0}}).extension(0, 8).udp(1, 2).build(),
        ethernet().ipv4().vxlan(1).inner_ethernet().ipv6().extension(60, 8).tcp(1, 2).build(),
        ethernet().ipv6().gtp_u(1, 0x34).bytes({0, 0, 0, 0}).ipv4().icmp(8, 0).build()};
    for (const Frame& frame : frames) {
        for (const TunnelMode tunnel : {TunnelMode::outer, TunnelMode::inner}) {
            const Parsed full = parse(frame, {.tunnel = tunnel});
            REQUIRE(full.status == ParseStatus::ok);
            for (std::uint32_t cut = 0; cut <= frame.captured.size(); ++cut) {
                CAPTURE(frame.captured.size(), cut);
                const Parsed found = parse(frame, trimmed(cut, tunnel));
                if (found.status != ParseStatus::ok) {
                    CHECK(cut < 14 + 4 + 4 + 40);  // addresses are missing
                } else if (found.fields.cut_header == CutHeader::none) {
                    CHECK(found.fields.protocol == full.fields.protocol);
                    CHECK(found.fields.source == full.fields.source);
                    CHECK(found.fields.destination_port == full.fields.destination_port);
                    CHECK(found.fields.ip_bytes == full.fields.ip_bytes);
                }
            }
        }
    }
}

}  // namespace tributary::test
