// SPDX-License-Identifier: Apache-2.0
#include "parsers/ethernet.hpp"

#include <algorithm>

#include "tests/unit/parsers/parsed.hpp"

namespace tributary::test {

TEST_CASE("parse_packet: an unknown link type is ignored by that name", "[parsers][unit]") {
    const Frame frame = ethernet().ipv4().udp(1, 2).build();
    PacketView packet = frame.view();
    packet.link_type = static_cast<LinkType>(147);
    CHECK(parse(packet).status == ParseStatus::unknown_link_type);
}

TEST_CASE("ethernet: the MAC addresses are found inside the frame", "[parsers][unit]") {
    const MacAddress destination{1, 2, 3, 4, 5, 6};
    const MacAddress source{7, 8, 9, 10, 11, 12};
    const Frame frame = ethernet(destination, source).vlan(1).ipv4().udp(1, 2).build();
    const Parsed parsed = parse(frame);
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.mac_addresses == frame.captured.data());
    CHECK(std::to_integer<int>(parsed.fields.mac_addresses[0]) == 1);
    CHECK(std::to_integer<int>(parsed.fields.mac_addresses[6]) == 7);
}

TEST_CASE("ethernet: a frame without bytes is a truncated link header", "[parsers][unit]") {
    CHECK(parse(PacketView{}).status == ParseStatus::truncated_link_header);
}

TEST_CASE("ethernet: a payload that is not IP is ignored by its own name", "[parsers][unit]") {
    struct Row {
        std::uint16_t ethertype;
        ParseStatus status;
    };
    for (const Row& row : {Row{0x0806, ParseStatus::arp},
                           {0x8035, ParseStatus::other_ethertype},
                           {0x0000, ParseStatus::llc},
                           {1500, ParseStatus::llc},
                           {1501, ParseStatus::other_ethertype},
                           {0x8863, ParseStatus::pppoe_discovery},
                           {0x88cc, ParseStatus::other_ethertype},
                           {0x0801, ParseStatus::other_ethertype},
                           {0xffff, ParseStatus::other_ethertype}}) {
        CAPTURE(row.ethertype);
        CHECK(parse(ethernet().ethertype(row.ethertype).bytes(46).build()).status == row.status);
        CHECK(parse(ethernet().vlan(9).ethertype(row.ethertype).build()).status == row.status);
    }
}

TEST_CASE("vlan: an untagged frame has no tag and VLAN 0", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().ipv4().udp(1, 2).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.vlan_tags == 0);
    CHECK(parsed.fields.outer_vlan == VlanId{0});
    CHECK(parsed.fields.customer_vlan == VlanId{0});
}

TEST_CASE("vlan: every tag type carries an id in its low 12 bits", "[parsers][unit]") {
    for (const int tpid : {0x8100, 0x88a8, 0x9100, 0x9200, 0x9300}) {
        CAPTURE(tpid);
        const Parsed parsed =
            parse(ethernet().vlan(0xf064, static_cast<std::uint16_t>(tpid)).ipv6().build());
        REQUIRE(parsed.status == ParseStatus::ok);
        CHECK(parsed.fields.vlan_tags == 1);
        CHECK(parsed.fields.outer_vlan == VlanId{0x064});
        CHECK(parsed.fields.customer_vlan == VlanId{0});
    }
}

TEST_CASE("vlan: with three tags the first two ids are read", "[parsers][unit]") {
    const Parsed parsed =
        parse(ethernet().vlan(100, 0x88a8).vlan(200).vlan(300).ipv4().udp(7, 8).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.vlan_tags == 3);
    CHECK(parsed.fields.outer_vlan == VlanId{100});
    CHECK(parsed.fields.customer_vlan == VlanId{200});
    CHECK(parsed.fields.destination_port == L4Port{8});
}

TEST_CASE("vlan: a priority tag counts as a tag with VLAN 0", "[parsers][unit]") {
    const Parsed parsed = parse(ethernet().vlan(0xe000).vlan(5).ipv4().build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.vlan_tags == 2);
    CHECK(parsed.fields.outer_vlan == VlanId{0});
    CHECK(parsed.fields.customer_vlan == VlanId{5});
}

TEST_CASE("vlan: the number of tags saturates", "[parsers][unit]") {
    PacketBuilder builder = ethernet();
    for (std::uint16_t id = 1; id <= 300; ++id) {
        builder.vlan(id);
    }
    const Parsed parsed = parse(builder.ipv4().udp(1, 2).build());
    REQUIRE(parsed.status == ParseStatus::ok);
    CHECK(parsed.fields.vlan_tags == 255);
    CHECK(parsed.fields.outer_vlan == VlanId{1});
    CHECK(parsed.fields.customer_vlan == VlanId{2});
    CHECK(parsed.fields.destination_port == L4Port{2});
}

TEST_CASE("vlan: tags to the end of the frame are a truncated tag", "[parsers][unit]") {
    CHECK(parse(ethernet().vlan(1).vlan(2).ethertype(0x8100).build()).status ==
          ParseStatus::truncated_vlan_tag);
}

}  // namespace tributary::test
