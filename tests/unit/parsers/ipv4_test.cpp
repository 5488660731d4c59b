// SPDX-License-Identifier: Apache-2.0
#include "parsers/ipv4.hpp"

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

TEST_CASE("ipv4: every field of a plain packet is read", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet()
                                    .ipv4({.source = "192.0.2.33",
                                           .destination = "203.0.113.44",
                                           .type_of_service = 0xb8,
                                           .ttl = 7})
                                    .udp(5353, 53)
                                    .payload(10)
                                    .build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_version == 4);
    CHECK(parsed.fields.source == ip_address("192.0.2.33"));
    CHECK(parsed.fields.destination == ip_address("203.0.113.44"));
    CHECK(parsed.fields.ip_class_of_service == 0xb8);
    CHECK(parsed.fields.ttl == 7);
    CHECK(parsed.fields.protocol == ip_protocol::kUdp);
    CHECK(parsed.fields.ip_bytes == 38);
    CHECK(parsed.fields.source_port == L4Port{5353});
    CHECK(parsed.fields.destination_port == L4Port{53});
    CHECK(parsed.fields.tcp_control_bits == 0);
}

TEST_CASE("ipv4: every cut of a valid packet has the status of the missing header",
          "[parsers][unit]") {
    const Frame frame =
        ethernet().vlan(3).ipv4({.option_bytes = 8}).tcp(1111, 2222, 0x012).payload(5).build();
    constexpr std::size_t kVlanEnd = 18;
    constexpr std::size_t kIpEnd = kVlanEnd + 28;
    for (std::size_t cut = 0; cut <= frame.captured.size(); ++cut) {
        CAPTURE(cut);
        const Frame shorter = frame.cut(cut);
        const auto [status, fields] = parse(shorter);
        if (cut < 14) {
            CHECK(status == ParseStatus::truncated_link_header);
        } else if (cut < kVlanEnd) {
            CHECK(status == ParseStatus::truncated_vlan_tag);
        } else if (cut < kIpEnd) {
            CHECK(status == ParseStatus::truncated_ipv4_header);
        } else {
            REQUIRE(status == ParseStatus::ok);
            CHECK(fields.ip_bytes == 53);
            CHECK(fields.source_port ==
                  L4Port{cut < kIpEnd + 4 ? std::uint16_t{0} : std::uint16_t{1111}});
            CHECK(fields.destination_port ==
                  L4Port{cut < kIpEnd + 4 ? std::uint16_t{0} : std::uint16_t{2222}});
            CHECK(fields.tcp_control_bits == (cut < kIpEnd + 14 ? 0 : 0x012));
        }
    }
}

TEST_CASE("ipv4: ports are found behind options of every length", "[parsers][unit]") {
    for (std::size_t options = 0; options <= 40; options += 4) {
        CAPTURE(options);
        const Parsed parsed = parse(ethernet().ipv4({.option_bytes = options}).udp(10, 20).build());
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.ip_bytes == 28 + options);
        CHECK(parsed.fields.source_port == L4Port{10});
        CHECK(parsed.fields.destination_port == L4Port{20});
    }
}

TEST_CASE("ipv4: a version other than 4 is refused", "[parsers][unit]") {
    for (const int version : {0, 5, 6, 15}) {
        CAPTURE(version);
        const Frame frame =
            ethernet().ipv4({.version = static_cast<std::uint8_t>(version)}).udp(1, 2).build();
        CHECK(parse(frame).status == ParseStatus::bad_ipv4_version);
    }
}

TEST_CASE("ipv4: a header length below five words is refused", "[parsers][unit]") {
    for (const int words : {0, 1, 4}) {
        CAPTURE(words);
        const Frame frame =
            ethernet().ipv4({.header_words = static_cast<std::uint8_t>(words)}).udp(1, 2).build();
        CHECK(parse(frame).status == ParseStatus::bad_ipv4_header_length);
    }
}

TEST_CASE("ipv4: a header length behind the captured bytes is truncated", "[parsers][unit]") {
    const Frame frame = ethernet().ipv4({.header_words = std::uint8_t{8}}).udp(1, 2).build();
    CHECK(parse(frame).status == ParseStatus::truncated_ipv4_header);
}

