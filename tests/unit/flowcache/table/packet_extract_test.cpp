// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/packet_extract.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/field_reference.hpp"
#include "flowcache/table/packet_field.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using Octets = std::vector<std::byte>;
constexpr ParseOptions kParse{.tunnel = TunnelMode::inner};

const std::vector<OwnField> kExtractedFields{
    {.name = "number", .from = OwnFieldBase::payload, .octets = 2, .as = OwnFieldType::unsigned16},
    {.name = "word",
     .from = OwnFieldBase::l4,
     .offset = 8,
     .octets = 8,
     .as = OwnFieldType::string},
    {.name = "peer",
     .from = OwnFieldBase::l3,
     .offset = 12,
     .octets = 4,
     .as = OwnFieldType::ipv4_address},
    {.name = "blob", .from = OwnFieldBase::frame, .octets = 5, .as = OwnFieldType::octet_array},
};

/// Frames of all kinds: tags, labels, tunnels, both IP versions.
std::vector<Frame> random_frames(std::mt19937& random, std::size_t count) {
    std::vector<Frame> frames;
    const auto host = [&random](const std::string& net) {
        return net + std::to_string(1 + random() % 5);
    };
    for (std::size_t i = 0; i < count; ++i) {
        PacketBuilder packet =
            random() % 2 == 0 ? ethernet() : ethernet(kSourceMac, kDestinationMac);
        if (random() % 4 == 0) {
            packet.vlan(static_cast<std::uint16_t>(random() % 9));
        }
        const auto ttl = static_cast<std::uint8_t>(random());
        switch (random() % 4) {
            case 0:
                packet.ipv6({.source = host("2001:db8::"), .destination = host("2001:db8:1::")});
                break;
            case 1:
                packet.ipv4({.source = host("10.9.0.")}).gre({.key = random() % 3});
                packet.ipv4({.source = host("10.0.0."), .ttl = ttl});
                break;
            case 2:
                packet.mpls(static_cast<std::uint32_t>(16 + random() % 4));
                packet.ipv4({.source = host("10.0.0."), .ttl = ttl});
                break;
            default:
                packet.ipv4({.source = host("10.0.0."),
                             .destination = host("10.0.1."),
                             .type_of_service = static_cast<std::uint8_t>(random()),
                             .ttl = ttl,
                             .dont_fragment = random() % 2 == 0});
        }
        const auto port = static_cast<std::uint16_t>(random() % 4);
        if (random() % 3 == 0) {
            packet.tcp(port, 80, static_cast<std::uint16_t>(random() % 64));
        } else {
            packet.udp(port, 53);
        }
        frames.push_back(packet
                             .bytes({static_cast<std::uint8_t>(random()),
                                     static_cast<std::uint8_t>('a' + random() % 3), 'x', 0, 1, 2})
                             .payload(random() % 50)
                             .build());
    }
    return frames;
}

/// A declaration with some of all fields, and some functions of them.
TableDeclaration random_declaration(std::mt19937& random) {
    TableDeclaration declaration;
    declaration.name = "random";
    std::vector<std::string> names;
    for (const PacketField& field : packet_fields()) {
        const bool is_time = field.source == FieldSource::time;
        names.push_back(std::string(field.name) + (is_time ? "/60" : ""));
    }
    for (const OwnField& own : kExtractedFields) {
        names.push_back(own.name);
    }
    for (std::size_t count = 1 + random() % 6; count > 0; --count) {
        declaration.key.push_back(names[random() % names.size()]);
    }
    for (std::size_t count = random() % 6; count > 0; --count) {
        const auto function = static_cast<ValueFunction>(1 + random() % (kValueFunctions - 1));
        declaration.values.push_back(std::string(name_of(function)) + "(" +
                                     names[random() % names.size()] + ")");
    }
    return declaration;
}

/// @return  nullptr: the declaration has a fault, in either form
std::unique_ptr<CompiledTable> compiled(const TableDeclaration& declaration, TablePackets packets) {
    try {
        return std::make_unique<CompiledTable>(
            declaration, kExtractedFields,
            TableUse{.parse = kParse, .seed = 77, .packets = packets});
    } catch (const TableError&) {
        return nullptr;
    }
}

/// A packet as it comes out of a ring.
struct Arrived {
    Arrived(const CompiledTable& table, const PacketView& sent, const PacketFields& sent_fields)
        : octets(table.gathered_octets()) {
        PacketExtract extract;
        extract.take(sent, sent_fields, 7);
        table.gather(sent, sent_fields, octets.data());
        extract.give(octets, packet, fields);
        CHECK(extract.number == 7);
    }

