// SPDX-License-Identifier: Apache-2.0
#include "parsers/ipv6.hpp"

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

Ipv6Header length_0() { return {.payload_bytes = std::uint16_t{0}}; }
Ipv6Header jumbogram() { return length_0(); }

}  // namespace

TEST_CASE("ipv6: every field of a plain packet is read", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet()
                                    .ipv6({.source = "2001:db8:1::a",
                                           .destination = "2001:db8:2::b",
                                           .traffic_class = 0xa5,
                                           .hop_limit = 3,
                                           .flow_label = 0xfffff})
                                    .tcp(443, 50000, tcp_flag::kSyn | tcp_flag::kAck)
                                    .payload(12)
                                    .build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_version == 6);
    CHECK(parsed.fields.source == ip_address("2001:db8:1::a"));
    CHECK(parsed.fields.destination == ip_address("2001:db8:2::b"));
    CHECK(parsed.fields.ip_class_of_service == 0xa5);
    CHECK(parsed.fields.ttl == 3);
    CHECK(parsed.fields.protocol == ip_protocol::kTcp);
    CHECK(parsed.fields.ip_bytes == 72);
    CHECK(parsed.fields.source_port == L4Port{443});
    CHECK(parsed.fields.destination_port == L4Port{50000});
    CHECK(parsed.fields.tcp_control_bits == 0x012);
}

TEST_CASE("ipv6: every cut of a valid packet has the status of the missing header",
          "[parsers][unit]") {
    const Frame frame = ethernet()
                            .ipv6()
                            .extension(ipv6_extension::kHopByHop, 8)
                            .extension(ipv6_extension::kDestination, 16)
                            .fragment(0, true)
                            .extension(ipv6_extension::kAuthentication, 12)
                            .tcp(1111, 2222, 0x018)
                            .build();
    constexpr std::size_t kFixedEnd = 14 + 40;
    constexpr std::size_t kExtensionsEnd = kFixedEnd + 8 + 16 + 8 + 12;
    for (std::size_t cut = 0; cut <= frame.captured.size(); ++cut) {
        CAPTURE(cut);
        const Frame shorter = frame.cut(cut);
        const auto [status, fields] = parse(shorter);
        if (cut < 14) {
            CHECK(status == ParseStatus::truncated_link_header);
        } else if (cut < kFixedEnd) {
            CHECK(status == ParseStatus::truncated_ipv6_header);
        } else if (cut < kExtensionsEnd) {
            CHECK(status == ParseStatus::truncated_ipv6_extension_header);
        } else {
            REQUIRE(status == ParseStatus::ok);
            CHECK(fields.protocol == ip_protocol::kTcp);
            CHECK(fields.ip_bytes == 104);
            CHECK(fields.destination_port.value == (cut < kExtensionsEnd + 4 ? 0 : 2222));
            CHECK(fields.tcp_control_bits == (cut < kExtensionsEnd + 14 ? 0 : 0x018));
        }
    }
}

TEST_CASE("ipv6: a version other than 6 is refused", "[parsers][unit]") {
    for (const int version : {0, 4, 7, 15}) {
        CAPTURE(version);
        const Frame frame =
            ethernet().ipv6({.version = static_cast<std::uint8_t>(version)}).udp(1, 2).build();
        CHECK(parse(frame).status == ParseStatus::bad_ipv6_version);
    }
}

TEST_CASE("ipv6: ports are found behind every extension header of every length",
          "[parsers][unit]") {
    struct Row {
        std::uint8_t protocol;
        std::size_t shortest;
        std::size_t step;
    };
    for (const Row& row : {Row{0, 8, 8},
                           {43, 8, 8},
                           {51, 8, 4},
                           {60, 8, 8},
                           {135, 8, 8},
                           {139, 8, 8},
                           {140, 8, 8}}) {
        for (std::size_t length = 0; length < 256; ++length) {
            const std::size_t size = row.shortest + length * row.step;
            CAPTURE(int{row.protocol}, size);
            const Parsed parsed =
                parse(ethernet().ipv6().extension(row.protocol, size).udp(10, 20).build());
            REQUIRE(parsed.status == ParseStatus::ok);
            CHECK(parsed.fields.protocol == ip_protocol::kUdp);
            CHECK(parsed.fields.ip_bytes == 48 + size);
            CHECK(parsed.fields.source_port == L4Port{10});
            CHECK(parsed.fields.destination_port == L4Port{20});
        }
    }
}

