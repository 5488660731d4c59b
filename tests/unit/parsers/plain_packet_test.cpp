// SPDX-License-Identifier: Apache-2.0
#include "parsers/plain_packet.hpp"

#include <array>
#include <vector>

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

/// Of plain_frames(), one each.
constexpr std::array kKinds{PlainKind::ipv4_tcp, PlainKind::ipv4_udp, PlainKind::ipv6_tcp,
                            PlainKind::ipv6_udp};

/// Whether trying the short way first changes nothing in the result.
bool is_same(const Frame& frame, const ParseOptions& options) {
    Parsed full;
    full.status = parse_header_by_header(frame.view(), options, full.fields);
    const Parsed parsed = parse(frame, options);
    return parsed.status == full.status &&
           (full.status != ParseStatus::ok || parsed.fields == full.fields);
}

std::vector<Frame> plain_frames() {
    return {ethernet()
                .ipv4({.type_of_service = 0xb8,
                       .ttl = 9,
                       .identification = 0x1234,
                       .dont_fragment = true})
                .tcp(1000, 443, 0x0912)
                .payload(9)
                .build(),
            ethernet().ipv4().udp(1000, 53).payload(9).padding(18).build(),
            ethernet()
                .ipv6({.traffic_class = 0xb8, .hop_limit = 9, .flow_label = 0xabcde})
                .tcp(1000, 443, 0x0912)
                .payload(9)
                .build(),
            ethernet().ipv6().udp(1000, 53).payload(9).build()};
}

