// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/compiled_table.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/table/burst_keys.hpp"
#include "flowcache/table/distinct_counter.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using Texts = std::vector<std::string>;
constexpr TableUse kUse{.parse = {.tunnel = TunnelMode::inner}, .seed = 77};

const std::vector<OwnField> kOwn{
    {.name = "dnsTransactionId",
     .from = OwnFieldBase::payload,
     .offset = 0,
     .octets = 2,
     .as = OwnFieldType::unsigned16,
     .when = "udp port 53"},
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
    {.name = "blob",
     .from = OwnFieldBase::frame,
     .offset = 0,
     .octets = 5,
     .as = OwnFieldType::octet_array},
};

std::unique_ptr<CompiledTable> compiled(Texts key, Texts values = {},
                                        FlowDirection direction = FlowDirection::uniflow,
                                        const TableUse& use = kUse) {
    const TableDeclaration declaration{.name = "test",
                                       .filter = {},
                                       .key = std::move(key),
                                       .values = std::move(values),
                                       .direction = direction};
    return std::make_unique<CompiledTable>(declaration, kOwn, use);
}

std::string fault(Texts key, Texts values = {}, FlowDirection direction = FlowDirection::uniflow,
                  const TableUse& use = kUse) {
    try {
        compiled(std::move(key), std::move(values), direction, use);
    } catch (const TableError& error) {
        return error.what();
    }
    return "good";
}
std::string biflow_fault(Texts key) { return fault(std::move(key), {}, FlowDirection::biflow); }

KeyDescriptor nothing() {
    return {.source = {0, 0},
            .destination = {0, 0},
            .source_port = false,
            .destination_port = false,
            .protocol = false,
            .vlan = false,
            .ingress_interface = false,
            .ip_version = false};
}

/// "name number" of each element, with '*' in the key.
Texts elements_of(const CompiledTable& table) {
    Texts elements;
    if (table.group() != nullptr) {
        for (const FieldElement& element : table.group()->elements) {
            elements.push_back(std::string(element.name) + " " + std::to_string(element.number) +
                               (element.in_key ? "*" : ""));
        }
    }
    return elements;
}
const FieldElement& element(const CompiledTable& table, std::string_view name) {
    for (const FieldElement& each : table.group()->elements) {
        if (each.name == name) {
            return each;
        }
    }
    throw std::runtime_error("no element " + std::string(name));
}

/// A record's group, as a cache handles it.
class Group {
public:
    explicit Group(const CompiledTable& table)
        : row_(*table.group()), octets_(row_.octets), table_(table) {}

    void add(const PacketView& packet, const ParseOptions& parse = kUse.parse) {
        PacketFields fields;
        REQUIRE(parse_packet(packet, parse, fields) == ParseStatus::ok);
        if (packets_++ == 0) {
            if (table_.extractor() != nullptr) {
                table_.extractor()->extract(packet, fields, octets_.data());
            }
            if (row_.begin != nullptr) {
                row_.begin(row_.context, octets_.data(), packet, fields);
            }
        }
        if (row_.add != nullptr) {
            row_.add(row_.context, octets_.data(), packet, fields);
        }
    }
    void add(const Frame& frame) { add(frame.view()); }
    /// The unsigned integer of an element, as in a record that leaves.
    [[nodiscard]] std::uint64_t number(std::string_view name) const {
        std::vector<std::byte> record = octets_;
        if (row_.finish != nullptr) {
            row_.finish(row_.context, record.data());
        }
        const FieldElement& of = element(table_, name);
        std::uint64_t value = 0;
        std::memcpy(&value, record.data() + of.offset, octets_in_group(of));
        return value;
    }
    [[nodiscard]] std::vector<std::byte> octets_of(std::string_view name) const {
        const FieldElement& of = element(table_, name);
        const auto at = octets_.begin() + of.offset;
        return {at, at + static_cast<std::ptrdiff_t>(octets_in_group(of))};
    }
    [[nodiscard]] const std::vector<std::byte>& octets() const { return octets_; }

private:
    const FieldGroup& row_;
    std::vector<std::byte> octets_;
    const CompiledTable& table_;
    int packets_ = 0;
};

