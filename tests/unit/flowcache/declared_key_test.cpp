// SPDX-License-Identifier: Apache-2.0
#include "flowcache/declared_key.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/declared_group.hpp"
#include "tests/support/other_direction.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kBeginsWith = 1'000'000;
constexpr std::size_t kBytes = 280;
using DeclaredKeyHarness = CacheHarness<kBytes>;

/// A table that was declared: its group is in the table of field groups as long as this.
class Declared {
public:
    Declared(KeyDescriptor key, FlowDirection direction, bool has_macs)
        : extractor_(has_macs), row_(declared_group(kBeginsWith)) {
        id_ = add_field_group(row_).value();
        options.max_flows = 1U << 16U;
        options.direction = direction;
        options.key = key;
        options.key.extension = KeyExtension::declared;
        options.key.extractor = &extractor_;
        options.key.extension_group = static_cast<std::uint8_t>(id_);
        FieldGroups groups;
        groups.set(id_);
        layout = RecordLayout::of(groups, direction);
    }
    Declared(const Declared&) = delete;
    Declared& operator=(const Declared&) = delete;
    ~Declared() { remove_field_group(id_); }

    [[nodiscard]] const DeclaredGroup& there(DeclaredKeyHarness::Cache::Record& record) const {
        return record.group<DeclaredGroup>(layout.places[id_]);
    }
    [[nodiscard]] const DeclaredGroup& back(DeclaredKeyHarness::Cache::Record& record) const {
        return record.group<DeclaredGroup>(layout.reverse_places[id_]);
    }

    FlowCacheOptions options;
    RecordLayout layout;

private:
    DeclaredExtractor extractor_;
    FieldGroup row_;
    FieldGroupId id_{};
};

/// Neither addresses nor anything else: what is declared is the whole key.
KeyDescriptor nothing_else() {
    KeyDescriptor key;
    key.source = key.destination = {.ipv4 = 0, .ipv6 = 0};
    key.source_port = key.destination_port = false;
    key.protocol = key.vlan = key.ingress_interface = key.ip_version = false;
    return key;
}

/// Packets of few hosts, of both IP versions, with few values of what is declared.
struct Packets {
    using MacAddresses = std::array<std::byte, 12>;

    explicit Packets(std::uint32_t seed, std::size_t count) {
        std::mt19937 random(seed);
        macs.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            MacAddresses& mac = macs.emplace_back();
            mac[5] = static_cast<std::byte>(random() % 4);
            mac[11] = static_cast<std::byte>(random() % 4);
            PacketFields one{};
            one.ip_version = random() % 2 == 0 ? 4 : 6;
            one.source[0] = static_cast<std::byte>(1 + random() % 3);
            one.destination[0] = static_cast<std::byte>(1 + random() % 3);
            one.source_port = {static_cast<std::uint16_t>(1 + random() % 3)};
            one.destination_port = {static_cast<std::uint16_t>(1 + random() % 3)};
            one.protocol = ip_protocol::kUdp;
            one.ip_bytes = 100;
            one.ip_class_of_service = static_cast<std::uint8_t>(random() % 16);
            one.ttl = static_cast<std::uint8_t>(1 + random() % 200);
            one.mac_addresses = mac.data();
            fields.push_back(one);
        }
    }

    std::vector<MacAddresses> macs;
    std::vector<PacketFields> fields;
};

std::vector<DeclaredKeyHarness::Cache::Record> records_of(const Declared& table,
                                                          const Packets& packets) {
    DeclaredKeyHarness harness(table.options, table.layout);
    for (const PacketFields& fields : packets.fields) {
        harness.packet(fields, at_ms(1000));
    }
    return biflow::end_all(harness, at_ms(1000));
}

/// One end: first octet of its address, port, MAC address.
using End = std::tuple<std::uint8_t, std::uint16_t, std::uint8_t>;
/// IP version, DSCP, source, destination.
using Flow = std::tuple<std::uint8_t, std::uint8_t, End, End>;

Flow swapped(const Flow& flow) {
    const auto& [version, dscp, source, destination] = flow;
    return {version, dscp, destination, source};
}

struct Values {
    std::uint64_t packets{};
    std::uint64_t sum{};
    unsigned smallest = 255;
    unsigned largest = 0;
    unsigned first = 0;
    friend bool operator==(const Values&, const Values&) = default;
};

