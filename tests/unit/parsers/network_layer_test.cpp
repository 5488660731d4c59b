// SPDX-License-Identifier: Apache-2.0
#include "parsers/network_layer.hpp"

#include <initializer_list>

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

namespace {

constexpr std::size_t kEthernetHeader = 14;

/// An IP packet behind another link layer than Ethernet.
struct LinkFrame {
    LinkFrame(LinkType type, std::initializer_list<int> header, PacketBuilder packet)
        : link_type(type) {
        for (const int value : header) {
            bytes.push_back(static_cast<std::byte>(value));
        }
        const Frame built = packet.build();
        bytes.insert(bytes.end(), built.captured.begin() + kEthernetHeader, built.captured.end());
    }
    [[nodiscard]] PacketView view() const {
        return {.captured = bytes,
                .wire_bytes = static_cast<std::uint32_t>(bytes.size()),
                .link_type = link_type};
    }

    LinkType link_type;
    std::vector<std::byte> bytes;
};

PacketBuilder v4() { return ethernet().ipv4().udp(1000, 53); }
PacketBuilder v6() { return ethernet().ipv6().udp(1000, 53); }

}  // namespace

TEST_CASE("link layers: an IP packet is found behind each of them", "[parsers][unit]") {
    using T = LinkType;
    const LinkFrame frames[] = {
        {T::null, {2, 0, 0, 0}, v4()},
        {T::null, {0, 0, 0, 2}, v4()},
        {T::null, {10, 0, 0, 0}, v6()},
        {T::null, {23, 0, 0, 0}, v6()},
        {T::openbsd_loopback, {0, 0, 0, 24}, v6()},
        {T::null, {28, 0, 0, 0}, v6()},
        {T::null, {30, 0, 0, 0}, v6()},
        {T::raw_bsd, {}, v4()},
        {T::raw_openbsd, {}, v6()},
        {T::raw_ip, {}, v4()},
        {T::raw_ip, {}, v6()},
        {T::ipv4, {}, v4()},
        {T::ipv6, {}, v6()},
        {T::linux_sll, {0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x08, 0x00}, v4()},
        {T::linux_sll, {0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x86, 0xdd}, v6()},
        {T::linux_sll2, {0x08, 0x00, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0}, v4()},
        {T::ppp, {0x00, 0x21}, v4()},
        {T::ppp, {0xff, 0x03, 0x00, 0x57}, v6()},
        {T::ppp_hdlc, {0xff, 0x03, 0x21}, v4()},
        {T::ppp, {0x57}, v6()},
        {T::pppoe, {0x11, 0, 0, 1, 0, 30, 0x00, 0x21}, v4()},
        {T::cisco_hdlc, {0x0f, 0, 0x08, 0x00}, v4()},
        {T::cisco_hdlc, {0x8f, 0, 0x86, 0xdd}, v6()},
    };
    for (const LinkFrame& frame : frames) {
        CAPTURE(static_cast<int>(frame.link_type), frame.bytes.size());
        const Parsed parsed = parse(frame.view());
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.destination_port == L4Port{53});
        CHECK(parsed.fields.ip_bytes == (parsed.fields.ip_version == 4 ? 28 : 48));
        CHECK(parsed.fields.mac_addresses == nullptr);
    }
}

TEST_CASE("link layers: one that is not there is truncated", "[parsers][unit]") {
    struct Row {
        LinkType type;
        std::size_t header;
        ParseStatus status;
    };
    const std::vector<std::byte> zeros(64);
    for (const Row& row : {Row{LinkType::null, 4, ParseStatus::truncated_link_header},
                           {LinkType::openbsd_loopback, 4, ParseStatus::truncated_link_header},
                           {LinkType::raw_ip, 1, ParseStatus::truncated_link_header},
                           {LinkType::linux_sll, 16, ParseStatus::truncated_link_header},
                           {LinkType::linux_sll2, 20, ParseStatus::truncated_link_header},
                           {LinkType::cisco_hdlc, 4, ParseStatus::truncated_link_header},
                           {LinkType::ppp, 2, ParseStatus::truncated_ppp_header},
                           {LinkType::pppoe, 8, ParseStatus::truncated_ppp_header}}) {
        CAPTURE(static_cast<int>(row.type));
        PacketView view{.captured = std::span(zeros).first(row.header - 1), .link_type = row.type};
        CHECK(parse(view).status == row.status);
        view.captured = std::span(zeros).first(row.header);
        CHECK(parse(view).status != row.status);
    }
}