Group group_with(const CompiledTable& table, const Frame& frame) {
    Group group(table);
    group.add(frame);
    return group;
}

/// Octets as numbers, for expectations.
std::vector<unsigned> numbers(const std::vector<std::byte>& octets) {
    std::vector<unsigned> made;
    for (const std::byte octet : octets) {
        made.push_back(std::to_integer<unsigned>(octet));
    }
    return made;
}

}  // namespace

TEST_CASE("CompiledTable: a key of FlowKey's fields, is the main table's, and has no group",
          "[flowcache][table][unit]") {
    const auto table =
        compiled({"sourceAddress", "destinationAddress", "sourceTransportPort",
                  "destinationTransportPort", "protocolIdentifier", "vlanId", "ingressInterface"},
                 {"packetDeltaCount", "octetDeltaCount"});
    CHECK(table->key() == KeyDescriptor{});
    CHECK(table->extractor() == nullptr);
    CHECK(table->group() == nullptr);
    CHECK(table->record_octets() == sizeof(FlowRecordCore));
    CHECK_FALSE(table->has_own_fields());
    CHECK(table->fields_beyond_unified_headers().empty());
}

TEST_CASE("CompiledTable: members of FlowKey, only those that are named",
          "[flowcache][table][unit]") {
    const auto key = [](const Texts& texts) { return compiled(texts)->key(); };
    KeyDescriptor expected = nothing();
    expected.destination_port = true;
    CHECK(key({"destinationTransportPort"}) == expected);
    expected = nothing();
    expected.ip_version = true;
    CHECK(key({"ipVersion"}) == expected);
    expected.source = {24, 56};
    CHECK(key({" sourceAddress/24/56 "}) == expected);
    expected.source = {0, 0};
    expected.destination = {32, 0};
    CHECK(key({"destinationAddress/32/0"}) == expected);
}

TEST_CASE("CompiledTable: octets of the key beyond FlowKey, lie at the front in their order",
          "[flowcache][table][unit]") {
    const auto table = compiled({"ipDiffServCodePoint", "sourceAddress", "ethernetType",
                                 "observationTimeSeconds/60", "word"});
    REQUIRE(table->extractor() != nullptr);
    CHECK(table->key().extension == KeyExtension::declared);
    CHECK(table->key().extractor == table->extractor());
    CHECK(table->extractor()->octets() == 16);  // 1 + 2 + 4 + 9
    CHECK_FALSE(table->extractor()->has_sides());
    CHECK(table->group()->key_octets == 16);
    CHECK(table->group()->octets == 16);
    CHECK(table->group()->begin == nullptr);
    CHECK(elements_of(*table) ==
          Texts{"ipDiffServCodePoint 195*", "ethernetType 256*", "observationTimeSeconds 322*",
                "word " + std::to_string(2048 + 8 * slot_of(kOwn[1])) + "*"});
    const Frame frame = ethernet()
                            .vlan(4)
                            .ipv4({.type_of_service = 0xb8})
                            .udp(1, 2)
                            .bytes({'a', 'b', 0, 'x', 'y', 'z', '!', '?'})
                            .build();
    PacketView packet = frame.view();
    packet.seen_at = Timestamp{std::chrono::seconds{121}};
    Group group(*table);
    group.add(packet);
    CHECK(numbers(group.octets()) ==
          std::vector<unsigned>{0x2e, 0x00, 0x08, 120, 0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0, 0, 0});
}

TEST_CASE("CompiledTable: padding of the key, is 0 whatever was there",
          "[flowcache][table][unit]") {
    const auto table = compiled({"ipTTL", "blob"});
    const Frame frame = ethernet().ipv4({.ttl = 9}).udp(1, 2).build();
    PacketFields fields;
    REQUIRE(parse_packet(frame.view(), kUse.parse, fields) == ParseStatus::ok);
    std::vector<std::byte> octets(8, std::byte{0xee});
    table->extractor()->extract(frame.view(), fields, octets.data());
    CHECK(numbers(octets) == std::vector<unsigned>{9, 5, 2, 0, 0, 0, 0, 0});
}

