// SPDX-License-Identifier: Apache-2.0
#include "parsers/frame_extent.hpp"

#include "tests/unit/parsers/parsed.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// Extent of a whole frame, which must be the same however little behind the IP header is captured,
/// and where the driver has no more than that (wire_bytes).
FrameExtent extent_of(const Frame& frame, std::size_t least_captured) {
    const FrameExtent whole = tributary::extent_of(frame.view());
    for (std::size_t size = least_captured; size < frame.captured.size(); ++size) {
        const Frame kept = frame.cut(size);
        PacketView view = kept.view();
        for (const std::size_t known : {frame.captured.size(), size}) {
            view.wire_bytes = static_cast<std::uint32_t>(known);
            const FrameExtent cut = tributary::extent_of(view);
            CHECK(cut.is_ip == whole.is_ip);
            CHECK(cut.is_announced == whole.is_announced);
            CHECK(cut.end == whole.end);
        }
    }
    return whole;
}

}  // namespace

TEST_CASE("extent_of: the end that an IP header announces, wherever it stands", "[parsers][unit]") {
    const auto check = [](const Frame& frame, std::size_t ip_header_ends) {
        const FrameExtent extent = extent_of(frame, ip_header_ends);
        CHECK(extent.is_ip);
        CHECK(extent.is_announced);
        CHECK(extent.end == frame.captured.size());
    };
    check(ethernet().ipv4().udp(1, 2).payload(4000).build(), 14 + 20);
    check(ethernet().ipv6().udp(1, 2).payload(4000).build(), 14 + 40);
    check(ethernet().vlan(5).vlan(6).ipv4().tcp(1, 2, 0x10).payload(90).build(), 22 + 20);
    check(ethernet().mpls(17, false).mpls(18).ipv4().udp(1, 2).payload(90).build(), 22 + 20);
    check(ethernet().pppoe(0x0021).ipv4().udp(1, 2).payload(90).build(), 22 + 20);
    check(ethernet().ipv4().gre().ipv4().udp(1, 2).payload(90).build(), 14 + 20);
}

TEST_CASE("extent_of: padding is no part of a packet", "[parsers][unit]") {
    const FrameExtent extent = extent_of(ethernet().ipv4().udp(1, 2).padding(18).build(), 14 + 20);
    CHECK(extent.end == 14 + 20 + 8);
}

TEST_CASE("extent_of: a length of 0 announces nothing, a jumbo option does", "[parsers][unit]") {
    const auto is_announced = [](const Frame& frame, std::size_t least) {
        const FrameExtent extent = extent_of(frame, least);
        CHECK(extent.is_ip);
        return extent.is_announced;
    };
    CHECK_FALSE(is_announced(
        ethernet().ipv4({.total_bytes = 0}).tcp(1, 2, 0x10).payload(90).build(), 14 + 20));
    CHECK_FALSE(is_announced(
        ethernet().ipv6({.payload_bytes = 0}).tcp(1, 2, 0x10).payload(90).build(), 14 + 40));
    CHECK_FALSE(is_announced(
        ethernet().ipv6({.payload_bytes = 0}).extension(0, 8).udp(1, 2).payload(90).build(),
        14 + 40 + 8));
    CHECK(is_announced(ethernet().ipv6({.payload_bytes = 0, .next_header = 59}).padding(9).build(),
                       14 + 40));
    const FrameExtent jumbo = extent_of(
        ethernet().ipv6({.payload_bytes = 0}).jumbo(100'000).tcp(1, 2, 0x10).payload(90).build(),
        14 + 40 + 8);
    CHECK(jumbo.is_announced);
    CHECK(jumbo.end == 14 + 40 + 100'000);
}

TEST_CASE("extent_of: a frame without an IP packet, or with a cut header, has none",
          "[parsers][unit]") {
    CHECK_FALSE(
        tributary::extent_of(ethernet().ethertype(0x0806).payload(46).build().view()).is_ip);
    CHECK_FALSE(
        tributary::extent_of(ethernet().ethertype(0x0800).payload(46).build().view()).is_ip);
    const Frame frame = ethernet().ipv6().udp(1, 2).build();
    for (std::size_t size = 0; size < 14 + 40; ++size) {
        CHECK_FALSE(tributary::extent_of(frame.cut(size).view()).is_ip);
    }
}
