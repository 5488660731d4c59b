// SPDX-License-Identifier: Apache-2.0
#include "parsers/tunnel.hpp"

#include <cstring>

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

constexpr ParseOptions kInner{.tunnel = TunnelMode::inner};

PacketBuilder outer_v4() {
    return ethernet().ipv4({.source = "10.0.0.1", .destination = "10.0.0.2", .ttl = 9});
}
PacketBuilder outer_v6() {
    return ethernet().ipv6({.source = "2001:db8:a::1", .destination = "2001:db8:a::2"});
}

/// The tunnel's inner packet is metered: UDP from port 7 to port 8, in the tunnel given.
void check_inner(const Frame& frame, TunnelKind kind, std::uint32_t id,
                 std::uint8_t outer_version = 4) {
    const Parsed parsed = parse(frame, kInner);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.source_port == L4Port{7});
    CHECK(parsed.fields.destination_port == L4Port{8});
    CHECK(parsed.fields.ttl == 64);
    CHECK(parsed.fields.ip_bytes == (parsed.fields.ip_version == 4 ? 28 : 48));
    CHECK(parsed.fields.tunnel.kind == kind);
    CHECK(parsed.fields.tunnel.id == id);
    REQUIRE(parsed.fields.tunnel.ip_version == outer_version);
    const std::size_t octets = outer_version == 4 ? 4 : 16;
    const IpAddress source = ip_address(outer_version == 4 ? "10.0.0.1" : "2001:db8:a::1");
    const IpAddress destination = ip_address(outer_version == 4 ? "10.0.0.2" : "2001:db8:a::2");
    CHECK(std::memcmp(parsed.fields.tunnel.addresses, source.data(), octets) == 0);
    CHECK(std::memcmp(parsed.fields.tunnel.addresses + octets, destination.data(), octets) == 0);
    // With the outermost frame's MAC addresses all else is the same.
    Parsed outermost = parse(frame, {.tunnel = TunnelMode::inner, .mac_addresses = MacMode::outer});
    CHECK(outermost.fields.mac_addresses == frame.captured.data());
    outermost.fields.mac_addresses = parsed.fields.mac_addresses;
    CHECK(outermost.fields == parsed.fields);
}

/// The outer packet is metered, and has no tunnel.
void check_outer(const Frame& frame, std::uint8_t protocol, const ParseOptions& options = kInner) {
    const Parsed parsed = parse(frame, options);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.protocol == protocol);
    CHECK(parsed.fields.ttl == 9);
    CHECK(parsed.fields.tunnel.kind == TunnelKind::none);
    CHECK(parsed.fields.tunnel.addresses == nullptr);
    CHECK(parsed.fields.cut_header == CutHeader::none);
}

}  // namespace

TEST_CASE("tunnel: outer mode meters the outer packet of every tunnel", "[parsers][unit]") {
    check_outer(outer_v4().ipv4().udp(7, 8).build(), 4, {});
    check_outer(outer_v4().gre().ipv4().udp(7, 8).build(), 47, {});
    check_outer(outer_v4().vxlan(5).inner_ethernet().ipv4().udp(7, 8).build(), 17, {});
}

TEST_CASE("tunnel: IP in IP, all four combinations", "[parsers][unit]") {
    check_inner(outer_v4().ipv4().udp(7, 8).build(), TunnelKind::ip_in_ip, 0);
    check_inner(outer_v4().ipv6().udp(7, 8).build(), TunnelKind::ip_in_ip, 0);
    check_inner(outer_v6().ipv4().udp(7, 8).build(), TunnelKind::ip_in_ip, 0, 6);
    check_inner(outer_v6().extension(60, 8).ipv6().udp(7, 8).build(), TunnelKind::ip_in_ip, 0, 6);
}

TEST_CASE("tunnel: GRE with each of its optional fields", "[parsers][unit]") {
    for (const bool checksum : {false, true}) {
        for (const bool sequence : {false, true}) {
            CAPTURE(checksum, sequence);
            check_inner(outer_v4()
                            .gre({.checksum = checksum, .sequence = sequence})
                            .ipv4()
                            .udp(7, 8)
                            .build(),
                        TunnelKind::gre, 0);
            check_inner(outer_v6()
                            .gre({.checksum = checksum, .key = 0xdeadbeef, .sequence = sequence})
                            .ipv6()
                            .udp(7, 8)
                            .build(),
                        TunnelKind::gre, 0xdeadbeef, 6);
        }
    }
}