TEST_CASE("CompiledTable: sides, change places in the other direction",
          "[flowcache][table][unit]") {
    const auto table = compiled({"ipTTL", "destinationMacAddress", "tunnelSourceAddress/24/56",
                                 "sourceMacAddress", "tunnelDestinationAddress/24/56"},
                                {}, FlowDirection::biflow);
    CHECK(table->extractor()->has_sides());
    const auto octets = [&table](const Frame& frame) {
        return numbers(group_with(*table, frame).octets());
    };
    const auto frame = [](bool back) {
        return (back ? ethernet(kSourceMac, kDestinationMac) : ethernet())
            .ipv4({.source = back ? "198.51.100.7" : "192.0.2.9",
                   .destination = back ? "192.0.2.8" : "198.51.100.2"})
            .ipv4()
            .udp(1, 2)
            .build();
    };
    std::vector<std::byte> there = group_with(*table, frame(false)).octets();
    CHECK(octets(frame(false)) != octets(frame(true)));
    table->extractor()->swap_sides(there.data());
    CHECK(numbers(there) == octets(frame(true)));
}

TEST_CASE("CompiledTable: prefixes, come with their lengths", "[flowcache][table][unit]") {
    const auto table = compiled({"sourceAddress/24/56", "destinationAddress"});
    CHECK(table->extractor() == nullptr);
    CHECK(elements_of(*table) == Texts{"sourceIPv4PrefixLength 9*", "sourceIPv6PrefixLength 29*"});
    CHECK(element(*table, "sourceIPv4PrefixLength").condition == Condition::ipv4);
    CHECK(element(*table, "sourceIPv6PrefixLength").condition == Condition::ipv6);
    const Group group = group_with(*table, ethernet().ipv4().udp(1, 2).build());
    CHECK(group.number("sourceIPv4PrefixLength") == 24);
    CHECK(group.number("sourceIPv6PrefixLength") == 56);
    CHECK(group.octets().size() == 8);
}

TEST_CASE("CompiledTable: a direction without a packet, has the prefix lengths of the key",
          "[flowcache][table][unit]") {
    const auto table = compiled({"sourceAddress/24/56", "destinationAddress/24/56"}, {"min(ipTTL)"},
                                FlowDirection::biflow);
    const Group group(*table);
    CHECK(group.number("sourceIPv4PrefixLength") == 24);
    CHECK(group.number("destinationIPv6PrefixLength") == 56);
    CHECK(group.number("minimumTTL") == 0);
}

TEST_CASE("CompiledTable: outer addresses, are elements of the IP version that they have",
          "[flowcache][table][unit]") {
    const auto table = compiled({"tunnelSourceAddress/20/40", "tunnelId"});
    CHECK(elements_of(*table) == Texts{"tunnelSourceIPv4Address 3*", "tunnelSourceIPv6Address 5*",
                                       "tunnelId 2*", "tunnelSourceIPv4PrefixLength 20*",
                                       "tunnelSourceIPv6PrefixLength 22*"});
    const auto variant = [&table](const Frame& frame) {
        const Group group = group_with(*table, frame);
        Texts present;
        const std::uint8_t of = table->group()->variant_of(group.octets().data(), 17);
        for (const FieldElement& each : table->group()->elements) {
            if ((each.variants >> of & 1U) != 0) {
                present.push_back(each.name);
            }
        }
        return present;
    };
    const Frame over_ipv4 =
        ethernet().ipv4({.source = "192.0.2.9"}).gre({.key = 5}).ipv4().udp(1, 2).build();
    CHECK(variant(over_ipv4) ==
          Texts{"tunnelSourceIPv4Address", "tunnelId", "tunnelSourceIPv4PrefixLength"});
    CHECK(variant(ethernet().ipv6().gre().ipv4().udp(1, 2).build()) ==
          Texts{"tunnelSourceIPv6Address", "tunnelId", "tunnelSourceIPv6PrefixLength"});
    CHECK(variant(ethernet().ipv4().udp(1, 2).build()) == Texts{"tunnelId"});
    const Group group = group_with(*table, over_ipv4);
    CHECK(numbers(group.octets_of("tunnelSourceIPv4Address")) ==
          std::vector<unsigned>{192, 0, 0, 0});
    CHECK(group.number("tunnelId") == 5);
    CHECK(group.number("tunnelSourceIPv4PrefixLength") == 20);
}

