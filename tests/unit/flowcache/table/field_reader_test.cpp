// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/field_reader.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parsers/parse_packet.hpp"
#include "tests/support/capture_frames.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr ParseOptions kInner{.tunnel = TunnelMode::inner, .mpls_pseudowires = true};

/// A reader of a field of the catalogue, with the octets that its encoding has in a record.
FieldReader reader_of(const PacketField& field, const AddressMasks* masks = nullptr,
                      std::uint32_t interval = 1) {
    static const AddressMasks kWhole{AddressPrefix{}};
    return FieldReader(field, octets_of(field.encoding), masks != nullptr ? masks : &kWhole,
                       interval);
}
FieldReader reader_of(std::string_view name) { return reader_of(*find_packet_field(name)); }

std::vector<std::byte> written(const FieldReader& reader, const PacketView& packet,
                               const PacketFields& fields, const ParseOptions& options = kInner) {
    std::vector<std::byte> octets(40);
    reader.write({packet, fields, locate_headers(packet, fields, options)}, octets.data());
    return octets;
}
std::vector<std::byte> written(const FieldReader& reader, const Frame& frame) {
    PacketFields fields;
    REQUIRE(parse_packet(frame.view(), kInner, fields) == ParseStatus::ok);
    return written(reader, frame.view(), fields);
}
template <class Value>
std::vector<std::byte> padded(const Value& value) {
    std::vector<std::byte> octets(40);
    std::memcpy(octets.data(), &value, sizeof value);
    return octets;
}
std::vector<std::byte> padded(const std::byte* from, std::size_t size) {
    std::vector<std::byte> octets(40);
    if (from != nullptr) {
        std::memcpy(octets.data(), from, size);
    }
    return octets;
}

using Expected = std::function<std::vector<std::byte>(const PacketView&, const PacketFields&)>;

/// An EtherType, read by its place behind the tags.
std::uint16_t ether_type(const PacketView& packet, const PacketFields& fields) {
    const CapturedBytes frame(packet.captured);
    std::size_t at = 12;
    for (unsigned tag = 0; tag < fields.vlan_tags && frame.hold(at, 2); ++tag) {
        at += std::set<unsigned>{0x8100, 0x88a8, 0x9100, 0x9200, 0x9300}.contains(
                  frame.header<2>(at).u16<0>())
                  ? 4
                  : 0;
    }
    return packet.link_type == LinkType::ethernet ? frame.header<2>(at).u16<0>() : 0;
}

std::vector<std::byte> outer_address(const PacketFields& fields, bool is_destination) {
    const std::size_t size = fields.tunnel.ip_version == 4 ? 4 : 16;
    const std::byte* const at = fields.tunnel.addresses;
    return padded(at == nullptr ? at : at + (is_destination ? size : 0), size);
}