TEST_CASE("link layers: a payload without an IP packet is ignored by name", "[parsers][unit]") {
    CHECK(parse(LinkFrame(LinkType::null, {7, 0, 0, 0}, v4()).view()).status ==
          ParseStatus::not_ip);
    CHECK(parse(LinkFrame(LinkType::raw_ip, {0x50}, v4()).view()).status == ParseStatus::not_ip);
    CHECK(parse(LinkFrame(LinkType::ppp, {0xc0, 0x21}, v4()).view()).status ==
          ParseStatus::ppp_non_ip);
    CHECK(parse(LinkFrame(LinkType::cisco_hdlc, {0x8f, 0, 0x80, 0x35}, v4()).view()).status ==
          ParseStatus::other_ethertype);
    // Linux SLL writes 4 for 802.2 frames.
    CHECK(
        parse(LinkFrame(LinkType::linux_sll, {0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0, 4}, v4())
                  .view())
            .status == ParseStatus::llc);
}

TEST_CASE("pppoe: a session is stepped over, its control protocols are ignored",
          "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().vlan(3).pppoe(0x0021).ipv4().udp(1, 2).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.outer_vlan == VlanId{3});
    CHECK(parsed.fields.ip_bytes == 28);
    CHECK(parse(ethernet().pppoe(0x0057).ipv6().udp(1, 2).build()).fields.ip_version == 6);
    CHECK(parse(ethernet().pppoe(0xc021).bytes(20).build()).status == ParseStatus::ppp_non_ip);
    CHECK(parse(ethernet().ethertype(0x8863).bytes(20).build()).status ==
          ParseStatus::pppoe_discovery);
    CHECK(parse(ethernet().ethertype(0x8864).bytes(7).build()).status ==
          ParseStatus::truncated_ppp_header);
}

TEST_CASE("pppoe: MPLS inside PPP", "[parsers][unit]") {
    // The label stack entry follows the PPP protocol number, without an ethertype.
    const Frame frame =
        ethernet().pppoe(0x0281).bytes({0x00, 0x01, 0x01, 0x40}).ipv4().udp(1, 2).build();
    const Parsed parsed = parse(frame);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.mpls_labels == 1);
}

TEST_CASE("snap: IP behind LLC and SNAP is metered when configured", "[parsers][unit]") {
    const Frame frame = ethernet().snap().ipv4().udp(1, 2).build();
    CHECK(parse(frame).status == ParseStatus::llc);
    const ParseOptions options{.llc_snap = true};
    const Parsed parsed = parse(frame, options);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.destination_port == L4Port{2});
    CHECK(parse(ethernet().snap().vlan(5).ipv6().build(), options).fields.outer_vlan == VlanId{5});
    CHECK(parse(ethernet().snap().ethertype(0x0806).build(), options).status == ParseStatus::arp);
    CHECK(parse(ethernet().snap().ethertype(1500).build(), options).status == ParseStatus::llc);
    // a vendor's own protocol, and plain LLC
    CHECK(
        parse(ethernet().ethertype(9).bytes({0xaa, 0xaa, 3, 0, 0, 0x0c, 0x08, 0}).build(), options)
            .status == ParseStatus::llc);
    CHECK(
        parse(ethernet().ethertype(3).bytes({0x42, 0x42, 3}).padding(43).build(), options).status ==
        ParseStatus::llc);
    for (std::size_t cut = 14; cut < 22; ++cut) {
        CHECK(parse(frame.cut(cut), options).status == ParseStatus::truncated_link_header);
        CHECK(parse(frame.cut(cut)).status == ParseStatus::llc);
    }
}

}  // namespace tributary::test