TEST_CASE("ipv6: an extension header must end inside the packet, too", "[parsers][unit]") {
    for (const std::uint16_t payload_bytes : {std::uint16_t{7}, std::uint16_t{15}}) {
        CAPTURE(payload_bytes);
        const Frame frame = ethernet()
                                .ipv6({.payload_bytes = payload_bytes})
                                .extension(ipv6_extension::kDestination, 16)
                                .udp(1, 2)
                                .build();
        CHECK(parse(frame).status == ParseStatus::truncated_ipv6_extension_header);
    }
    const Parsed exact = parse(ethernet()
                                   .ipv6({.payload_bytes = std::uint16_t{16}})
                                   .extension(ipv6_extension::kDestination, 16)
                                   .udp(1, 2)
                                   .build());
    REQUIRE(exact.status == ParseStatus::ok);
    CHECK(exact.fields.protocol == ip_protocol::kUdp);
    CHECK(exact.fields.destination_port == L4Port{0});
}

TEST_CASE("ipv6: no next header and protocols behind it end the walk", "[parsers][unit]") {
    for (const int protocol : {4, 41, 47, 50, 59, 89, 253}) {
        CAPTURE(protocol);
        const Frame frame = ethernet()
                                .ipv6({.next_header = static_cast<std::uint8_t>(protocol)})
                                .bytes(16, 0xff)
                                .build();
        const Parsed parsed = parse(frame);
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.protocol == protocol);
        CHECK(parsed.fields.source_port == L4Port{0});
        CHECK(parsed.fields.destination_port == L4Port{0});
    }
}

TEST_CASE("ipv6: the first fragment has ports, also behind further extension headers",
          "[parsers][unit]") {
    const Parsed parsed =
        parse(ethernet().ipv6().fragment(0, true).extension(60, 8).udp(10, 20).payload(8).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.protocol == ip_protocol::kUdp);
    CHECK(parsed.fields.destination_port == L4Port{20});
}

TEST_CASE("ipv6: a later fragment has ports 0 and the protocol its header names",
          "[parsers][unit]") {
    for (const int offset : {1, 0x1000, 0x1fff}) {
        CAPTURE(offset);
        const auto units = static_cast<std::uint16_t>(offset);
        const Parsed udp = parse(ethernet().ipv6().fragment(units, true).udp(10, 20).build());
        REQUIRE(udp.status == ParseStatus::ok);
        CHECK(udp.fields.protocol == ip_protocol::kUdp);
        CHECK(udp.fields.destination_port == L4Port{0});

        // Its payload may look like an extension header, but is the middle of something else.
        const Parsed options =
            parse(ethernet().ipv6().fragment(units, false).extension(60, 8).udp(10, 20).build());
        REQUIRE(options.status == ParseStatus::ok);
        CHECK(options.fields.protocol == ipv6_extension::kDestination);
        CHECK(options.fields.destination_port == L4Port{0});
    }
}

TEST_CASE("ipv6: a long chain of extension headers is walked to its end", "[parsers][unit]") {
    PacketBuilder builder = ethernet();
    builder.ipv6();
    for (int i = 0; i < 1000; ++i) {
        builder.extension(ipv6_extension::kDestination, 8);
    }
    const Parsed parsed = parse(builder.udp(10, 20).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 8048);
    CHECK(parsed.fields.destination_port == L4Port{20});
}