/// What parse_packet() says of each field, written apart from the catalogue.
std::map<std::string, Expected> expectations() {
    using V = const PacketView&;
    using F = const PacketFields&;
    std::map<std::string, Expected> all{
        {"sourceAddress", [](V, F f) { return padded(f.source); }},
        {"destinationAddress", [](V, F f) { return padded(f.destination); }},
        {"sourceTransportPort", [](V, F f) { return padded(f.source_port.value); }},
        {"destinationTransportPort", [](V, F f) { return padded(f.destination_port.value); }},
        {"protocolIdentifier", [](V, F f) { return padded(f.protocol); }},
        {"ipVersion", [](V, F f) { return padded(f.ip_version); }},
        {"vlanId", [](V, F f) { return padded(f.outer_vlan.value); }},
        {"ingressInterface", [](V v, F) { return padded(v.ingress_interface.value); }},
        {"ipDiffServCodePoint",
         [](V, F f) { return padded(static_cast<std::uint8_t>(f.ip_class_of_service / 4)); }},
        {"ipClassOfService", [](V, F f) { return padded(f.ip_class_of_service); }},
        {"ipTTL", [](V, F f) { return padded(f.ttl); }},
        {"ipTotalLength", [](V, F f) { return padded(f.ip_bytes); }},
        {"tcpControlBits", [](V, F f) { return padded(f.tcp_control_bits); }},
        {"fragmentFlags", [](V, F f) { return padded(f.fragment_flags); }},
        {"fragmentIdentification", [](V, F f) { return padded(f.fragment_id); }},
        {"flowLabelIPv6", [](V, F f) { return padded(f.flow_label); }},
        {"dot1qCustomerVlanId", [](V, F f) { return padded(f.customer_vlan.value); }},
        {"vlanTagCount", [](V, F f) { return padded(f.vlan_tags); }},
        {"destinationMacAddress", [](V, F f) { return padded(f.mac_addresses, 6); }},
        {"sourceMacAddress",
         [](V, F f) {
             return padded(f.mac_addresses == nullptr ? nullptr : f.mac_addresses + 6, 6);
         }},
        {"ethernetType", [](V v, F f) { return padded(ether_type(v, f)); }},
        {"mplsLabelStackDepth", [](V, F f) { return padded(f.mpls_labels); }},
        {"tunnelType", [](V, F f) { return padded(f.tunnel.kind); }},
        {"tunnelId", [](V, F f) { return padded(f.tunnel.id); }},
        {"tunnelSourceAddress", [](V, F f) { return outer_address(f, false); }},
        {"tunnelDestinationAddress", [](V, F f) { return outer_address(f, true); }},
        {"dataLinkFrameSize",
         [](V v, F) { return padded(static_cast<std::uint16_t>(std::min(v.wire_bytes, 65535U))); }},
        {"observationTimeSeconds",
         [](V v, F) {
             return padded(
                 static_cast<std::uint32_t>(v.seen_at.time_since_epoch().count() / 1'000'000'000));
         }},
    };
    const auto icmp = [](unsigned version, unsigned protocol, auto part) {
        return [=](V, F f) {
            const bool is_it = f.ip_version == version && f.protocol == protocol;
            return padded(part(is_it ? f.destination_port.value : std::uint16_t{0}));
        };
    };
    const auto whole = [](std::uint16_t port) { return port; };
    const auto type = [](std::uint16_t port) { return static_cast<std::uint8_t>(port / 256); };
    const auto code = [](std::uint16_t port) { return static_cast<std::uint8_t>(port % 256); };
    all["icmpTypeCodeIPv4"] = icmp(4, 1, whole);
    all["icmpTypeCodeIPv6"] = icmp(6, 58, whole);
    all["icmpTypeIPv4"] = icmp(4, 1, type);
    all["icmpCodeIPv4"] = icmp(4, 1, code);
    all["icmpTypeIPv6"] = icmp(6, 58, type);
    all["icmpCodeIPv6"] = icmp(6, 58, code);
    for (std::size_t section = 1; section <= 10; ++section) {
        const std::string name = section == 1 ? "mplsTopLabelStackSection"
                                              : "mplsLabelStackSection" + std::to_string(section);
        all[name] = [section](V, F f) {
            return padded(section <= f.mpls_labels ? f.mpls_stack + 4 * (section - 1) : nullptr, 3);
        };
    }
    return all;
}

Frame many_labels() {
    PacketBuilder frame = ethernet();
    for (std::uint32_t label = 1; label < 12; ++label) {
        frame.mpls(label * 1000, false);
    }
    return frame.mpls(77).ipv4().udp(1, 2).build();
}

/// Frames of what the captures do not show.
std::vector<Frame> further_frames() {
    return {many_labels(),
            ethernet().vlan(5).vlan(6).ipv6({.flow_label = 0x12345}).icmp_v6(3, 1).build(),
            ethernet().ipv4({.type_of_service = 0xb9}).icmp(3, 13).build(),
            ethernet().ipv6().fragment(0, true).udp(1, 2).build(),
            ethernet().snap().ipv4().udp(1, 2).build()};
}

/// A field of the user's own.
FieldReader own(OwnFieldBase from, unsigned offset, unsigned octets, OwnFieldType as) {
    return FieldReader(OwnField{.name = "own",
                                .from = from,
                                .offset = static_cast<std::uint16_t>(offset),
                                .octets = static_cast<std::uint8_t>(octets),
                                .as = as});
}

}  // namespace

TEST_CASE("FieldReader: each field of each packet of all captures, is what the parser says",
          "[flowcache][table][unit]") {
    const std::map<std::string, Expected> expected = expectations();
    REQUIRE(expected.size() == packet_fields().size());
    std::map<std::string, std::size_t> wrong;
    std::map<std::string, std::size_t> not_zero;
    const auto check = [&](const PacketView& packet) {
        PacketFields fields;
        if (parse_packet(packet, kInner, fields) != ParseStatus::ok) {
            return;
        }
        for (const PacketField& field : packet_fields()) {
            const std::string name(field.name);
            const auto value = written(reader_of(field), packet, fields);
            wrong[name] += value == expected.at(name)(packet, fields) ? 0 : 1;
            not_zero[name] += value == std::vector<std::byte>(40) ? 0 : 1;
        }
    };
    for (const std::string& path : captures_in(TRIBUTARY_SOURCE)) {
        const CaptureFrames capture(path);
        for (const PacketView& packet : capture.frames()) {
            check(packet);
        }
    }
    for (const Frame& frame : further_frames()) {
        check(frame.view());
    }
    for (const PacketField& field : packet_fields()) {
        INFO(field.name);
        CHECK(wrong[std::string(field.name)] == 0);
        CHECK(not_zero[std::string(field.name)] > 0);
    }
}

TEST_CASE("FieldReader: an EtherType field that is a length, or cut, is 0",
          "[flowcache][table][unit]") {
    const FieldReader reader = reader_of("ethernetType");
    const Frame snap = ethernet().snap().ipv4().udp(1, 2).build();
    CHECK(reader.number({snap.view(), {}}) == 0);
    const Frame tagged = ethernet().vlan(4).ipv4().udp(1, 2).build();
    CHECK(reader.number({tagged.view(), {}}) == 0x0800);
    for (std::size_t cut = 0; cut < 18; ++cut) {
        const Frame frame = tagged.cut(cut);
        CHECK(reader.number({frame.view(), {}}) == 0);
    }
    PacketView raw = tagged.view();
    raw.link_type = LinkType::raw_ip;
    CHECK(reader.number({raw, {}}) == 0);
}

TEST_CASE("FieldReader: a length that its octets do not hold, is the largest that they do",
          "[flowcache][table][unit]") {
    const PacketView packet{.wire_bytes = 70'000};
    CHECK(reader_of("dataLinkFrameSize").number({packet, {}}) == 65'535);
    const FieldReader wide(*find_packet_field("dataLinkFrameSize"), 4, nullptr, 1);
    CHECK(wide.number({packet, {}}) == 70'000);
}

TEST_CASE("FieldReader: a time, is the multiple of the interval before it",
          "[flowcache][table][unit]") {
    const PacketField& time = *find_packet_field("observationTimeSeconds");
    const auto at = [&time](std::uint32_t interval, std::chrono::nanoseconds since_1970) {
        const PacketView packet{.seen_at = Timestamp{since_1970}};
        return reader_of(time, nullptr, interval).number({packet, {}});
    };
    using namespace std::chrono_literals;
    CHECK(at(60, 1'600'000'020s) == 1'600'000'020);
    CHECK(at(60, 1'600'000'019s + 999'999'999ns) == 1'599'999'960);
    CHECK(at(1, 1'600'000'019s + 999'999'999ns) == 1'600'000'019);
    CHECK(at(86'400, 1s) == 0);
    CHECK(at(7, 0xFFFF'FFFEs) == 0xFFFF'FFFE - 0xFFFF'FFFE % 7);
}

TEST_CASE("FieldReader: prefixes, keep the leading bits of the packet's IP version",
          "[flowcache][table][unit]") {
    const AddressMasks masks{{.ipv4 = 21, .ipv6 = 61}};
    const FieldReader source = reader_of(*find_packet_field("sourceAddress"), &masks);
    const FieldReader outer = reader_of(*find_packet_field("tunnelSourceAddress"), &masks);
    const Ipv4Header v4{.source = "192.0.255.255"};
    const Ipv6Header v6{.source = "2001:db8:ffff:ffff:ffff::1"};
    CHECK(written(source, ethernet().ipv4(v4).udp(1, 2).build()) ==
          padded(ip_address("192.0.248.0")));
    CHECK(written(source, ethernet().ipv6(v6).udp(1, 2).build()) ==
          padded(ip_address("2001:db8:ffff:fff8::")));
    const Frame in_v4 = ethernet().ipv4(v4).ipv6().udp(1, 2).build();
    CHECK(written(outer, in_v4) == padded(ip_address("192.0.248.0")));
    CHECK(written(outer, ethernet().ipv6(v6).ipv4().udp(1, 2).build()) ==
          padded(ip_address("2001:db8:ffff:fff8::")));
    CHECK(written(outer, ethernet().ipv4(v4).udp(1, 2).build()) == std::vector<std::byte>(40));
    const AddressMasks none{{.ipv4 = 0, .ipv6 = 128}};
    CHECK(written(reader_of(*find_packet_field("sourceAddress"), &none),
                  ethernet().ipv4(v4).udp(1, 2).build()) == std::vector<std::byte>(40));
}

TEST_CASE("FieldReader: octets behind an IPv4 address, which unified headers leave, do not count",
          "[flowcache][table][unit]") {
    PacketFields fields;
    fields.ip_version = 4;
    fields.source.fill(std::byte{0xee});
    CHECK(written(reader_of("sourceAddress"), {}, fields) == padded(std::uint32_t{0xeeee'eeee}));
    PacketFields clean = fields;
    std::fill(clean.source.begin() + 4, clean.source.end(), std::byte{0});
    CHECK(reader_of("sourceAddress").hash({{}, fields}, 5) ==
          reader_of("sourceAddress").hash({{}, clean}, 5));
}

TEST_CASE("FieldReader: own fields of each type, lie as records have them",
          "[flowcache][table][unit]") {
    const Frame frame = ethernet()
                            .ipv4()
                            .udp(1, 2)
                            .bytes({1, 2, 3, 4, 5, 6, 7, 8, 'a', '\n', 'z', 0, 'x', 9, 10, 11})
                            .build();
    using T = OwnFieldType;
    const auto value = [&frame](unsigned offset, unsigned octets, T as) {
        return written(own(OwnFieldBase::payload, offset, octets, as), frame);
    };
    CHECK(value(3, 1, T::unsigned8) == padded(std::uint8_t{4}));
    CHECK(value(0, 2, T::unsigned16) == padded(std::uint16_t{0x0102}));
    CHECK(value(1, 3, T::unsigned32) == padded(std::uint32_t{0x020304}));
    CHECK(value(0, 8, T::unsigned64) == padded(std::uint64_t{0x0102030405060708}));
    CHECK(value(0, 4, T::ipv4_address) == padded(frame.captured.data() + 42, 4));
    CHECK(value(0, 6, T::mac_address) == padded(frame.captured.data() + 42, 6));
    CHECK(value(0, 16, T::ipv6_address) == padded(frame.captured.data() + 42, 16));
    const auto text = [](std::string octets) {
        octets.insert(octets.begin(), static_cast<char>(octets.size()));
        return padded(reinterpret_cast<const std::byte*>(octets.data()), octets.size());
    };
    CHECK(value(8, 8, T::string) == text("a.z"));
    CHECK(value(8, 3, T::string) == text("a.z"));
    CHECK(value(11, 4, T::string) == text(""));
    CHECK(value(8, 5, T::octet_array) == text(std::string("a\nz\0x", 5)));
    CHECK(own(OwnFieldBase::payload, 0, 32, T::string).record_octets() == 33);
    CHECK(own(OwnFieldBase::payload, 0, 7, T::octet_array).record_octets() == 8);
    CHECK(own(OwnFieldBase::payload, 0, 3, T::unsigned32).record_octets() == 4);
}

TEST_CASE("FieldReader: own fields of each base, cut at every length, are there or not",
          "[flowcache][table][unit]") {
    const Frame frame = ethernet().vlan(3).ipv4().tcp(0x1122, 7).payload(8).padding(6).build();
    struct Case {
        OwnFieldBase from;
        unsigned offset;
        std::size_t ends;  ///< in the frame
        std::uint64_t value;
    };
    const std::size_t captured = frame.captured.size();
    for (const Case& each : {Case{OwnFieldBase::frame, 12, 14, 0x8100},
                             {OwnFieldBase::l3, 0, 20, 0x4500},
                             {OwnFieldBase::l4, 0, 40, 0x1122},
                             {OwnFieldBase::payload, 6, 66, 0}}) {
        const FieldReader reader = own(each.from, each.offset, 2, OwnFieldType::unsigned16);
        CHECK(reader.is_own());
        CHECK((reader.header_need() == HeaderNeed::none) == (each.from == OwnFieldBase::frame));
        CHECK((reader.header_need() == HeaderNeed::payload) ==
              (each.from == OwnFieldBase::payload));
        PacketFields fields;
        REQUIRE(parse_packet(frame.view(), {}, fields) == ParseStatus::ok);
        for (std::size_t cut = 0; cut <= captured; ++cut) {
            const Frame kept = frame.cut(cut);
            const PacketView view = kept.view();
            const PacketAtHand at_hand{view, fields, locate_headers(view, fields, {})};
            // A payload needs TCP's header, and another base that of IP.
            INFO(static_cast<int>(each.from) << " cut at " << cut);
            REQUIRE(reader.is_there(at_hand) == (cut >= each.ends));
            REQUIRE(reader.number(at_hand) == (cut >= each.ends ? each.value : 0));
        }
    }
    // Padding is the frame's, not the packet's.
    PacketFields fields;
    REQUIRE(parse_packet(frame.view(), {}, fields) == ParseStatus::ok);
    const PacketView view = frame.view();
    const PacketAtHand at_hand{view, fields, locate_headers(view, fields, {})};
    CHECK(own(OwnFieldBase::payload, 7, 1, OwnFieldType::unsigned8).is_there(at_hand));
    CHECK_FALSE(own(OwnFieldBase::payload, 8, 1, OwnFieldType::unsigned8).is_there(at_hand));
    CHECK(own(OwnFieldBase::frame, static_cast<unsigned>(captured - 1), 1, OwnFieldType::unsigned8)
              .is_there(at_hand));
}

TEST_CASE("FieldReader: own fields of headers that a packet does not have, are not there",
          "[flowcache][table][unit]") {
    const auto is_there = [](const Frame& frame, OwnFieldBase from) {
        PacketFields fields;
        REQUIRE(parse_packet(frame.view(), kInner, fields) == ParseStatus::ok);
        const PacketView view = frame.view();
        return own(from, 0, 1, OwnFieldType::unsigned8)
            .is_there({view, fields, locate_headers(view, fields, kInner)});
    };
    const Frame later = ethernet().ipv4({.fragment_offset = 3}).payload(30).build();
    CHECK(is_there(later, OwnFieldBase::l3));
    CHECK_FALSE(is_there(later, OwnFieldBase::l4));
    CHECK_FALSE(is_there(later, OwnFieldBase::payload));
    const Frame esp = ethernet().ipv4().ports(50, 1, 2).payload(30).build();
    CHECK(is_there(esp, OwnFieldBase::l4));
    CHECK_FALSE(is_there(esp, OwnFieldBase::payload));
}

TEST_CASE("FieldReader: equal values have one hash, others another, under each seed its own",
          "[flowcache][table][unit]") {
    const FieldReader source = reader_of("sourceAddress");
    const auto hash = [&source](const Frame& frame, std::uint64_t seed) {
        PacketFields fields;
        REQUIRE(parse_packet(frame.view(), kInner, fields) == ParseStatus::ok);
        return source.hash({frame.view(), fields}, seed).value();
    };
    const Frame one = ethernet().ipv4({.source = "192.0.2.1", .ttl = 1}).udp(1, 2).build();
    const Frame same = ethernet().vlan(3).ipv4({.source = "192.0.2.1"}).tcp(3, 4).build();
    const Frame v6 = ethernet().ipv6({.source = "c000:201::"}).udp(1, 2).build();
    CHECK(hash(one, 1) == hash(same, 1));
    CHECK(hash(one, 1) != hash(v6, 1));
    CHECK(hash(one, 1) != hash(one, 2));
    PacketFields no_mac;
    CHECK_FALSE(reader_of("sourceMacAddress").hash({one.view(), no_mac}, 1).has_value());
    CHECK_FALSE(reader_of("mplsLabelStackSection2").hash({one.view(), no_mac}, 1).has_value());
    CHECK_FALSE(reader_of("tunnelSourceAddress").hash({one.view(), no_mac}, 1).has_value());
    CHECK(reader_of("vlanId").hash({one.view(), no_mac}, 1).has_value());
}