Flow flow_of(const PacketFields& fields, const KeyDescriptor& key, bool has_macs) {
    const DeclaredOctets octets = DeclaredExtractor::of(fields, has_macs);
    const bool has_addresses = key.source.ipv4 != 0;
    const auto end = [&](const IpAddress& address, L4Port port, bool has_port, std::uint8_t mac) {
        return End{has_addresses ? std::to_integer<std::uint8_t>(address[0]) : std::uint8_t{0},
                   has_port ? port.value : std::uint16_t{0}, mac};
    };
    return {key.ip_version ? fields.ip_version : std::uint8_t{4}, octets.dscp,
            end(fields.source, fields.source_port, key.source_port, octets.source_mac),
            end(fields.destination, fields.destination_port, key.destination_port,
                octets.destination_mac)};
}
Flow flow_of(const FlowKey& key, const DeclaredOctets& octets) {
    return {
        key.ip_version, octets.dscp,
        End{std::to_integer<std::uint8_t>(key.source[0]), key.source_port.value, octets.source_mac},
        End{std::to_integer<std::uint8_t>(key.destination[0]), key.destination_port.value,
            octets.destination_mac}};
}
Values values_of(const DeclaredGroup& group, std::uint64_t packets) {
    CHECK(group.range_of_ttl == group.largest_ttl - group.smallest_ttl);
    return {packets, group.sum_of_ttl - kBeginsWith, group.smallest_ttl, group.largest_ttl,
            group.first_ttl};
}

std::map<Flow, Values> expected_of(const Packets& packets, const KeyDescriptor& key,
                                   bool has_macs) {
    std::map<Flow, Values> flows;
    for (const PacketFields& fields : packets.fields) {
        Values& values = flows[flow_of(fields, key, has_macs)];
        values.first = values.packets == 0 ? fields.ttl : values.first;
        ++values.packets;
        values.sum += fields.ttl;
        values.smallest = std::min<unsigned>(values.smallest, fields.ttl);
        values.largest = std::max<unsigned>(values.largest, fields.ttl);
    }
    return flows;
}

constexpr std::size_t kDeclaredPackets = 20'000;

}  // namespace

TEST_CASE("Declared key: uniflows have the packets with equal octets", "[flowcache][unit]") {
    const bool has_macs = GENERATE(false, true);
    const bool is_alone = GENERATE(false, true);
    const Packets packets(1, kDeclaredPackets);
    const Declared table(is_alone ? nothing_else() : KeyDescriptor{}, FlowDirection::uniflow,
                         has_macs);
    auto records = records_of(table, packets);
    std::map<Flow, Values> flows;
    for (auto& record : records) {
        const DeclaredGroup& group = table.there(record);
        flows[flow_of(record.core.key, group.key)] = values_of(group, record.core.packets);
    }
    CHECK(flows.size() == records.size());
    CHECK(flows == expected_of(packets, table.options.key, has_macs));
}

namespace {

/// A key, and where its ShortKeys have room for one octet; nothing: nowhere.
struct Room {
    KeyDescriptor key;
    std::optional<std::size_t> place;
};

KeyDescriptor without(bool KeyDescriptor::*member) {
    KeyDescriptor key;
    key.*member = false;
    return key;
}

std::vector<Room> rooms() {
    KeyDescriptor nets;
    nets.source = {.ipv4 = 32, .ipv6 = 64};
    nets.destination = {.ipv4 = 24, .ipv6 = 24};
    KeyDescriptor unlike = nets;  // IPv6 has the octet in its key
    unlike.destination = {.ipv4 = 24, .ipv6 = 56};
    return {{.key = {}, .place = {}},
            {.key = nothing_else(), .place = 0},
            {.key = nets, .place = 7},
            {.key = unlike, .place = {}},
            {.key = without(&KeyDescriptor::source_port), .place = 8},
            {.key = without(&KeyDescriptor::destination_port), .place = 10},
            {.key = without(&KeyDescriptor::vlan), .place = 12},
            {.key = without(&KeyDescriptor::protocol), .place = 14},
            {.key = without(&KeyDescriptor::ingress_interface), .place = {}}};
}

}  // namespace

