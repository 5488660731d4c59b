// SPDX-License-Identifier: Apache-2.0
#include "parsers/unified_header.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/packet_builder.hpp"
#include "tests/unit/parsers/octets.hpp"
#include "tests/unit/parsers/parsed.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace unified_header;

namespace {

using Record = std::array<std::byte, kRecordBytes>;

Record written(const PacketView& packet, ParseStatus status, const PacketFields& fields) {
    Record record;
    record.fill(std::byte{0xee});
    write_unified_header(packet, status, fields, record.data());
    return record;
}

struct Read {
    bool is_plain{};
    ParseStatus status{};
    PacketFields fields;
    PacketView packet;
};

Read read(const Record& record) {
    Read result;
    result.is_plain = read_unified_header(record.data(), result.fields, result.packet);
    result.status = status_of_unified_header(record.data());
    return result;
}

PacketFields udp_fields() {
    PacketFields fields;
    fields.source = ip_address("192.0.2.1");
    fields.destination = ip_address("198.51.100.2");
    fields.source_port = {40000};
    fields.destination_port = {53};
    fields.ip_bytes = 48;
    fields.ip_version = 4;
    fields.protocol = 17;
    fields.ttl = 64;
    return fields;
}

}  // namespace

TEST_CASE("write_unified_header: the octets are those of docs/unified-header.md",
          "[parsers][unit]") {
    PacketFields fields = udp_fields();
    fields.protocol = 6;
    fields.tcp_control_bits = 0x012;
    fields.fragment_flags = fragment_flag::kDontFragment;
    fields.outer_vlan = {100};
    fields.vlan_tags = 2;
    fields.ip_class_of_service = 0xb8;
    const PacketView packet{.wire_bytes = 66,
                            .ingress_interface = {7},
                            .seen_at = Timestamp{Timestamp::duration{0x1717'2b3c'4d5e'6f70}}};
    const Record expected = octets<kRecordBytes>({
        192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,     // source
        198, 51, 100, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  // destination
        0x70, 0x6f, 0x5e, 0x4d, 0x3c, 0x2b, 0x17, 0x17,       // time
        0x40, 0x9c, 53, 0,                                    // ports
        48, 0, 0, 0, 66, 0, 0, 0, 7, 0, 0, 0,                 // IP and wire length,
                                                              // interface
        0x12, 0x40,                                           // SYN and ACK, don't fragment
        100, 0x10,                                            // VLAN 100, there is a tag
        6, 0xb8, 64, 0,                                       // protocol, class, TTL, ok
    });
    CHECK(written(packet, ParseStatus::ok, fields) == expected);
}

TEST_CASE("unified headers: each field comes back as it was, and touches no other",
          "[parsers][unit]") {
    const PacketView packet{.wire_bytes = 0xfedc'ba98, .ingress_interface = {0x8765'4321}};
    using Change = std::function<void(PacketFields&)>;
    const std::vector<std::pair<std::string, Change>> changes{
        {"nothing", [](PacketFields&) {}},
        {"IPv6",
         [](PacketFields& f) {
             f.ip_version = 6;
             f.source = ip_address("2001:db8:1:2:3:4:5:6");
             f.destination = ip_address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
         }},
        {"source port", [](PacketFields& f) { f.source_port = {0xffff}; }},
        {"destination port", [](PacketFields& f) { f.destination_port = {0xff01}; }},
        {"IP length", [](PacketFields& f) { f.ip_bytes = 0xffff'ffff; }},
        {"TCP control bits", [](PacketFields& f) { f.tcp_control_bits = 0xfff; }},
        {"one TCP control bit", [](PacketFields& f) { f.tcp_control_bits = 0x800; }},
        {"VLAN id",
         [](PacketFields& f) {
             f.outer_vlan = {0xfff};
             f.vlan_tags = 1;
         }},
        {"priority tag", [](PacketFields& f) { f.vlan_tags = 1; }},
        {"protocol", [](PacketFields& f) { f.protocol = 255; }},
        {"class of service", [](PacketFields& f) { f.ip_class_of_service = 255; }},
        {"TTL", [](PacketFields& f) { f.ttl = 255; }},
        {"don't fragment",
         [](PacketFields& f) { f.fragment_flags = fragment_flag::kDontFragment; }},
        {"more fragments",
         [](PacketFields& f) { f.fragment_flags = fragment_flag::kMoreFragments; }},
        {"later fragment", [](PacketFields& f) { f.is_later_fragment = true; }},
        {"cut options", [](PacketFields& f) { f.cut_header = CutHeader::ipv4_options; }},
        {"cut extension", [](PacketFields& f) { f.cut_header = CutHeader::ipv6_extension_header; }},
        {"cut transport", [](PacketFields& f) { f.cut_header = CutHeader::transport_header; }},
        {"cut tunnel", [](PacketFields& f) { f.cut_header = CutHeader::tunnel_header; }},
    };
    for (const auto& [what, change] : changes) {
        INFO(what);
        PacketFields fields = udp_fields();
        change(fields);
        const Read result = read(written(packet, ParseStatus::ok, fields));
        CHECK(result.status == ParseStatus::ok);
        CHECK(result.is_plain == (fields.cut_header == CutHeader::none));
        CHECK(result.fields == fields);
        CHECK(result.packet.wire_bytes == packet.wire_bytes);
        CHECK(result.packet.ingress_interface == packet.ingress_interface);
    }
}

TEST_CASE("read_unified_header: any octets are read as docs/unified-header.md says",
          "[parsers][unit]") {
    std::mt19937_64 random(1);
    const auto octet = [&random] { return static_cast<std::byte>(random() >> 56U); };
    Read result;  // whatever is read next replaces all that was read before
    for (int n = 0; n < 100'000; ++n) {
        Record record;
        std::ranges::generate(record, octet);
        if (n % 2 == 0) {
            record[63] = std::byte{0};
        }
        const auto at = [&record](std::size_t place) {
            return std::to_integer<std::uint32_t>(record[place]);
        };
        const std::uint32_t flags_1 = at(56) | at(57) << 8U;
        const std::uint32_t flags_2 = at(58) | at(59) << 8U;
        PacketFields expected;
        std::copy_n(record.begin(), 16, expected.source.begin());
        std::copy_n(record.begin() + 16, 16, expected.destination.begin());
        expected.source_port = {static_cast<std::uint16_t>(at(40) | at(41) << 8U)};
        expected.destination_port = {static_cast<std::uint16_t>(at(42) | at(43) << 8U)};
        expected.ip_bytes = at(44) | at(45) << 8U | at(46) << 16U | at(47) << 24U;
        expected.tcp_control_bits = flags_1 & 0x0fffU;
        expected.is_later_fragment = (flags_1 >> 12U & 1U) != 0;
        expected.fragment_flags = static_cast<std::uint8_t>(
            ((flags_1 >> 13U & 1U) != 0 ? fragment_flag::kMoreFragments : 0) |
            ((flags_1 >> 14U & 1U) != 0 ? fragment_flag::kDontFragment : 0));
        expected.ip_version = (flags_1 >> 15U & 1U) != 0 ? 6 : 4;
        expected.outer_vlan = {static_cast<std::uint16_t>(flags_2 & 0x0fffU)};
        expected.vlan_tags = static_cast<std::uint8_t>(flags_2 >> 12U & 1U);
        expected.cut_header = static_cast<CutHeader>(flags_2 >> 13U & 7U);
        expected.protocol = static_cast<std::uint8_t>(at(60));
        expected.ip_class_of_service = static_cast<std::uint8_t>(at(61));
        expected.ttl = static_cast<std::uint8_t>(at(62));

        const bool is_plain = read_unified_header(record.data(), result.fields, result.packet);
        INFO(n);
        REQUIRE(result.fields == expected);
        REQUIRE(is_plain == (at(63) == 0 && flags_2 >> 13U == 0));
    }
}

TEST_CASE("read_unified_header: any octets give a view as docs/unified-header.md says",
          "[parsers][unit]") {
    std::mt19937_64 random(2);
    for (int n = 0; n < 10'000; ++n) {
        Record record;
        std::ranges::generate(record,
                              [&random] { return static_cast<std::byte>(random() >> 56U); });
        Timestamp::rep time = 0;
        std::uint32_t wire_bytes = 0;
        std::uint32_t interface = 0;
        std::memcpy(&time, record.data() + 32, sizeof time);
        std::memcpy(&wire_bytes, record.data() + 48, sizeof wire_bytes);
        std::memcpy(&interface, record.data() + 52, sizeof interface);
        PacketFields fields;
        PacketView packet{.captured = record, .link_type = LinkType::raw_ip};
        std::ignore = read_unified_header(record.data(), fields, packet);
        REQUIRE(packet.captured.data() == record.data());
        REQUIRE(packet.captured.size() == record.size());
        REQUIRE(packet.wire_bytes == wire_bytes);
        REQUIRE(packet.link_type == LinkType::ethernet);
        REQUIRE(packet.ingress_interface == InterfaceIndex{interface});
        REQUIRE(packet.seen_at == Timestamp{Timestamp::duration{time}});
        REQUIRE(packet.clock == packet.seen_at);
    }
}

TEST_CASE("unified headers: times come back unjudged", "[parsers][unit]") {
    for (const std::int64_t nanoseconds :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
        const PacketView packet{.seen_at = Timestamp{Timestamp::duration{nanoseconds}}};
        const Read result = read(written(packet, ParseStatus::arp, {}));
        CHECK(result.packet.seen_at == packet.seen_at);
    }
}

TEST_CASE("unified headers: fields that they do not carry are absent", "[parsers][unit]") {
    PacketFields fields = udp_fields();
    const std::array<std::byte, 64> frame{};
    fields.outer_vlan = {5};
    fields.customer_vlan = {6};
    fields.vlan_tags = 3;
    fields.mpls_labels = 2;
    fields.mpls_stack = frame.data();
    fields.mac_addresses = frame.data();
    fields.fragment_id = fields.flow_label = 0xabcd;
    fields.tunnel = {.addresses = frame.data(), .id = 5, .kind = TunnelKind::gre, .ip_version = 4};
    PacketFields expected = udp_fields();
    expected.outer_vlan = {5};
    expected.vlan_tags = 1;
    CHECK(read(written({}, ParseStatus::ok, fields)).fields == expected);
}

TEST_CASE("write_unified_header: a packet that is ignored leaves nothing else in its record",
          "[parsers][unit]") {
    PacketFields old;  // as the parser may leave it
    std::memset(static_cast<void*>(&old), 0xee, sizeof old);
    const PacketView packet{
        .wire_bytes = 60, .ingress_interface = {3}, .seen_at = Timestamp{Timestamp::duration{5}}};
    Record expected{};
    expected[record_at::kTime] = std::byte{5};
    expected[record_at::kWireBytes] = std::byte{60};
    expected[record_at::kInterface] = std::byte{3};
    expected[record_at::kStatus] = std::byte{3};
    CHECK(written(packet, ParseStatus::arp, old) == expected);
}

TEST_CASE("unified headers: status and cut header are a sender's, or unknown", "[parsers][unit]") {
    for (unsigned number = 0; number < 256; ++number) {
        Record record{};
        record[record_at::kStatus] = static_cast<std::byte>(number);
        const Read result = read(record);
        INFO(number);
        CHECK(result.is_plain == (number == 0));
        // 21 to 24 are a receiver's.
        CHECK(result.status == (number <= 20 ? static_cast<ParseStatus>(number)
                                             : ParseStatus::unknown_parse_status));
    }
    for (unsigned cut = 0; cut < 8; ++cut) {
        Record record{};
        record[record_at::kVlanAndCutHeader + 1] = static_cast<std::byte>(cut << 5U);
        const Read result = read(record);
        INFO(cut);
        CHECK(result.is_plain == (cut == 0));
        CHECK(result.status == (cut <= 4 ? ParseStatus::ok : ParseStatus::unknown_parse_status));
    }
}

TEST_CASE("unified headers: the numbers on the wire are those of docs/unified-header.md",
          "[parsers][unit]") {
    const std::vector<std::string> statuses{"ok",
                                            "unknown_link_type",
                                            "not_ip",
                                            "arp",
                                            "llc",
                                            "mpls_non_ip",
                                            "pppoe_discovery",
                                            "ppp_non_ip",
                                            "other_ethertype",
                                            "truncated_link_header",
                                            "truncated_vlan_tag",
                                            "truncated_mpls_label",
                                            "truncated_ppp_header",
                                            "truncated_ipv4_header",
                                            "bad_ipv4_version",
                                            "bad_ipv4_header_length",
                                            "bad_ipv4_total_length",
                                            "truncated_ipv6_header",
                                            "bad_ipv6_version",
                                            "truncated_ipv6_extension_header",
                                            "not_sampled",
                                            "not_unified_header",
                                            "bad_unified_header_version",
                                            "bad_unified_header_length",
                                            "unknown_parse_status"};
    REQUIRE(statuses.size() == kParseStatusCount);
    for (std::size_t number = 0; number < statuses.size(); ++number) {
        CHECK(name_of(static_cast<ParseStatus>(number)) == statuses[number]);
    }
    const std::vector<std::string> cuts{"none", "ipv4_options", "ipv6_extension_header",
                                        "transport_header", "tunnel_header"};
    REQUIRE(cuts.size() == kCutHeaderCount);
    for (std::size_t number = 0; number < cuts.size(); ++number) {
        CHECK(name_of(static_cast<CutHeader>(number)) == cuts[number]);
    }
}

TEST_CASE("write_unified_segment: the octets are those of docs/unified-header.md",
          "[parsers][unit]") {
    PacketFields fields;
    fields.has_tcp_segment = true;
    fields.tcp = {.sequence = 0x0102'0304,
                  .acknowledgement = 0x1112'1314,
                  .payload_bytes = 0x0000'05b4,
                  .window = 0x2122,
                  .copy_id = 0x3132};
    std::array<std::byte, kSegmentBytes> segment{};
    write_unified_segment(ParseStatus::ok, fields, segment.data());
    CHECK(segment == octets<kSegmentBytes>({4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11, 0xb4, 5, 0, 0, 0x22,
                                            0x21, 0x32, 0x31}));
    PacketFields again;
    read_unified_segment(segment.data(), again);
    CHECK(again == fields);

    write_unified_segment(ParseStatus::ok, {}, segment.data());
    CHECK(segment ==
          octets<kSegmentBytes>({0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}));
    read_unified_segment(segment.data(), again);
    CHECK_FALSE(again.has_tcp_segment);

    write_unified_segment(ParseStatus::arp, fields, segment.data());
    CHECK(segment == std::array<std::byte, kSegmentBytes>{});
}

TEST_CASE("unified headers: of parsed packets they carry the parser's fields", "[parsers][unit]") {
    const std::vector<Frame> frames{
        ethernet().vlan(100).vlan(7).ipv4({.ttl = 9, .dont_fragment = true}).udp(1, 2).build(),
        ethernet().ipv6({.traffic_class = 0xfc, .hop_limit = 3}).tcp(443, 65535, 0x1ff).build(),
        ethernet().ipv4({.more_fragments = true}).udp(1, 2).payload(24).build(),
        ethernet().ipv4({.fragment_offset = 3}).payload(24).build(),
        ethernet().ipv6().icmp_v6(128, 1).build(),
    };
    for (const Frame& frame : frames) {
        const Parsed parsed = parse(frame);
        REQUIRE(parsed.status == ParseStatus::ok);
        PacketFields carried = parsed.fields;
        carried.customer_vlan = {};
        carried.vlan_tags = std::min<std::uint8_t>(carried.vlan_tags, 1);
        carried.mac_addresses = nullptr;
        carried.fragment_id = carried.flow_label = 0;
        CHECK(read(written(frame.view(), parsed.status, parsed.fields)).fields == carried);
    }
}
