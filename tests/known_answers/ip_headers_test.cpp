// SPDX-License-Identifier: Apache-2.0
// Headers that RFCs spell out, octet by octet. What an RFC leaves open ("source address") is 0
// here, and "data" begins with the ports 20 and 21.
#include <cstdint>
#include <initializer_list>

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

// RFC 791, Appendix A, figures 5 to 9.
TEST_CASE("known answers: the example datagrams of RFC 791", "[parsers][known_answers]") {
    struct Row {
        int figure;
        std::initializer_list<std::uint8_t> octets;
        std::uint32_t total_bytes;
        std::uint8_t protocol;
        std::uint8_t time_to_live;
        std::uint16_t destination_port;
    };
    // clang-format off
    const Row rows[] = {
        {5, {0x45, 0, 0, 21,  0, 111, 0, 0,  123, 1, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0xff},
         21, 1, 123, 0},
        {6, {0x45, 0, 1, 216,  0, 111, 0, 0,  123, 6, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 20, 0, 21},
         472, 6, 123, 21},
        {7, {0x45, 0, 1, 20,  0, 111, 0x20, 0,  119, 6, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 20, 0, 21},
         276, 6, 119, 21},
        {8, {0x45, 0, 0, 216,  0, 111, 0, 32,  119, 6, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 20, 0, 21},
         216, 6, 119, 0},
        {9, {0x48, 0, 2, 64,  0, 111, 0, 0,  123, 6, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
             7, 3, 0, 7,  4, 0, 0, 1,  68, 3, 0, 0,  0, 20, 0, 21},
         576, 6, 123, 21},
    };
    // clang-format on
    for (const Row& row : rows) {
        CAPTURE(row.figure);
        const auto [status, fields] = parse(ethernet().ethertype(0x0800).bytes(row.octets).build());
        REQUIRE(status == ParseStatus::ok);
        CHECK(fields.ip_bytes == row.total_bytes);
        CHECK(fields.protocol == row.protocol);
        CHECK(fields.ttl == row.time_to_live);
        CHECK(fields.destination_port == L4Port{row.destination_port});
    }
}

// RFC 4302 §2.2: with a 96-bit integrity check value the length field is 4, in IPv6 as well.
TEST_CASE("known answers: the Authentication Header's length of RFC 4302",
          "[parsers][known_answers]") {
    const auto [status, fields] = parse(ethernet()
                                            .ipv6({.next_header = std::uint8_t{51}})
                                            .bytes({17, 4, 0, 0})
                                            .bytes(4 + 4 + 96 / 8)
                                            .bytes({0, 20, 0, 21})
                                            .build());
    REQUIRE(status == ParseStatus::ok);
    CHECK(fields.protocol == 17);
    CHECK(fields.destination_port == L4Port{21});
}

// RFC 2675 §2 draws the option (type 0xc2, data length 4), §3 its place and the payload length 0.
TEST_CASE("known answers: the Jumbo Payload option of RFC 2675", "[parsers][known_answers]") {
    const auto [status, fields] =
        parse(ethernet()
                  .ipv6({.payload_bytes = std::uint16_t{0}, .next_header = std::uint8_t{0}})
                  .bytes({17, 0, 0xc2, 4, 0, 1, 0, 0})
                  .bytes({0, 20, 0, 21})
                  .build());
    REQUIRE(status == ParseStatus::ok);
    CHECK(fields.ip_bytes == 40 + 65'536);
    CHECK(fields.protocol == 17);
    CHECK(fields.destination_port == L4Port{21});
}

}  // namespace tributary::test