    Octets octets;
    PacketView packet;
    PacketFields fields;
};

/// The group of a record as a cache makes it.
class AccountedGroup {
public:
    explicit AccountedGroup(const CompiledTable& table) : table_(table) {
        if (table.group() != nullptr) {
            octets_.resize(table.group()->octets);
        }
    }
    void add(const PacketView& packet, const PacketFields& fields) {
        const FieldGroup* const row = table_.group();
        if (row == nullptr) {
            return;
        }
        if (is_first_) {
            if (table_.extractor() != nullptr) {
                table_.extractor()->extract(packet, fields, octets_.data());
            }
            if (row->begin != nullptr) {
                row->begin(row->context, octets_.data(), packet, fields);
            }
        }
        is_first_ = false;
        if (row->add != nullptr) {
            row->add(row->context, octets_.data(), packet, fields);
        }
    }
    [[nodiscard]] Octets finished() {
        const FieldGroup* const row = table_.group();
        if (row != nullptr && row->finish != nullptr) {
            row->finish(row->context, octets_.data());
        }
        return octets_;
    }

private:
    const CompiledTable& table_;
    Octets octets_;
    bool is_first_ = true;
};

}  // namespace

TEST_CASE("PacketExtract: it has all that FlowKey and counts are made of, and no pointer",
          "[flowcache][table][unit]") {
    const Frame frame = ethernet().vlan(4).mpls(5).ipv4({.ttl = 3}).tcp(1000, 80).build();
    PacketView sent = frame.view();
    sent.seen_at = Timestamp{std::chrono::seconds{5}};
    sent.clock = Timestamp{std::chrono::seconds{6}};
    sent.ingress_interface = InterfaceIndex{9};
    PacketFields fields;
    ParseOptions parse = kParse;
    parse.mac_addresses = MacMode::inner;
    parse.tcp_segments = true;
    REQUIRE(parse_packet(sent, parse, fields) == ParseStatus::ok);
    REQUIRE(fields.mpls_stack != nullptr);

    PacketExtract extract;
    extract.take(sent, fields, 1);
    PacketView packet;
    PacketFields given;
    extract.give({}, packet, given);
    CHECK(packet.seen_at == sent.seen_at);
    CHECK(packet.clock == sent.clock);
    CHECK(packet.ingress_interface == sent.ingress_interface);
    CHECK(packet.wire_bytes == sent.wire_bytes);
    CHECK(packet.captured.empty());
    PacketFields expected = fields;
    expected.mac_addresses = nullptr;
    expected.mpls_stack = nullptr;
    expected.tunnel = {};
    expected.tcp = {};
    expected.has_tcp_segment = false;
    CHECK(given == expected);
}

TEST_CASE("CompiledTable: from gathered packets, it makes the key and the group of whole ones",
          "[flowcache][table][unit]") {
    std::mt19937 random(38);
    std::size_t good = 0;
    std::size_t with_values = 0;
    while (good < 300) {
        const TableDeclaration declaration = random_declaration(random);
        const auto whole = compiled(declaration, TablePackets::whole);
        const auto gathered = compiled(declaration, TablePackets::gathered);
        REQUIRE((whole == nullptr) == (gathered == nullptr));
        if (whole == nullptr) {
            continue;
        }
        ++good;
        with_values += declaration.values.empty() ? 0 : 1;
        CHECK(gathered->gathered_octets() % 8 == 0);
        CHECK(gathered->record_octets() == whole->record_octets());
        AccountedGroup direct(*whole);
        AccountedGroup from_ring(*gathered);
        for (const Frame& frame : random_frames(random, 20)) {
            PacketView packet = frame.view();
            packet.seen_at = Timestamp{std::chrono::seconds{1 + random() % 1'000'000}};
            PacketFields fields;
            REQUIRE(parse_packet(packet, kParse, fields) == ParseStatus::ok);
            Arrived arrived(*gathered, packet, fields);
            direct.add(packet, fields);
            from_ring.add(arrived.packet, arrived.fields);
            if (whole->extractor() != nullptr) {
                Octets key(whole->extractor()->octets(), std::byte{0xee});
                Octets same(key.size(), std::byte{0xdd});
                whole->extractor()->extract(packet, fields, key.data());
                gathered->extractor()->extract(arrived.packet, arrived.fields, same.data());
                CHECK(same == key);
            }
        }
        CHECK(from_ring.finished() == direct.finished());
    }
    CHECK(with_values > 100);
}
