// SPDX-License-Identifier: Apache-2.0
#include "parsers/transport.hpp"

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

TEST_CASE("transport: every protocol that begins with ports has them", "[parsers][unit]") {
    for (const int protocol : {6, 17, 33, 132, 136}) {
        CAPTURE(protocol);
        const Parsed over_ipv4 =
            parse(ethernet().ipv4().ports(static_cast<std::uint8_t>(protocol), 258, 772).build());
        REQUIRE(over_ipv4.status == ParseStatus::ok);
        CHECK(over_ipv4.fields.protocol == protocol);
        CHECK(over_ipv4.fields.source_port == L4Port{258});
        CHECK(over_ipv4.fields.destination_port == L4Port{772});

        const Parsed over_ipv6 =
            parse(ethernet().ipv6().ports(static_cast<std::uint8_t>(protocol), 258, 772).build());
        CHECK(over_ipv6.fields.protocol == protocol);
        CHECK(over_ipv6.fields.source_port == L4Port{258});
        CHECK(over_ipv6.fields.destination_port == L4Port{772});
    }
}

TEST_CASE("transport: every other protocol has ports 0", "[parsers][unit]") {
    for (int protocol = 0; protocol < 256; ++protocol) {
        const bool has_ports =
            protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
        if (has_ports || protocol == 1 || protocol == 58) {
            continue;
        }
        CAPTURE(protocol);
        const Frame frame = ethernet()
                                .ipv4({.protocol = static_cast<std::uint8_t>(protocol)})
                                .bytes(20, 0xff)
                                .build();
        const Parsed parsed = parse(frame);
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.protocol == protocol);
        CHECK(parsed.fields.source_port == L4Port{0});
        CHECK(parsed.fields.destination_port == L4Port{0});
        CHECK(parsed.fields.tcp_control_bits == 0);
    }
}

TEST_CASE("transport: ICMP type and code stand in the destination port", "[parsers][unit]") {
    const Parsed icmp = parse(ethernet().ipv4().icmp(3, 13).build());
    REQUIRE(icmp.status == ParseStatus::ok);
    CHECK(icmp.fields.protocol == ip_protocol::kIcmp);
    CHECK(icmp.fields.source_port == L4Port{0});
    CHECK(icmp.fields.destination_port == L4Port{3 * 256 + 13});

    const Parsed icmp_v6 = parse(ethernet().ipv6().icmp_v6(129, 1).build());
    REQUIRE(icmp_v6.status == ParseStatus::ok);
    CHECK(icmp_v6.fields.protocol == ip_protocol::kIcmpV6);
    CHECK(icmp_v6.fields.destination_port == L4Port{129 * 256 + 1});
}

TEST_CASE("transport: ICMP needs just its type and code", "[parsers][unit]") {
    const Frame whole = ethernet().ipv4().icmp(8, 1).build();
    CHECK(parse(whole.cut(34)).fields.destination_port == L4Port{0});
    CHECK(parse(whole.cut(35)).fields.destination_port == L4Port{0});
    CHECK(parse(whole.cut(36)).fields.destination_port == L4Port{8 * 256 + 1});

    const Ipv4Header one_byte{.total_bytes = std::uint16_t{21}};
    CHECK(parse(ethernet().ipv4(one_byte).icmp(8, 1).build()).fields.destination_port == L4Port{0});
}

TEST_CASE("transport: a packet that ends inside the ports has none", "[parsers][unit]") {
    struct Row {
        std::uint16_t total_bytes;
        std::uint16_t destination_port;
        std::uint16_t control_bits;
    };
    for (const Row& row : {Row{20, 0, 0}, {23, 0, 0}, {24, 99, 0}, {33, 99, 0}, {34, 99, 0xabc}}) {
        CAPTURE(row.total_bytes);
        const Parsed parsed =
            parse(ethernet().ipv4({.total_bytes = row.total_bytes}).tcp(98, 99, 0xabc).build());
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.destination_port == L4Port{row.destination_port});
        CHECK(parsed.fields.tcp_control_bits == row.control_bits);
    }
}

TEST_CASE("transport: the 12 TCP control bits are read, the data offset is not",
          "[parsers][unit]") {
    for (unsigned bit = 0; bit < 12; ++bit) {
        const auto bits = static_cast<std::uint16_t>(1U << bit);
        CAPTURE(bits);
        CHECK(parse(ethernet().ipv4().tcp(1, 2, bits).build()).fields.tcp_control_bits == bits);
        CHECK(parse(ethernet().ipv6().tcp(1, 2, bits).build()).fields.tcp_control_bits == bits);
    }
}

}  // namespace tributary::test