std::vector<Frame> other_frames() {
    return {ethernet().vlan(5).ipv4().tcp(1, 2).build(),
            ethernet().vlan(5).vlan(6).ipv6().udp(1, 2).build(),
            ethernet().ipv4({.option_bytes = 8}).tcp(1, 2).build(),
            ethernet().ipv4({.more_fragments = true}).udp(1, 2).payload(8).build(),
            ethernet().ipv4({.fragment_offset = 8}).udp(1, 2).payload(8).build(),
            ethernet().ipv4({.total_bytes = 0}).udp(1, 2).payload(8).build(),
            ethernet().ipv4({.total_bytes = 19}).udp(1, 2).payload(8).build(),
            ethernet().ipv4({.total_bytes = 23}).udp(1, 2).payload(8).build(),
            ethernet().ipv4({.total_bytes = 33}).tcp(1, 2, 0x18).payload(8).build(),
            ethernet().ipv4({.total_bytes = 60'000}).tcp(1, 2, 0x18).payload(8).build(),
            ethernet().ipv6({.payload_bytes = 3}).udp(1, 2).payload(8).build(),
            ethernet().ipv6({.payload_bytes = 13}).tcp(1, 2, 0x18).payload(8).build(),
            ethernet().ipv6().jumbo(100'000).udp(1, 2).payload(8).build(),
            ethernet().ipv6({.payload_bytes = 0}).udp(1, 2).payload(8).build(),
            ethernet().ipv6({.payload_bytes = 0}).tcp(1, 2, 0x18).payload(8).build(),
            ethernet().ipv6().extension(60, 8).udp(1, 2).payload(8).build(),
            ethernet().ipv6().fragment(0, true).udp(1, 2).payload(8).build(),
            ethernet().ipv4().icmp(8, 0).build(),
            ethernet().ethertype(0x0806).payload(46).build(),
            ethernet().ipv4().vxlan(7).inner_ethernet().ipv4().tcp(3, 4).build(),
            ethernet().ipv6().geneve(7, 4).inner_ethernet().ipv6().udp(3, 4).build(),
            ethernet().ipv4().gtp_u(7).ipv4().udp(3, 4).build(),
            ethernet().ipv4().ipv6().udp(3, 4).build(),
            ethernet().mpls(16).ipv4().udp(3, 4).build()};
}

std::vector<ParseOptions> all_options() {
    std::vector<ParseOptions> all;
    for (const TunnelMode tunnel : {TunnelMode::outer, TunnelMode::inner}) {
        all.push_back({.tunnel = tunnel});
        all.push_back({.tunnel = tunnel, .keep_cut_headers = true, .most_bytes = 64});
    }
    return all;
}

}  // namespace

TEST_CASE("plain_kind: recognises plain packets, captured as far as they are read",
          "[parsers][unit]") {
    constexpr std::array<std::size_t, 4> kRead{48, 38, 68,
                                               58};  // to the control bits, to the ports
    const std::vector<Frame> frames = plain_frames();
    for (std::size_t i = 0; i < frames.size(); ++i) {
        CAPTURE(i);
        CHECK(plain_kind(CapturedBytes(frames[i].captured)) == kKinds[i]);
        CHECK(plain_kind(CapturedBytes(frames[i].cut(kRead[i]).captured)) == kKinds[i]);
        CHECK(plain_kind(CapturedBytes(frames[i].cut(kRead[i] - 1).captured)) == PlainKind::none);
    }
    CHECK(plain_kind(CapturedBytes(ethernet().vlan(7).ipv4().udp(1, 2).build().captured)) ==
          PlainKind::none);
    Frame reserved_flag = frames[1];
    reserved_flag.captured[20] |= std::byte{0x80};
    CHECK(plain_kind(CapturedBytes(reserved_flag.captured)) == PlainKind::none);
}

TEST_CASE("parse_if_plain: gives the place of the payload, and returns the result of `then`",
          "[parsers][unit]") {
    PacketFields fields;
    const Frame udp = ethernet().ipv4().udp(1, 2).payload(9).padding(18).build();
    const Frame tagged = ethernet().vlan(5).ipv4().udp(1, 2).build();
    const bool answer = GENERATE(false, true);
    bool is_asked = false;
    const auto then = [&](auto kind, const IpLayer& ip) {
        is_asked = true;
        CHECK(kind == PlainKind::ipv4_udp);
        CHECK(ip.payload_at == 34);
        CHECK(ip.end == 34 + 8 + 9);
        return answer;
    };
    CHECK_FALSE(parse_if_plain(CapturedBytes(tagged.captured), fields, then));
    CHECK_FALSE(is_asked);
    CHECK(parse_if_plain(CapturedBytes(udp.captured), fields, then) == answer);
    CHECK(is_asked);
}

TEST_CASE("parse_packet: of plain packets every field is as the walk over headers finds it",
          "[parsers][unit]") {
    const std::vector<Frame> frames = plain_frames();
    const Parsed tcp = parse(frames[0]);
    REQUIRE(tcp.status == ParseStatus::ok);
    CHECK(tcp.fields.source == ip_address("192.0.2.1"));
    CHECK(tcp.fields.destination == ip_address("198.51.100.2"));
    CHECK(tcp.fields.source_port == L4Port{1000});
    CHECK(tcp.fields.destination_port == L4Port{443});
    CHECK(tcp.fields.tcp_control_bits == 0x0912);
    CHECK(tcp.fields.ip_bytes == 49);
    CHECK(tcp.fields.ip_class_of_service == 0xb8);
    CHECK(tcp.fields.ttl == 9);
    CHECK(tcp.fields.fragment_id == 0x1234);
    CHECK(tcp.fields.fragment_flags == fragment_flag::kDontFragment);
    for (const Frame& frame : frames) {
        for (const ParseOptions& options : all_options()) {
            CHECK(is_same(frame, options));
        }
    }
}

TEST_CASE("parse_packet: other packets are as the walk over headers finds them",
          "[parsers][unit]") {
    std::size_t number = 0;
    for (const Frame& frame : other_frames()) {
        CAPTURE(number++);
        for (const ParseOptions& options : all_options()) {
            CHECK(is_same(frame, options));
        }
    }
}

TEST_CASE("parse_packet: every cut and every changed byte gives what the walk over headers gives",
          "[parsers][unit]") {
    std::vector<Frame> frames = plain_frames();
    for (Frame& frame : other_frames()) {
        frames.push_back(std::move(frame));
    }
    std::size_t different = 0;
    for (const Frame& frame : frames) {
        for (const ParseOptions& options : all_options()) {
            for (std::size_t cut = 0; cut <= frame.captured.size(); ++cut) {
                different += is_same(frame.cut(cut), options) ? 0 : 1;
            }
            Frame changed = frame;
            for (std::size_t at = 0; at < frame.captured.size(); ++at) {
                for (const unsigned flip : {0x01U, 0x02U, 0x20U, 0x80U, 0xffU}) {
                    changed.captured[at] = frame.captured[at] ^ static_cast<std::byte>(flip);
                    different += is_same(changed, options) ? 0 : 1;
                }
                changed.captured[at] = frame.captured[at];
            }
        }
    }
    CHECK(different == 0);
}

TEST_CASE("parse_packet: the short way does not hide a tunnel", "[parsers][unit]") {
    const Frame frame = ethernet().ipv4().vxlan(7).inner_ethernet().ipv4().tcp(3, 4).build();
    const Parsed inner = parse(frame, {.tunnel = TunnelMode::inner});
    REQUIRE(inner.status == ParseStatus::ok);
    CHECK(inner.fields.tunnel.kind == TunnelKind::vxlan);
    CHECK(inner.fields.protocol == ip_protocol::kTcp);
    CHECK(inner.fields.destination_port == L4Port{4});
}

}  // namespace tributary::test