TEST_CASE("CompiledTable: each function, over a list of packets", "[flowcache][table][unit]") {
    const auto table = compiled(
        {"protocolIdentifier"},
        {"sum(ipTTL)", "min(ipTTL)", "max(ipTTL)", "first(ipTTL)", "last(ipTTL)", "or(ipTTL)",
         "min(sourceTransportPort)", "max(sourceTransportPort)", "first(sourceTransportPort)",
         "sum(dataLinkFrameSize)", "min(dataLinkFrameSize)", "max(ipTotalLength)",
         "or(fragmentFlags)", "distinct(sourceAddress)", "distinct( sourceAddress/24/64 )"});
    Group group(*table);
    const auto send = [&group](std::uint8_t ttl, std::uint16_t port, std::size_t payload,
                               const std::string& source, bool dont_fragment) {
        group.add(ethernet()
                      .ipv4({.source = source, .ttl = ttl, .dont_fragment = dont_fragment})
                      .udp(port, 9)
                      .payload(payload)
                      .build());
    };
    send(60, 5000, 100, "192.0.2.1", false);
    send(250, 4000, 0, "192.0.2.2", true);
    send(3, 6000, 50, "192.0.2.1", false);
    send(60, 4500, 7, "198.51.100.2", false);
    CHECK(group.number("sumIpTTL") == 373);
    CHECK(group.number("minimumTTL") == 3);
    CHECK(group.number("maximumTTL") == 250);
    CHECK(group.number("ipTTL") == 60);
    CHECK(group.number("lastIpTTL") == 60);
    CHECK(group.number("orIpTTL") == (60 | 250 | 3));
    CHECK(group.number("minSourceTransportPort") == 4000);
    CHECK(group.number("maxSourceTransportPort") == 6000);
    CHECK(group.number("firstSourceTransportPort") == 5000);
    CHECK(group.number("layer2OctetDeltaCount") == 4 * 42 + 157);
    CHECK(group.number("minimumLayer2TotalLength") == 42);
    CHECK(group.number("maximumIpTotalLength") == 128);
    CHECK(group.number("fragmentFlags") == 0x40);
    CHECK(group.number("distinctCountOfSourceIPAddress") == 3);
    CHECK(group.number("distinctSourceAddress") == 2);
}

TEST_CASE("CompiledTable: own fields, in values", "[flowcache][table][unit]") {
    const auto table = compiled({"dnsTransactionId"}, {"max(dnsTransactionId)", "distinct(word)",
                                                       "distinct(peer)", "sum(dnsTransactionId)"});
    CHECK(table->own_fields() == std::vector<std::size_t>{0, 1, 2});
    Group group(*table);
    for (const std::uint8_t octet : std::array<std::uint8_t, 3>{7, 250, 7}) {
        group.add(ethernet()
                      .ipv4({.source = octet == 7 ? "192.0.2.1" : "192.0.2.2"})
                      .udp(1, 2)
                      .bytes({1, octet, 'w', static_cast<std::uint8_t>('a' + octet % 2), 0, 'x',
                              octet, 0})
                      .build());
    }
    CHECK(group.number("dnsTransactionId") == 0x0107);
    CHECK(group.number("maxDnsTransactionId") == 0x01fa);
    CHECK(group.number("sumDnsTransactionId") == 2 * 0x0107 + 0x01fa);
    CHECK(group.number("distinctWord") == 2);
    CHECK(group.number("distinctPeer") == 2);
}

