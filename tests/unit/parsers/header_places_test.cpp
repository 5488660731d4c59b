// SPDX-License-Identifier: Apache-2.0
#include "parsers/header_places.hpp"

#include "tests/support/capture_frames.hpp"
#include "tests/unit/parsers/parsed.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint32_t kAbsent = HeaderPlaces::kAbsent;

/// Whether the short way does not take a packet, or takes it where locate_headers() does.
bool agrees_with_short_way(const PacketView& packet, const PacketFields& fields,
                           const ParseOptions& options) {
    HeaderPlaces places;
    return !locate_transport_of_plain_ipv4(packet, fields, places) ||
           places == locate_headers(packet, fields, options, LastHeader::transport);
}

HeaderPlaces places_of(const PacketView& packet, const ParseOptions& options = {}) {
    const Parsed parsed = parse(packet, options);
    REQUIRE(parsed.status == ParseStatus::ok);
    const HeaderPlaces places = locate_headers(packet, parsed.fields, options);
    CHECK(places == walk_to_headers(packet, parsed.fields, options));
    HeaderPlaces without_payload = places;
    without_payload.payload = kAbsent;
    CHECK(locate_headers(packet, parsed.fields, options, LastHeader::transport) == without_payload);
    CHECK(agrees_with_short_way(packet, parsed.fields, options));
    return places;
}
HeaderPlaces places_of(const Frame& frame, const ParseOptions& options = {}) {
    return places_of(frame.view(), options);
}

/// What lies at the places is what the parser says of the packet.
bool agrees(const PacketView& packet, const PacketFields& fields, const HeaderPlaces& places) {
    const CapturedBytes bytes(packet.captured);
    const auto network = bytes.header<20>(places.network);
    if (!network || network.u8<0>() >> 4U != fields.ip_version || places.end < places.network) {
        return false;
    }
    const std::size_t addresses_at = fields.ip_version == 4 ? 12 : 8;
    const std::size_t size = fields.ip_version == 4 ? 4 : 16;
    const std::byte* const addresses = packet.captured.data() + places.network + addresses_at;
    if (std::memcmp(addresses, fields.source.data(), size) != 0 ||
        std::memcmp(addresses + size, fields.destination.data(), size) != 0) {
        return false;
    }
    const bool has_ports =
        fields.protocol == ip_protocol::kTcp || fields.protocol == ip_protocol::kUdp;
    if (!has_ports || places.transport == kAbsent) {
        return places.transport == kAbsent || places.transport > places.network;
    }
    const auto ports =
        CapturedBytes(packet.captured).before(places.end).header<4>(places.transport);
    return (ports ? ports.u16<0>() : 0) == fields.source_port.value &&
           (ports ? ports.u16<2>() : 0) == fields.destination_port.value;
}

}  // namespace

TEST_CASE("locate_headers: IP behind Ethernet and tags, has the places of its headers",
          "[parsers][unit]") {
    CHECK(places_of(ethernet().ipv4().udp(1, 2).payload(30).build()) ==
          HeaderPlaces{.network = 14, .transport = 34, .payload = 42, .end = 72});
    CHECK(places_of(ethernet().vlan(3).vlan(4).ipv4({.option_bytes = 8}).tcp(1, 2).build()) ==
          HeaderPlaces{.network = 22, .transport = 50, .payload = 70, .end = 70});
    CHECK(places_of(ethernet().ipv6().udp(1, 2).payload(4).build()) ==
          HeaderPlaces{.network = 14, .transport = 54, .payload = 62, .end = 66});
    CHECK(
        places_of(ethernet().vlan(9).ipv6().extension(0, 8).extension(60, 16).tcp(1, 2).build()) ==
        HeaderPlaces{.network = 18, .transport = 82, .payload = 102, .end = 102});
}

TEST_CASE("locate_headers: the payload begins behind the header that the protocol has",
          "[parsers][unit]") {
    const auto behind_ports = [](std::uint8_t protocol, std::uint8_t offset_octet) {
        return ethernet()
            .ipv4()
            .ports(protocol, 1, 2)
            .bytes({offset_octet, 0, 0, 0, 0, 0, 0, 0, offset_octet, 0, 0, 0, 0, 0, 0, 0})
            .payload(40)
            .build();
    };
    CHECK(places_of(behind_ports(6, 0x80)).payload == 34 + 32);
    CHECK(places_of(behind_ports(6, 0x40)).payload == kAbsent);  // four words are no header
    CHECK(places_of(behind_ports(17, 0)).payload == 34 + 8);
    CHECK(places_of(behind_ports(136, 0)).payload == 34 + 8);
    CHECK(places_of(behind_ports(132, 0)).payload == 34 + 12);
    CHECK(places_of(behind_ports(33, 4)).payload == 34 + 16);
    CHECK(places_of(behind_ports(33, 2)).payload == kAbsent);
    CHECK(places_of(ethernet().ipv4().icmp(8, 0).build()).payload == 34 + 8);
    CHECK(places_of(ethernet().ipv6().icmp_v6(128, 0).build()).payload == 54 + 8);
    const HeaderPlaces esp = places_of(behind_ports(50, 0));
    CHECK(esp.transport == 34);
    CHECK(esp.payload == kAbsent);
}