TEST_CASE("ipv6: padding behind the packet is neither counted nor read", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().ipv6().udp(1, 2).padding(20).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 48);

    const Frame port_in_padding =
        ethernet().ipv6({.payload_bytes = std::uint16_t{3}}).udp(0x1234, 0x5678).build();
    REQUIRE(parse(port_in_padding).status == ParseStatus::ok);
    CHECK(parse(port_in_padding).fields.ip_bytes == 43);
    CHECK(parse(port_in_padding).fields.source_port == L4Port{0});
}

TEST_CASE("jumbogram: its length is in the option", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().ipv6(jumbogram()).jumbo(100'000).udp(10, 20).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 100'040);
    CHECK(parsed.fields.protocol == ip_protocol::kUdp);
    CHECK(parsed.fields.destination_port == L4Port{20});
}

TEST_CASE("jumbogram: a length that does not fit 32 bits is the longest that does",
          "[parsers][unit]") {
    struct Row {
        std::uint32_t payload_bytes;
        std::uint32_t ip_bytes;
    };
    for (const Row& row : {Row{0xffff'ffd6, 0xffff'fffe},
                           {0xffff'ffd7, 0xffff'ffff},
                           {0xffff'ffd8, 0xffff'ffff},
                           {0xffff'ffff, 0xffff'ffff}}) {
        CAPTURE(row.payload_bytes);
        const Parsed parsed =
            parse(ethernet().ipv6(jumbogram()).jumbo(row.payload_bytes).udp(10, 20).build());
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.ip_bytes == row.ip_bytes);
        CHECK(parsed.fields.destination_port == L4Port{20});
    }
}