TEST_CASE("CompiledTable: a value of every function and field, has a name and a number of its own",
          "[flowcache][table][unit]") {
    CHECK(elements_of(*compiled({"sourceAddress"}, {"min(sourceTransportPort)", "sum(vlanId)",
                                                    "distinct(ingressInterface)",
                                                    "or(dnsTransactionId)", "first(tunnelId)"})) ==
          Texts{"minSourceTransportPort " + std::to_string(1024 + 2 * 64 + 3),
                "sumVlanId " + std::to_string(1024 + 64 + 7),
                "distinctIngressInterface " + std::to_string(1024 + 7 * 64 + 8),
                "orDnsTransactionId " + std::to_string(2048 + 8 * slot_of(kOwn[0]) + 6),
                "firstTunnelId " + std::to_string(1024 + 4 * 64 + 40)});
    std::vector<std::uint16_t> seen;
    for (const PacketField& field : packet_fields()) {
        for (unsigned function = 1; function < kValueFunctions; ++function) {
            FieldReference reference;
            reference.field = &field;
            seen.push_back(derived_number(static_cast<ValueFunction>(function), reference));
        }
    }
    for (unsigned slot = 0; slot < OwnField::kSlots; ++slot) {
        const OwnField own{.name = "own", .number = static_cast<std::uint16_t>(slot + 1)};
        for (unsigned function = 0; function < kValueFunctions; ++function) {
            FieldReference reference;
            reference.own = &own;
            seen.push_back(derived_number(static_cast<ValueFunction>(function), reference));
        }
    }
    std::ranges::sort(seen);
    CHECK(std::ranges::adjacent_find(seen) == seen.end());
    CHECK(seen.front() > 1024);
    CHECK(seen.back() < 0x4000);  // the reverse bit of RFC 5103
}

TEST_CASE("CompiledTable: values that each record has, add no element",
          "[flowcache][table][unit]") {
    const auto table =
        compiled({"sourceAddress"}, {"packetDeltaCount", "octetDeltaCount", "sum(ipTotalLength)"});
    CHECK(table->group() == nullptr);
}

TEST_CASE("CompiledTable: class of the first packet, and flags of all, are IANA's elements",
          "[flowcache][table][unit]") {
    const auto table = compiled(
        {"ipVersion"}, {"or(tcpControlBits)", "first(ipClassOfService)", "first(tcpControlBits)"});
    CHECK(elements_of(*table) ==
          Texts{"tcpControlBits 6", "ipClassOfService 5",
                "firstTcpControlBits " + std::to_string(1024 + 4 * 64 + 13)});
    Group group(*table);
    group.add(ethernet().ipv4({.type_of_service = 8}).tcp(1, 2, 0x002).build());
    group.add(ethernet().ipv4({.type_of_service = 9}).tcp(1, 2, 0x110).build());
    CHECK(group.number("tcpControlBits") == 0x112);
    CHECK(group.number("ipClassOfService") == 8);
    CHECK(group.number("firstTcpControlBits") == 0x002);
    CHECK(elements_of(*compiled({"ipClassOfService", "tcpControlBits"})) ==
          Texts{"ipClassOfService 5*", "tcpControlBits 6*"});
}

TEST_CASE("CompiledTable: distinct values, within the stated error", "[flowcache][table][unit]") {
    const auto table = compiled({"ipVersion"}, {"distinct(sourceAddress)"});
    Group group(*table);
    for (unsigned packet = 0; packet < 20'000; ++packet) {
        const unsigned host = packet % 5000;
        Frame frame = ethernet().ipv4().udp(1, 2).build();
        frame.captured[28] = static_cast<std::byte>(host >> 8U);
        frame.captured[29] = static_cast<std::byte>(host);
        group.add(frame);
    }
    const auto counted = static_cast<double>(group.number("distinctCountOfSourceIPAddress"));
    CHECK(std::abs(counted / 5000 - 1) < 3 * DistinctCounter::kStandardError);
}