TEST_CASE("KeyMasks: room for octets, is what no member of a key has", "[flowcache][unit]") {
    for (const Room& room : rooms()) {
        CHECK(KeyMasks(room.key).free_octets(1) == room.place);
    }
    const KeyMasks alone(nothing_else());
    CHECK(alone.free_octets(8) == 0);
    KeyDescriptor nets = nothing_else();
    nets.ip_version = true;
    nets.source = nets.destination = {.ipv4 = 24, .ipv6 = 56};
    CHECK(KeyMasks(nets).free_octets(7) == 8);
    CHECK(KeyMasks(nets).free_octets(8) == std::nullopt);
    nets.protocol = nets.vlan = true;
    CHECK(KeyMasks(nets).free_octets(4) == 8);
    CHECK(KeyMasks(nets).free_octets(5) == std::nullopt);
    nets.source_port = nets.destination_port = true;
    CHECK(KeyMasks(nets).free_octets(1) == std::nullopt);
}

TEST_CASE(
    "Declared key: octets in the place of members that are not in the key, stay out of records",
    "[flowcache][unit]") {
    const Packets packets(9, kDeclaredPackets);
    for (const Room& room : rooms()) {
        const Declared table(room.key, FlowDirection::uniflow, false);
        CHECK(DeclaredKey(table.layout, table.options.key).is_in_short_key() ==
              room.place.has_value());
        auto records = records_of(table, packets);
        std::map<Flow, Values> flows;
        for (auto& record : records) {
            const DeclaredGroup& group = table.there(record);
            const FlowKey& key = record.core.key;
            FlowKey expected{.source_port = key.source_port,
                             .destination_port = key.destination_port,
                             .protocol = room.key.protocol ? ip_protocol::kUdp : std::uint8_t{0},
                             .ip_version = key.ip_version,
                             .ingress_interface = {room.key.ingress_interface ? 1U : 0U}};
            expected.source[0] = key.source[0];
            expected.destination[0] = key.destination[0];
            REQUIRE(key == expected);
            flows[flow_of(key, group.key)] = values_of(group, record.core.packets);
        }
        CHECK(flows.size() == records.size());
        CHECK(flows == expected_of(packets, room.key, false));
    }
}

TEST_CASE("Declared key: biflows have both directions, whose ends change places",
          "[flowcache][unit]") {
    const bool has_macs = GENERATE(false, true);
    const bool is_alone = GENERATE(false, true);
    const Packets packets(2, kDeclaredPackets);
    const Declared table(is_alone ? nothing_else() : KeyDescriptor{}, FlowDirection::biflow,
                         has_macs);
    auto records = records_of(table, packets);
    const std::map<Flow, Values> expected = expected_of(packets, table.options.key, has_macs);
    std::size_t pairs = 0;
    for (const auto& [flow, values] : expected) {
        pairs += swapped(flow) < flow && expected.contains(swapped(flow)) ? 1 : 0;
    }
    CHECK((pairs > 0 || (is_alone && !has_macs)));
    CHECK(records.size() == expected.size() - pairs);

    std::map<Flow, Values> flows;
    for (auto& record : records) {
        const Flow flow = flow_of(record.core.key, table.there(record).key);
        const auto& reverse = record.group<ReverseGroup>(table.layout.reverse_at);
        flows[flow] = values_of(table.there(record), record.core.packets);
        if (reverse.packets != 0) {
            CHECK_FALSE(flow == swapped(flow));
            const FlowKey key = tributary::swapped(record.core.key, true);
            CHECK(flow_of(key, table.back(record).key) == swapped(flow));
            flows[swapped(flow)] = values_of(table.back(record), reverse.packets);
        }
    }
    CHECK(flows == expected);
}

TEST_CASE("Declared key: the source of a biflow is its first sender, also by octets alone",
          "[flowcache][unit]") {
    Packets packets(3, 2);
    packets.fields[1] = packets.fields[0];
    packets.macs[0][5] = std::byte{static_cast<unsigned char>(GENERATE(1, 9))};
    packets.macs[0][11] = std::byte{5};
    packets.macs[1][5] = packets.macs[0][11];
    packets.macs[1][11] = packets.macs[0][5];
    packets.fields[0].mac_addresses = packets.macs[0].data();
    packets.fields[1].mac_addresses = packets.macs[1].data();
    const Declared table(nothing_else(), FlowDirection::biflow, true);
    auto records = records_of(table, packets);
    REQUIRE(records.size() == 1);
    CHECK(table.there(records[0]).key.source_mac == 5);
    CHECK(records[0].core.packets == 1);
    CHECK(records[0].group<ReverseGroup>(table.layout.reverse_at).packets == 1);
}