TEST_CASE("jumbogram: the option counts only with payload length 0", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().ipv6().jumbo(100'000).udp(10, 20).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 56);
}

TEST_CASE("jumbogram: the option is found behind others", "[parsers][unit]") {
    // Pad1, PadN of 5 bytes, Router Alert, Jumbo Payload; 2 bytes of header and 16 of options, then
    // 6 of Pad1.
    PacketBuilder builder = ethernet().ipv6(jumbogram());
    builder.bytes({17, 2, 0, 1, 3, 0, 0, 0, 5, 2, 0, 0, 0xc2, 4, 0, 1, 0, 0}).bytes(6);
    Frame frame = builder.udp(10, 20).build();
    frame.captured[14 + 6] = std::byte{0};
    const Parsed parsed = parse(frame);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 65'576);
    CHECK(parsed.fields.destination_port == L4Port{20});
}

TEST_CASE("jumbogram: without a usable option the packet reaches to the end of the frame",
          "[parsers][unit]") {
    const std::initializer_list<std::uint8_t> headers[] = {
        {17, 0, 0, 0, 0, 0, 0, 0},              // only padding
        {17, 0, 0xc2, 3, 1, 1, 1, 1},           // wrong option length
        {17, 0, 0xc2, 4, 0, 0, 0, 0},           // length 0
        {17, 0, 1, 0, 0xc2, 4, 0, 1, 0, 0},     // option ends outside the header
        {17, 0, 1, 200, 0xc2, 4, 0, 1, 0, 0},   // the option before it does
        {17, 0, 1, 3, 0, 0, 0, 0xc2, 4, 0, 1},  // only its type is inside
    };
    for (const auto& header : headers) {
        CAPTURE(header.size());
        const auto [status, fields] = parse(
            ethernet()
                .ipv6({.payload_bytes = std::uint16_t{0}, .next_header = ipv6_extension::kHopByHop})
                .bytes(header)
                .build());
        REQUIRE(status == ParseStatus::ok);
        CHECK(fields.protocol == ip_protocol::kUdp);
        CHECK(fields.ip_bytes == 40 + header.size());
    }
    const Parsed cut_header = parse(
        ethernet()
            .ipv6({.payload_bytes = std::uint16_t{0}, .next_header = ipv6_extension::kHopByHop})
            .bytes({17, 0, 0xc2, 4, 1, 1})
            .build());
    CHECK(cut_header.status == ParseStatus::truncated_ipv6_extension_header);
}

TEST_CASE("ipv6 length 0: the packet reaches to the end of the frame", "[parsers][unit]") {
    const Frame frames[] = {
        ethernet().ipv6(length_0()).tcp(10, 20, 0x018).payload(1500).build(),
        ethernet().vlan(9).ipv6(length_0()).tcp(10, 20, 0x018).payload(1500).build(),
        ethernet().mpls(16).ipv6(length_0()).tcp(10, 20, 0x018).payload(1500).build(),
        ethernet().pppoe(0x0057).ipv6(length_0()).tcp(10, 20, 0x018).payload(1500).build(),
        ethernet().ipv6(length_0()).extension(60, 8).tcp(10, 20, 0x018).payload(1492).build(),
        ethernet().ipv6(length_0()).extension(0, 8).tcp(10, 20, 0x018).payload(1492).build(),
        ethernet()
            .ipv6(length_0())
            .extension(0, 8)
            .extension(43, 24)
            .fragment(0, false)
            .tcp(10, 20, 0x018)
            .payload(1460)
            .build(),
    };
    for (const Frame& frame : frames) {
        CAPTURE(frame.captured.size());
        const auto [status, fields] = parse(frame, {.tcp_segments = true});
        REQUIRE(status == ParseStatus::ok);
        CHECK(fields.ip_bytes == 1560);
        CHECK(fields.protocol == ip_protocol::kTcp);
        CHECK(fields.source_port == L4Port{10});
        CHECK(fields.destination_port == L4Port{20});
        CHECK(fields.tcp_control_bits == 0x018);
        CHECK(fields.has_tcp_segment);

        const Frame cut = frame.cut(160);  // the length is the one on the wire
        CHECK(parse(cut).fields.ip_bytes == 1560);
        CHECK(parse(cut).fields.destination_port == L4Port{20});
    }
    const Parsed segment = parse(ethernet().ipv6(length_0()).tcp(10, 20).payload(70'000).build(),
                                 {.tcp_segments = true});
    CHECK(segment.fields.ip_bytes == 70'060);
    CHECK(segment.fields.tcp.payload_bytes == 70'000);
}

TEST_CASE("ipv6 length 0: a later fragment is counted so, too", "[parsers][unit]") {
    const auto [status, fields] =
        parse(ethernet().ipv6(length_0()).fragment(185, true).payload(100).build());
    REQUIRE(status == ParseStatus::ok);
    CHECK(fields.is_later_fragment);
    CHECK(fields.ip_bytes == 148);
}

TEST_CASE("ipv6 length 0: without a next header there is nothing to count", "[parsers][unit]") {
    Ipv6Header header = length_0();
    header.next_header = std::uint8_t{59};
    for (const std::size_t padding : {std::size_t{0}, std::size_t{6}, std::size_t{1000}}) {
        const Parsed parsed = parse(ethernet().ipv6(header).padding(padding).build());
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.protocol == 59);
        CHECK(parsed.fields.ip_bytes == 40);
    }
    // Behind an extension header it is the payload's length that was 0.
    Frame behind_options = ethernet().ipv6(length_0()).extension(60, 8).build();
    behind_options.captured[14 + 40] = std::byte{59};
    CHECK(parse(behind_options).fields.protocol == 59);
    CHECK(parse(behind_options).fields.ip_bytes == 48);
}

TEST_CASE("ipv6 length 0: a frame that ends with the header, or says that it is shorter",
          "[parsers][unit]") {
    Ipv6Header header = length_0();
    header.next_header = ip_protocol::kTcp;
    Frame frame = ethernet().ipv6(header).build();
    for (const std::uint32_t wire_bytes : {54U, 53U, 14U, 13U, 0U}) {
        frame.wire_bytes = wire_bytes;
        const auto [status, fields] = parse(frame);
        REQUIRE(status == ParseStatus::ok);
        CHECK(fields.ip_bytes == 40);
        CHECK(fields.destination_port == L4Port{});
    }
    header.next_header = ipv6_extension::kDestination;
    CHECK(parse(ethernet().ipv6(header).build()).status ==
          ParseStatus::truncated_ipv6_extension_header);
}

}  // namespace tributary::test