TEST_CASE("CompiledTable: names of elements, outlive the declaration and the own fields",
          "[flowcache][table][unit]") {
    std::unique_ptr<CompiledTable> table;
    {
        const std::vector<OwnField> own{{.name = "some" + std::string(30, 'x'), .octets = 1}};
        const TableDeclaration declaration{.name = "long" + std::string(20, 'n'),
                                           .filter = {},
                                           .key = {own[0].name},
                                           .values = {"max(" + own[0].name + ")"}};
        table = std::make_unique<CompiledTable>(declaration, own, kUse);
    }
    CHECK(table->group()->name == "long" + std::string(20, 'n'));
    CHECK(table->group()->elements[0].name == "some" + std::string(30, 'x'));
    CHECK(table->group()->elements[1].name == "maxSome" + std::string(30, 'x'));
    CHECK(std::string(table->group()->elements[1].meaning) ==
          "the largest `some" + std::string(30, 'x') + "` of all packets");
}

TEST_CASE("CompiledTable: a packet that ends before an own field, does not match",
          "[flowcache][table][unit]") {
    const auto table = compiled({"dnsTransactionId", "blob"}, {"distinct(peer)"});
    const Frame frame = ethernet().ipv4().udp(1, 2).payload(20).build();
    PacketFields fields;
    REQUIRE(parse_packet(frame.view(), kUse.parse, fields) == ParseStatus::ok);
    for (std::size_t cut = 0; cut <= frame.captured.size(); ++cut) {
        const Frame kept = frame.cut(cut);
        CHECK(table->has_fields(kept.view(), fields) == (cut >= 44));
        std::vector<std::byte> octets(table->group()->octets);
        table->extractor()->extract(kept.view(), fields, octets.data());  // reads nothing behind
    }
    const Frame shorter = ethernet().ipv4().udp(1, 2).payload(1).padding(17).build();
    REQUIRE(parse_packet(shorter.view(), kUse.parse, fields) == ParseStatus::ok);
    CHECK_FALSE(table->has_fields(shorter.view(), fields));
}