TEST_CASE("tunnel: Ethernet, tags and labels inside GRE", "[parsers][unit]") {
    check_inner(outer_v4().gre({.key = 0x1234'56ff}).inner_ethernet().ipv4().udp(7, 8).build(),
                TunnelKind::gre, 0x1234'56ff);
    const Frame tagged =
        ethernet().vlan(5).ipv4().gre().inner_ethernet().vlan(6).ipv4().udp(7, 8).build();
    const Parsed parsed = parse(tagged, kInner);
    CHECK(parsed.fields.outer_vlan == VlanId{5});  // the frame's first, wherever it stands
    CHECK(parsed.fields.customer_vlan == VlanId{6});
    const Parsed labelled = parse(outer_v4().gre().mpls(3).ipv4().udp(7, 8).build(), kInner);
    CHECK(labelled.fields.mpls_labels == 1);
    CHECK(labelled.fields.destination_port == L4Port{8});
}

TEST_CASE("tunnel: MAC addresses are those of the Ethernet frame right around the packet",
          "[parsers][unit]") {
    const auto mac_at = [](const Frame& frame, const ParseOptions& options) {
        const Parsed parsed = parse(frame, options);
        REQUIRE(parsed.status == ParseStatus::ok);
        REQUIRE(parsed.fields.destination_port == L4Port{8});
        REQUIRE(parsed.fields.mac_addresses != nullptr);
        return parsed.fields.mac_addresses - frame.captured.data();
    };
    constexpr std::ptrdiff_t kIpv4End = 14 + 20;
    struct Row {
        Frame frame;
        std::ptrdiff_t inner_at;
    };
    const Row rows[] = {
        {outer_v4().vxlan(5).inner_ethernet().ipv4().udp(7, 8).build(), kIpv4End + 16},
        {outer_v4().vxlan(5).inner_ethernet().vlan(9).ipv6().udp(7, 8).build(), kIpv4End + 16},
        {outer_v4().geneve(5, 8).inner_ethernet().ipv4().udp(7, 8).build(), kIpv4End + 24},
        {outer_v4().gre().inner_ethernet().ipv4().udp(7, 8).build(), kIpv4End + 4},
        {outer_v4().gre().ethertype(0x88be).inner_ethernet().ipv4().udp(7, 8).build(),
         kIpv4End + 4},
        // what carries IP
        {outer_v4().ipv4().udp(7, 8).build(), 0},
        {outer_v4().gre().ipv4().udp(7, 8).build(), 0},
        {outer_v4().geneve(5).ipv6().udp(7, 8).build(), 0},
        {outer_v4().gtp_u(5).ipv4().udp(7, 8).build(), 0},
        // IP in Ethernet in a tunnel, and the other way round
        {outer_v4().vxlan(5).inner_ethernet().ipv4().gtp_u(1).ipv4().udp(7, 8).build(),
         kIpv4End + 16},
        {outer_v4().ipv4().vxlan(5).inner_ethernet().ipv4().udp(7, 8).build(), kIpv4End + 36},
    };
    for (const Row& row : rows) {
        CAPTURE(&row - rows);
        CHECK(mac_at(row.frame, kInner) == row.inner_at);
        CHECK(mac_at(row.frame, {.tunnel = TunnelMode::inner, .mac_addresses = MacMode::outer}) ==
              0);
    }
    // A pseudo-wire in a tunnel, and a tunnel in it.
    const Frame pseudowire =
        outer_v4().gre().mpls(3).inner_ethernet().ipv4().gre().ipv4().udp(7, 8).build();
    CHECK(mac_at(pseudowire, {.tunnel = TunnelMode::inner, .mpls_pseudowires = true}) ==
          kIpv4End + 8);
    CHECK(mac_at(pseudowire, {.tunnel = TunnelMode::inner,
                              .mac_addresses = MacMode::outer,
                              .mpls_pseudowires = true}) == 0);
}

TEST_CASE("tunnel: a link layer without MAC addresses leaves those of the tunnel",
          "[parsers][unit]") {
    Frame frame = ethernet()
                      .ipv4()
                      .gre()
                      .inner_ethernet()
                      .ipv4()
                      .vxlan(5)
                      .inner_ethernet()
                      .ipv4()
                      .udp(7, 8)
                      .build();
    frame.captured.erase(frame.captured.begin(), frame.captured.begin() + 14);
    frame.wire_bytes -= 14;
    PacketView packet = frame.view();
    packet.link_type = LinkType::raw_ip;
    constexpr std::ptrdiff_t kFirst = 20 + 4;
    constexpr std::ptrdiff_t kSecond = kFirst + 14 + 20 + 16;
    CHECK(parse(packet, kInner).fields.mac_addresses == frame.captured.data() + kSecond);
    CHECK(parse(packet, {.tunnel = TunnelMode::inner, .mac_addresses = MacMode::outer})
              .fields.mac_addresses == frame.captured.data() + kFirst);
    CHECK(parse(packet).fields.mac_addresses == nullptr);
}

TEST_CASE("tunnel: without a good packet in it, MAC addresses are the outer packet's",
          "[parsers][unit]") {
    const Frame frame = outer_v4().vxlan(5).inner_ethernet().ethertype(0x0806).bytes(28).build();
    CHECK(parse(frame, kInner).fields.mac_addresses == frame.captured.data());
}

TEST_CASE("tunnel: GRE of version 1 and with source routes is left alone", "[parsers][unit]") {
    check_outer(outer_v4().gre({.more_flags = 0x0001}).ipv4().udp(7, 8).build(), 47);
    check_outer(outer_v4().gre({.more_flags = 0x4000}).ipv4().udp(7, 8).build(), 47);
}

TEST_CASE("tunnel: ERSPAN of type I and II", "[parsers][unit]") {
    const auto erspan = [](bool with_header) {
        PacketBuilder builder = outer_v4().gre({.sequence = with_header}).ethertype(0x88be);
        if (with_header) {
            builder.bytes({0x10, 0x07, 0x0a, 0x85, 0, 0, 0, 0});  // VLAN 7, session 0x285
        }
        return builder.inner_ethernet().ipv4().udp(7, 8).build();
    };
    check_inner(erspan(false), TunnelKind::erspan, 0);
    check_inner(erspan(true), TunnelKind::erspan, 0x285);
}

TEST_CASE("tunnel: VXLAN", "[parsers][unit]") {
    check_inner(outer_v4().vxlan(0xabcdef).inner_ethernet().ipv6().udp(7, 8).build(),
                TunnelKind::vxlan, 0xabcdef);
    check_outer(outer_v4().vxlan(5, 0x00).inner_ethernet().ipv4().udp(7, 8).build(), 17);
    check_outer(outer_v4().vxlan(5).inner_ethernet().ethertype(0x0806).bytes(28).build(), 17);
}

TEST_CASE("tunnel: GENEVE with options, Ethernet or IP inside", "[parsers][unit]") {
    check_inner(outer_v4().geneve(0x123456, 12).inner_ethernet().ipv4().udp(7, 8).build(),
                TunnelKind::geneve, 0x123456);
    check_inner(outer_v6().geneve(1).ipv6().udp(7, 8).build(), TunnelKind::geneve, 1, 6);
    Frame version1 = outer_v4().geneve(1).ipv4().udp(7, 8).build();
    version1.captured[42] |= std::byte{0x40};
    check_outer(version1, 17);
}

TEST_CASE("tunnel: GTP-U, plain and with extension headers", "[parsers][unit]") {
    constexpr std::uint32_t kTeid = 0xcafe'0001;
    check_inner(outer_v4().gtp_u(kTeid).ipv4().udp(7, 8).build(), TunnelKind::gtp_u, kTeid);
    // a sequence number; the field for the next extension header means nothing then
    check_inner(outer_v4().gtp_u(kTeid, 0x32).bytes({0, 9, 0, 0x77}).ipv6().udp(7, 8).build(),
                TunnelKind::gtp_u, kTeid);
    // two extension headers: a PDU session container (0x85) of 4 octets, one of 8
    check_inner(outer_v4()
                    .gtp_u(kTeid, 0x34)
                    .bytes({0, 0, 0, 0x85, 1, 0x10, 0x01, 0x20, 2, 0, 0, 0, 0, 0, 0, 0})
                    .ipv4()
                    .udp(7, 8)
                    .build(),
                TunnelKind::gtp_u, kTeid);
    check_outer(outer_v4().gtp_u(kTeid, 0x30, 1).ipv4().udp(7, 8).build(), 17);  // an echo
    check_outer(outer_v4().gtp_u(kTeid, 0x20).ipv4().udp(7, 8).build(), 17);     // GTP'
    check_outer(outer_v4().gtp_u(kTeid).bytes(40).build(), 17);                  // no IP
    check_outer(outer_v4().gtp_u(kTeid, 0x34).bytes({0, 0, 0, 0x85, 0}).build(), 17);
    check_outer(outer_v4().gtp_u(kTeid, 0x34).bytes({0, 0, 0, 0x85, 9, 0, 0, 0}).build(), 17);
}

TEST_CASE("tunnel: an Ethernet frame in GTP-U is no IP packet, whatever its address begins with",
          "[parsers][unit]") {
    for (const int first : {0x02, 0x40, 0x45, 0x4f, 0x60, 0x6f}) {
        CAPTURE(first);
        check_outer(outer_v4()
                        .gtp_u(7)
                        .inner_ethernet({static_cast<std::uint8_t>(first), 1, 2, 3, 4, 5})
                        .ipv4()
                        .udp(7, 8)
                        .payload(50)
                        .build(),
                    17);
    }
}

TEST_CASE("tunnel: fragments are never parsed further", "[parsers][unit]") {
    check_outer(ethernet().ipv4({.ttl = 9, .more_fragments = true}).ipv4().udp(7, 8).build(), 4);
    check_outer(ethernet().ipv4({.ttl = 9, .fragment_offset = 1}).ipv4().udp(7, 8).build(), 4);
}

TEST_CASE("tunnel: with nested tunnels the innermost packet counts, and its tunnel",
          "[parsers][unit]") {
    const Frame frame = ethernet()
                            .ipv6()
                            .vxlan(1)
                            .inner_ethernet()
                            .ipv4({.source = "10.0.0.1", .destination = "10.0.0.2"})
                            .gtp_u(2)
                            .ipv4()
                            .udp(7, 8)
                            .build();
    check_inner(frame, TunnelKind::gtp_u, 2);
}

TEST_CASE("tunnel: more than kMostTunnels are not parsed", "[parsers][unit]") {
    PacketBuilder builder = ethernet();
    for (int depth = 0; depth < kMostTunnels; ++depth) {
        builder.ipv4();
    }
    CHECK(parse(PacketBuilder(builder).ipv4().udp(7, 8).build(), kInner).fields.protocol == 17);
    CHECK(parse(builder.ipv4().ipv4().udp(7, 8).build(), kInner).fields.protocol == 4);
}

TEST_CASE("tunnel: an inner packet that is not whole leaves the outer one", "[parsers][unit]") {
    const Frame frame = outer_v4().vxlan(5).inner_ethernet().ipv4().udp(7, 8).build();
    constexpr std::size_t kInnerIpEnd = 14 + 20 + 8 + 8 + 14 + 20;
    for (std::size_t cut = 14 + 20 + 8; cut < kInnerIpEnd; ++cut) {
        CAPTURE(cut);
        check_outer(frame.cut(cut), 17);
    }
    CHECK(parse(frame.cut(kInnerIpEnd), kInner).fields.tunnel.kind == TunnelKind::vxlan);
}

TEST_CASE("tunnel: an inner packet may not lie behind the outer one's end", "[parsers][unit]") {
    const Frame frame = ethernet().ipv4({.ttl = 9, .total_bytes = 30}).ipv4().udp(7, 8).build();
    check_outer(frame, 4);
}

TEST_CASE("tunnel: an inner length of 0 means to the end of the outer packet", "[parsers][unit]") {
    const Frame frame =
        outer_v4().ipv4({.total_bytes = 0}).udp(7, 8).payload(4).padding(100).build();
    CHECK(parse(frame, kInner).fields.ip_bytes == 32);
    const Frame inner_v6 = outer_v6()
                               .vxlan(5)
                               .inner_ethernet()
                               .ipv6({.payload_bytes = std::uint16_t{0}})
                               .udp(7, 8)
                               .payload(4)
                               .padding(100)
                               .build();
    CHECK(parse(inner_v6, kInner).fields.ip_bytes == 52);
    CHECK(parse(inner_v6, kInner).fields.destination_port == L4Port{8});
}

TEST_CASE("tunnel: an outer length of 0 means to the end of the frame", "[parsers][unit]") {
    const Ipv6Header outer{.source = "2001:db8:a::1",
                           .destination = "2001:db8:a::2",
                           .payload_bytes = std::uint16_t{0}};
    check_inner(ethernet().ipv6(outer).ipv4().udp(7, 8).build(), TunnelKind::ip_in_ip, 0, 6);
    check_inner(ethernet().ipv6(outer).vxlan(5).inner_ethernet().ipv6().udp(7, 8).build(),
                TunnelKind::vxlan, 5, 6);
    check_inner(ethernet().ipv6(outer).extension(60, 8).gtp_u(5).ipv4().udp(7, 8).build(),
                TunnelKind::gtp_u, 5, 6);
    // of both
    const Parsed both = parse(ethernet()
                                  .ipv6(outer)
                                  .geneve(5)
                                  .inner_ethernet()
                                  .ipv6({.payload_bytes = std::uint16_t{0}})
                                  .tcp(7, 8)
                                  .payload(1500)
                                  .build(),
                              kInner);
    CHECK(both.fields.ip_bytes == 1560);
    CHECK(both.fields.destination_port == L4Port{8});
}

}  // namespace tributary::test