TEST_CASE(
    "Declared key: a biflow whose initiator is known late keeps its octets, the ends exchanged",
    "[flowcache][unit]") {
    Packets packets(7, 2);
    PacketFields& answer = packets.fields[0];  // the first one seen, of an older connection
    PacketFields& request = packets.fields[1];
    answer.protocol = ip_protocol::kTcp;
    answer.tcp_control_bits = tcp_flag::kAck;
    request = other_direction(answer);
    request.tcp_control_bits = tcp_flag::kSyn;
    packets.macs[0][5] = std::byte{static_cast<unsigned char>(GENERATE(1, 9))};
    packets.macs[0][11] = std::byte{5};
    packets.macs[1][5] = packets.macs[0][11];
    packets.macs[1][11] = packets.macs[0][5];
    request.mac_addresses = packets.macs[1].data();

    const bool is_alone = GENERATE(false, true);
    const Declared table(is_alone ? nothing_else() : KeyDescriptor{}, FlowDirection::biflow, true);
    DeclaredKeyHarness harness(table.options, table.layout);
    for (const PacketFields* fields : {&answer, &request, &answer, &request, &request}) {
        harness.packet(*fields, at_ms(1000));
    }
    auto records = biflow::end_all(harness, at_ms(1000));
    REQUIRE(records.size() == 1);
    CHECK(table.there(records[0]).key == DeclaredExtractor::of(request, true));
    CHECK(table.back(records[0]).key == DeclaredExtractor::of(answer, true));
    CHECK(records[0].core.packets == 3);
    CHECK(records[0].group<ReverseGroup>(table.layout.reverse_at).packets == 2);
}

TEST_CASE(
    "Declared key: a flow stays the same one over the active timeout, and its values begin "
    "anew",
    "[flowcache][unit]") {
    const auto direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    Declared table({}, direction, true);
    table.options.active_timeout = 60s;
    Packets packets(4, 2);
    packets.fields[1] = packets.fields[0];
    packets.fields[0].ttl = 9;
    packets.fields[1].ttl = 7;
    DeclaredKeyHarness harness(table.options, table.layout);
    harness.packet(packets.fields[0], at_ms(1000));
    for (std::uint32_t second = 20; second <= 60; second += 20) {
        harness.packet(packets.fields[0], at_ms(1000 + 1000 * second));
    }
    harness.packet(packets.fields[1], at_ms(75'000));
    auto records = biflow::end_all(harness, at_ms(75'000));
    REQUIRE(records.size() == 2);
    CHECK(records[0].core.end_reason == FlowEndReason::active_timeout);
    CHECK(values_of(table.there(records[0]), records[0].core.packets) == Values{4, 36, 9, 9, 9});
    CHECK(values_of(table.there(records[1]), records[1].core.packets) == Values{1, 7, 7, 7, 7});
    CHECK(table.there(records[0]).key == table.there(records[1]).key);
}

TEST_CASE("Declared key: records that wait for room, and those that are looked at, are finished",
          "[flowcache][unit]") {
    const Declared table({}, FlowDirection::uniflow, false);
    Packets packets(5, 1);
    DeclaredKeyHarness harness(table.options, table.layout);
    harness.packet(packets.fields[0], at_ms(1000));
    packets.fields[0].ttl = static_cast<std::uint8_t>(packets.fields[0].ttl + 3);
    harness.packet(packets.fields[0], at_ms(1001));
    const FlowHandle flow = harness.handle_of(packets.fields[0]).value();
    DeclaredKeyHarness::Cache::Record record;
    REQUIRE(harness.cache.copy_record(flow, record));
    CHECK(table.there(record).range_of_ttl == 3);

    harness.sink.room = 0;
    CHECK_FALSE(harness.cache.end_all(at_ms(1001), harness.sink));
    CHECK(harness.cache.has_waiting());
    harness.sink.room = 1;
    auto records = biflow::end_all(harness, at_ms(1001));
    REQUIRE(records.size() == 1);
    CHECK(table.there(records[0]).range_of_ttl == 3);
}

TEST_CASE("Declared key: without the IP version both versions are one flow", "[flowcache][unit]") {
    const Declared table(nothing_else(), FlowDirection::uniflow, false);
    Packets packets(6, 2);
    packets.fields[1] = packets.fields[0];
    packets.fields[0].ip_version = 4;
    packets.fields[1].ip_version = 6;
    auto records = records_of(table, packets);
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.packets == 2);
    CHECK(records[0].core.key.ip_version == 4);
}