TEST_CASE("CompiledTable: a number over the end of a word, is whole", "[flowcache][table][unit]") {
    const auto table =
        compiled({"ethernetType", "observationTimeSeconds/1", "ipTotalLength", "ipTTL"});
    CHECK(table->extractor()->octets() == 16);
    CHECK(table->extractor()->used_octets() == 11);
    PacketView packet;
    const Frame frame = ethernet().ipv4({.ttl = 9}).udp(1, 2).payload(0x0203 - 28).build();
    packet = frame.view();
    packet.seen_at = Timestamp{std::chrono::seconds{0x0908'0706}};
    Group group(*table);
    group.add(packet);
    CHECK(numbers(group.octets()) ==
          std::vector<unsigned>{0x00, 0x08, 6, 7, 8, 9, 3, 2, 0, 0, 9, 0, 0, 0, 0, 0});
}

TEST_CASE("BurstKeys: keys and own fields, are those of each packet alone",
          "[flowcache][table][unit]") {
    const std::vector<Frame> frames{
        ethernet().ipv4({.type_of_service = 0xb8}).udp(1, 2).payload(20).build(),
        ethernet().vlan(7).ipv4().udp(3, 53).payload(9).build(),
        ethernet().ipv6().tcp(1, 2).payload(3).build(),
        ethernet().ipv4({.ttl = 3}).ipv4().udp(1, 2).payload(14).build(),
        ethernet().ipv4().udp(1, 2).payload(1).padding(17).build()};
    for (const Texts& key : {Texts{"ipDiffServCodePoint", "dnsTransactionId"},
                             Texts{"observationTimeSeconds/60", "sourceMacAddress", "peer", "ipTTL",
                                   "ethernetType", "word", "tunnelSourceAddress"},
                             Texts{"blob"}, Texts{"sourceAddress/24/56", "ipTotalLength"},
                             Texts{"sourceAddress/24/56"}}) {
        const auto table = compiled(key, {"last(dnsTransactionId)"});
        std::vector<Frame> cut;
        for (const Frame& frame : frames) {
            for (std::size_t octets = 40; octets < 56; octets += 2) {
                cut.push_back(frame.cut(octets));
            }
        }
        std::vector<PacketView> views;
        std::vector<PacketFields> fields;
        for (std::size_t place = 0; place < cut.size(); ++place) {
            PacketFields parsed;
            if (parse_packet(cut[place].view(), kUse.parse, parsed) == ParseStatus::ok) {
                views.push_back(cut[place].view());
                fields.push_back(parsed);
            }
        }
        REQUIRE(views.size() > 20);
        BurstKeys keys(*table);
        for (int turn = 0; turn < 2; ++turn) {  // what was there before leaves no trace
            keys.clear();
            for (std::size_t place = 0; place < views.size(); ++place) {
                keys.add(std::array{PacketAtHand(views[place], fields[place])});
            }
            const PacketMask with_fields = keys.read();
            CHECK(keys.packets().size() == views.size());
            for (std::size_t place = 0; place < views.size(); ++place) {
                const bool has_fields = (with_fields & mask_of(place)) != 0;
                CHECK(has_fields == table->has_fields(views[place], fields[place]));
                if (table->extractor() == nullptr) {
                    continue;  // own fields in values alone
                }
                std::vector<std::byte> octets(table->extractor()->octets());
                table->extractor()->extract(views[place], fields[place], octets.data());
                CHECK(
                    (!has_fields || std::equal(octets.begin(), octets.end(), keys.octets(place))));
            }
            CHECK(with_fields != 0);
        }
    }
}

TEST_CASE("CompiledTable: fields that unified headers do not carry, are named",
          "[flowcache][table][unit]") {
    const auto table = compiled({"sourceAddress", "sourceMacAddress", "ipTTL"},
                                {"max(tunnelId)", "distinct(tunnelId)", "last(dnsTransactionId)"});
    CHECK(table->fields_beyond_unified_headers() ==
          Texts{"sourceMacAddress", "tunnelId", "dnsTransactionId"});
    CHECK_FALSE(table->group()->in_unified_headers);
}

TEST_CASE("TableError: says which list an entry is in", "[flowcache][table][unit]") {
    CHECK(fault({"sourceAdress"}) ==
          "key: 'sourceAdress': there is no such field; did you mean sourceAddress?");
    CHECK(fault({"sourceAddress"}, {"avg(ipTTL)"}) ==
          "values: 'avg(ipTTL)': there is no function 'avg'; they are sum, min, max, first, last, "
          "or, distinct");
}

TEST_CASE("TableError: a key that is empty, too long, or has a field twice",
          "[flowcache][table][unit]") {
    CHECK(fault({}) == "key: at least one field, as in [sourceAddress, destinationAddress]");
    CHECK(fault({"ipTTL", " ipTTL"}) == "key: 'ipTTL': the key has ipTTL already");
    CHECK(fault({"sourceAddress", "sourceAddress/24/56"}) ==
          "key: 'sourceAddress/24/56': the key has sourceAddress already");
    Texts key;
    std::vector<OwnField> own;
    for (char letter = 'a'; letter < 'f'; ++letter) {
        own.push_back(
            {.name = std::string(1, letter), .octets = 32, .as = OwnFieldType::octet_array});
        key.push_back(own.back().name);
    }
    const auto compile = [&] {
        return CompiledTable({.name = "long", .filter = {}, .key = key, .values = {}}, own, kUse)
            .extractor()
            ->octets();
    };
    CHECK_THROWS_WITH(compile(),
                      "key: its fields beside addresses, ports, protocol, VLAN id and interface "
                      "take 165 octets, more than 128");
    key.resize(3);
    CHECK(compile() == 104);
}

TEST_CASE("TableError: two elements of one name", "[flowcache][table][unit]") {
    CHECK(fault({"sourceAddress"}, {"max(ipTTL)", "max( ipTTL )"}) ==
          "values: records would have two elements maximumTTL");
    CHECK(fault({"ipTTL"}, {"first(ipTTL)"}) ==
          "values: records would have two elements ipTTL: it is in the key, so that all packets of "
          "a flow have the same");
    CHECK(fault({"ipTTL"}, {"distinct(sourceAddress/24/56)", "distinct(sourceAddress/16/56)"}) ==
          "values: records would have two elements distinctSourceAddress");
    CHECK(fault({"ipTTL"}, {"distinct(sourceAddress/24/56)", "distinct(sourceAddress)"}) == "good");
}

TEST_CASE("TableError: records that are too long", "[flowcache][table][unit]") {
    CHECK(fault({"sourceAddress"}, {"distinct(ipTTL)", "distinct(vlanId)"}) == "good");
    CHECK(
        fault({"sourceAddress"}, {"distinct(ipTTL)", "distinct(vlanId)", "distinct(ipVersion)"}) ==
        "its records take 1064 octets, more than 840; distinct() takes 328 each, in biflows "
        "twice");
    const Texts both{"sourceAddress", "destinationAddress"};
    CHECK(fault(both, {"distinct(ipTTL)"}, FlowDirection::biflow) == "good");
    CHECK(fault(both, {"distinct(ipTTL)", "distinct(vlanId)"}, FlowDirection::biflow)
              .starts_with("its records take "));
}

TEST_CASE("TableError: biflows whose key has not both sides alike", "[flowcache][table][unit]") {
    CHECK(biflow_fault({"sourceAddress", "destinationAddress"}) == "good");
    CHECK(biflow_fault({"sourceMacAddress", "destinationMacAddress", "ipTTL"}) == "good");
    CHECK(biflow_fault({"sourceAddress/24/56", "ipTTL"}) ==
          "direction: in biflows the key has both sides alike: beside 'sourceAddress/24/56' it "
          "needs 'destinationAddress/24/56'");
    CHECK(biflow_fault({"sourceAddress/24/56", "destinationAddress/24/64"}) ==
          "direction: in biflows the key has both sides alike: beside 'sourceAddress/24/56' it "
          "needs 'destinationAddress/24/56'");
    CHECK(biflow_fault({"destinationTransportPort"}) ==
          "direction: in biflows the key has both sides alike: beside 'destinationTransportPort' "
          "it needs 'sourceTransportPort'");
    CHECK(biflow_fault({"ipTTL", "dnsTransactionId"}) ==
          "direction: in biflows the key has fields of source and destination, such as "
          "sourceAddress and destinationAddress; this one has none");
}

TEST_CASE("TableError: fields of tunnels, where the outer packet is metered",
          "[flowcache][table][unit]") {
    const TableUse outer{.parse = {.tunnel = TunnelMode::outer}, .seed = 1};
    const std::string why =
        ": packets inside tunnels are metered, and so have one, with "
        "flows.tunnel: inner alone";
    CHECK(fault({"tunnelId"}, {}, FlowDirection::uniflow, outer) == "key: 'tunnelId'" + why);
    CHECK(fault({"ipTTL"}, {"distinct(tunnelSourceAddress)"}, FlowDirection::uniflow, outer) ==
          "values: 'tunnelSourceAddress'" + why);
}

TEST_CASE("TableError: names of tables that can't be", "[flowcache][table][unit]") {
    const auto named = [](const std::string& name) -> std::string {
        try {
            const CompiledTable table({.name = name, .filter = {}, .key = {"ipTTL"}, .values = {}},
                                      {}, kUse);
        } catch (const TableError& error) {
            return error.what();
        }
        return "good";
    };
    CHECK(named("by-subnet-2") == "good");
    CHECK(named(std::string(32, 'n')) == "good");
    CHECK(named("main") == "name: 'main' is the table that is always there; choose another name");
    for (const std::string name : {"", "Subnets", "2nd", "-a", "a_b", "a b"}) {
        CHECK(named(name) == "name: '" + name +
                                 "' is no name of a table: a small letter, then small letters, "
                                 "digits and '-', at most 32");
    }
    CHECK(named(std::string(33, 'n')).starts_with("name: 'nnn"));
}
