// SPDX-License-Identifier: Apache-2.0
// The input of the analysis of TCP: PacketFields::tcp.
#include <cstddef>
#include <cstdint>

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

constexpr ParseOptions kSegments{.tcp_segments = true};

/// Writes the fields that the builder leaves at 0 into the TCP header at `at`.
Frame filled(Frame frame, std::size_t at) {
    const auto put = [&frame, at](std::size_t offset, std::uint32_t value, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) {
            frame.captured[at + offset + i] =
                static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
        }
    };
    put(4, 0x0102'0304, 4);
    put(8, 0x1112'1314, 4);
    put(14, 0x2122, 2);
    put(16, 0x3132, 2);
    return frame;
}

Frame over_ipv4(const Ipv4Header& header = {.identification = 0x4142}, std::size_t payload = 100) {
    return filled(ethernet().ipv4(header).tcp(1000, 443).payload(payload).build(), 34);
}

constexpr TcpSegment kSegment{.sequence = 0x0102'0304,
                              .acknowledgement = 0x1112'1314,
                              .payload_bytes = 100,
                              .window = 0x2122,
                              .copy_id = 0x4142};

}  // namespace

TEST_CASE("TCP segment: numbers, window, payload and the id of copies", "[parsers][unit]") {
    const Parsed ipv4 = parse(over_ipv4(), kSegments);
    CHECK(ipv4.fields.has_tcp_segment);
    CHECK(ipv4.fields.tcp == kSegment);
    TcpSegment expected = kSegment;
    expected.copy_id = 0x3132;  // the checksum
    const Parsed ipv6 =
        parse(filled(ethernet().ipv6().tcp(1000, 443).payload(100).build(), 54), kSegments);
    CHECK(ipv6.fields.has_tcp_segment);
    CHECK(ipv6.fields.tcp == expected);
    const Parsed extended =
        parse(filled(ethernet().ipv6().extension(60, 16).tcp(1000, 443).payload(100).build(), 70),
              kSegments);
    CHECK(extended.fields.tcp == expected);
}

TEST_CASE("TCP segment: read only when configured, and of TCP alone", "[parsers][unit]") {
    CHECK_FALSE(parse(over_ipv4()).fields.has_tcp_segment);
    CHECK(parse(over_ipv4()).fields.tcp == TcpSegment{});
    CHECK_FALSE(
        parse(ethernet().ipv4().udp(1, 2).payload(60).build(), kSegments).fields.has_tcp_segment);
}

TEST_CASE("TCP segment: the straight way and the walk over the headers find the same",
          "[parsers][unit]") {
    for (const std::size_t payload : {0U, 1U, 100U}) {
        const Frame frame = over_ipv4({.identification = 7}, payload);
        PacketFields walked;
        REQUIRE(parse_header_by_header(frame.view(), kSegments, walked) == ParseStatus::ok);
        CHECK(walked == parse(frame, kSegments).fields);
        CHECK(walked.tcp.payload_bytes == payload);
    }
}

TEST_CASE("TCP segment: twenty octets of its header have to be there", "[parsers][unit]") {
    constexpr ParseOptions kTrimmed{.tcp_segments = true, .keep_cut_headers = true};
    const Frame whole = over_ipv4();
    CHECK(parse(whole.cut(34 + 20), kTrimmed).fields.tcp == kSegment);
    const Parsed cut = parse(whole.cut(34 + 19), kTrimmed);
    REQUIRE(cut.status == ParseStatus::ok);
    CHECK_FALSE(cut.fields.has_tcp_segment);
    // An IP packet that ends inside it.
    CHECK_FALSE(parse(over_ipv4({.total_bytes = 39}), kSegments).fields.has_tcp_segment);
    CHECK(parse(over_ipv4({.total_bytes = 40}), kSegments).fields.tcp.payload_bytes == 0);
}

TEST_CASE("TCP segment: a data offset that contradicts the packet leaves no payload",
          "[parsers][unit]") {
    const auto payload_with = [](std::uint8_t offset) {
        Frame frame = over_ipv4({}, 16);
        frame.captured[34 + 12] = static_cast<std::byte>(offset << 4U);
        const Parsed parsed = parse(frame, kSegments);
        CHECK(parsed.fields.has_tcp_segment);
        return parsed.fields.tcp.payload_bytes;
    };
    CHECK(payload_with(4) == 0);
    CHECK(payload_with(5) == 16);
    CHECK(payload_with(9) == 0);
    CHECK(payload_with(8) == 4);
    CHECK(payload_with(10) == 0);
}

TEST_CASE("TCP segment: of fragments the first has one, of tunnels the packet inside",
          "[parsers][unit]") {
    CHECK(parse(over_ipv4({.more_fragments = true, .identification = 0x4142}), kSegments)
              .fields.tcp == kSegment);
    CHECK_FALSE(parse(over_ipv4({.fragment_offset = 1}), kSegments).fields.has_tcp_segment);

    const Frame inside = filled(ethernet()
                                    .ipv4({.identification = 1})
                                    .ipv4({.identification = 0x4142})
                                    .tcp(1000, 443)
                                    .payload(100)
                                    .build(),
                                54);
    const Parsed inner = parse(inside, {.tunnel = TunnelMode::inner, .tcp_segments = true});
    CHECK(inner.fields.tcp == kSegment);
    CHECK_FALSE(parse(inside, kSegments).fields.has_tcp_segment);
}

}  // namespace tributary::test