TEST_CASE("ipv4: a total length below the header length is refused", "[parsers][unit]") {
    struct Row {
        std::uint16_t total_bytes;
        ParseStatus status;
    };
    for (const Row& row : {Row{1, ParseStatus::bad_ipv4_total_length},
                           {20, ParseStatus::bad_ipv4_total_length},
                           {23, ParseStatus::bad_ipv4_total_length},
                           {24, ParseStatus::ok}}) {
        CAPTURE(row.total_bytes);
        const Frame frame =
            ethernet().ipv4({.option_bytes = 4, .total_bytes = row.total_bytes}).udp(1, 2).build();
        CHECK(parse(frame).status == row.status);
    }
}

TEST_CASE("ipv4: a total length of 0 means to the end of the frame", "[parsers][unit]") {
    const Ipv4Header offloaded{.total_bytes = std::uint16_t{0}};
    Frame frame = ethernet().vlan(1).ipv4(offloaded).tcp(80, 81, tcp_flag::kPsh).build();
    frame.wire_bytes = 70'018;
    const Parsed parsed = parse(frame);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 70'000);
    CHECK(parsed.fields.source_port == L4Port{80});
    CHECK(parsed.fields.tcp_control_bits == tcp_flag::kPsh);

    for (const std::uint32_t wire_bytes : {0U, 17U, 18U, 37U}) {
        CAPTURE(wire_bytes);
        frame.wire_bytes = wire_bytes;
        CHECK(parse(frame).status == ParseStatus::bad_ipv4_total_length);
    }
    frame.wire_bytes = 38;
    CHECK(parse(frame).fields.ip_bytes == 20);
    CHECK(parse(frame).fields.source_port == L4Port{0});
}

TEST_CASE("ipv4: a length longer than the frame is kept", "[parsers][unit]") {
    const Parsed parsed =
        parse(ethernet().ipv4({.total_bytes = std::uint16_t{1500}}).udp(3, 4).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 1500);
    CHECK(parsed.fields.destination_port == L4Port{4});
}

TEST_CASE("ipv4: padding behind the packet is neither counted nor read", "[parsers][unit]") {
    const Parsed parsed =
        parse(ethernet().ipv4({.protocol = ip_protocol::kUdp}).padding(26).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.ip_bytes == 20);

    const Frame port_in_padding =
        ethernet().ipv4({.total_bytes = std::uint16_t{23}}).udp(0x1234, 0x5678).build();
    REQUIRE(parse(port_in_padding).status == ParseStatus::ok);
    CHECK(parse(port_in_padding).fields.source_port == L4Port{0});
    CHECK(parse(port_in_padding).fields.destination_port == L4Port{0});
}

TEST_CASE("ipv4: the first fragment has ports, later ones have none", "[parsers][unit]") {
    const Parsed first = parse(ethernet().ipv4({.more_fragments = true}).udp(9, 10).build());
    REQUIRE(first.status == ParseStatus::ok);
    CHECK(first.fields.destination_port == L4Port{10});

    for (const int offset : {1, 0x1000, 0x1fff}) {
        for (const bool more : {false, true}) {
            CAPTURE(offset, more);
            const Parsed later =
                parse(ethernet()
                          .ipv4({.fragment_offset = static_cast<std::uint16_t>(offset),
                                 .more_fragments = more})
                          .tcp(9, 10, 0xfff)
                          .build());
            REQUIRE(later.status == ParseStatus::ok);
            CHECK(later.fields.protocol == ip_protocol::kTcp);
            CHECK(later.fields.source_port == L4Port{0});
            CHECK(later.fields.destination_port == L4Port{0});
            CHECK(later.fields.tcp_control_bits == 0);
        }
    }
}

TEST_CASE("ipv4: the authentication header is a protocol like any other", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().ipv4().extension(51, 24).udp(1, 2).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.protocol == 51);
    CHECK(parsed.fields.destination_port == L4Port{0});
}

}  // namespace tributary::test