TEST_CASE("locate_headers: a later fragment, has no transport header", "[parsers][unit]") {
    CHECK(places_of(ethernet().ipv4({.fragment_offset = 4}).payload(16).build()) ==
          HeaderPlaces{.network = 14, .end = 50});
    CHECK(places_of(ethernet().ipv6().fragment(4, true).payload(16).build()) ==
          HeaderPlaces{.network = 14, .end = 78});
    CHECK(places_of(ethernet().ipv4({.more_fragments = true}).udp(1, 2).build()).payload == 42);
}

TEST_CASE("locate_headers: the end is the packet's, not that of padding, or the captured octets'",
          "[parsers][unit]") {
    CHECK(places_of(ethernet().ipv4().udp(1, 2).padding(18).build()).end == 42);
    CHECK(places_of(ethernet().ipv4().udp(1, 2).payload(100).build().cut(60)).end == 60);
}

TEST_CASE("locate_transport_of_plain_ipv4: takes IPv4 right behind Ethernet alone",
          "[parsers][unit]") {
    const auto takes = [](const Frame& frame, const ParseOptions& options = {}) {
        HeaderPlaces places;
        const Parsed parsed = parse(frame.view(), options);
        return locate_transport_of_plain_ipv4(frame.view(), parsed.fields, places);
    };
    CHECK(takes(ethernet().ipv4({.option_bytes = 8}).tcp(1, 2).build()));
    CHECK(takes(ethernet().ipv4().ipv4().udp(1, 2).build()));
    CHECK_FALSE(takes(ethernet().ipv4().ipv4().udp(1, 2).build(), {.tunnel = TunnelMode::inner}));
    CHECK_FALSE(takes(ethernet().vlan(1).ipv4().udp(1, 2).build()));
    CHECK_FALSE(takes(ethernet().ipv6().udp(1, 2).build()));
}

TEST_CASE("locate_headers: MPLS, PPPoE, SNAP and pseudo-wires, are stepped over",
          "[parsers][unit]") {
    CHECK(places_of(ethernet().mpls(1, false).mpls(2).ipv4().udp(1, 2).build()).network == 22);
    CHECK(places_of(ethernet().pppoe(0x0057).ipv6().udp(1, 2).build()).transport == 62);
    CHECK(places_of(ethernet().snap().ipv4().udp(1, 2).build(), {.llc_snap = true}).network == 22);
    CHECK(places_of(ethernet().mpls(1).inner_ethernet().ipv4().udp(1, 2).build(),
                    {.mpls_pseudowires = true})
              .network == 32);
}

TEST_CASE("locate_headers: a tunnel, the packet inside or around it, as it was metered",
          "[parsers][unit]") {
    const Frame frame =
        ethernet().ipv4().vxlan(7).inner_ethernet().ipv6().tcp(5, 6).payload(9).build();
    CHECK(places_of(frame).transport == 34);
    CHECK(places_of(frame, {.tunnel = TunnelMode::inner}) ==
          HeaderPlaces{.network = 64, .transport = 104, .payload = 124, .end = 133});
    const Frame gre = ethernet().vlan(2).ipv6().gre({.key = 4}).ipv4().udp(1, 2).build();
    CHECK(places_of(gre, {.tunnel = TunnelMode::inner}).network == 18 + 40 + 8);
}

TEST_CASE(
    "locate_headers: a frame that is parsed again and has another packet, all places are absent",
    "[parsers][unit]") {
    const Frame other = ethernet().mpls(1).ipv4().udp(1, 2).build();
    PacketFields fields = parse(other).fields;
    fields.source = ip_address("203.0.113.9");
    CHECK(locate_headers(other.view(), fields, {}) == HeaderPlaces{});
    CHECK(locate_headers(PacketView{}, fields, {}) == HeaderPlaces{});
}

TEST_CASE("locate_headers: each frame of all captures, cut anywhere, agrees with the parser",
          "[parsers][unit]") {
    std::size_t checked = 0;
    std::size_t wrong = 0;
    for (const std::string& path : captures_in(TRIBUTARY_SOURCE)) {
        const CaptureFrames capture(path);
        for (const bool is_inner : {false, true}) {
            const ParseOptions options{.tunnel = is_inner ? TunnelMode::inner : TunnelMode::outer,
                                       .mpls_pseudowires = is_inner,
                                       .keep_cut_headers = is_inner};
            for (PacketView packet : capture.frames()) {
                for (const std::size_t cut :
                     {std::size_t{65535}, std::size_t{96}, std::size_t{60}, std::size_t{41}}) {
                    packet.captured = packet.captured.first(std::min(cut, packet.captured.size()));
                    PacketFields fields;
                    if (parse_packet(packet, options, fields) != ParseStatus::ok) {
                        continue;
                    }
                    const HeaderPlaces places = locate_headers(packet, fields, options);
                    ++checked;
                    wrong += agrees(packet, fields, places) &&
                                     places == walk_to_headers(packet, fields, options) &&
                                     agrees_with_short_way(packet, fields, options)
                                 ? 0
                                 : 1;
                }
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(checked > 7000);
}
