// SPDX-License-Identifier: Apache-2.0
#include "export/flow_share.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <vector>

#include "flowcache/record/flow_direction.hpp"
#include "tests/support/added_table.hpp"
#include "tests/support/export_harness.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// The number of a flow of a table.
std::uint32_t number_of(const AddedTable& table, const DeclaredOctets& octets,
                        const FlowKey& key = {}) {
    return FlowShare(table.layout, table.elements).of(bytes_of(table.record(octets, key)));
}

DeclaredOctets octets_of(unsigned dscp, unsigned source, unsigned destination) {
    return {.dscp = static_cast<std::uint8_t>(dscp),
            .destination_mac = static_cast<std::uint8_t>(destination),
            .source_mac = static_cast<std::uint8_t>(source)};
}

FlowKey key_of(std::uint8_t source, std::uint8_t destination, std::uint16_t interface = 0) {
    FlowKey key;
    key.source[0] = std::byte{source};
    key.destination[0] = std::byte{destination};
    key.ingress_interface = {interface};
    return key;
}

}  // namespace

// Partitions of topics, and the collectors of mode balance, depend on them over restarts.
TEST_CASE("FlowShare: numbers of the main table's flows stay what they are", "[export][unit]") {
    CHECK(FlowShare().of(bytes_of(record_of(1))) == 0x7a4f'c43f);
    CHECK(FlowShare().of(bytes_of(record_of(1, 6))) == 0xd25b'4d92);
    CHECK(FlowShare().of(bytes_of(record_of(60'000))) == 0x0c45'e734);
    // A table with a key of whole fields has them too.
    const FlowShare of_table({}, {.key = {}});
    const FlowShare of_declared({}, {.key = {}, .is_declared = true});
    for (std::uint16_t number = 0; number < 1000; ++number) {
        const Record record = record_of(number, number % 2 == 0 ? 4 : 6);
        const std::uint32_t expected = FlowShare().of(bytes_of(record));
        REQUIRE(of_table.of(bytes_of(record)) == expected);
        REQUIRE(of_declared.of(bytes_of(record)) == expected);
    }
}

TEST_CASE("FlowShare: the octets of a declared key count, evenly", "[export][unit]") {
    const AddedTable table(true);
    std::array<unsigned, 8> shares{};
    std::set<std::uint32_t> numbers;
    for (unsigned key = 0; key < 8000; ++key) {
        const std::uint32_t number =
            number_of(table, octets_of(key / 1000, key % 100, 100 + key / 100));
        ++shares.at(number >> 29U);
        numbers.insert(number);
    }
    CHECK(numbers.size() == 8000);
    for (const unsigned share : shares) {
        CHECK(share > 900);
        CHECK(share < 1100);
    }
}

TEST_CASE("FlowShare: both directions of a declared key have one number", "[export][unit]") {
    const auto direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    const AddedTable table(true, direction);
    for (unsigned source = 0; source < 50; ++source) {
        for (unsigned destination = 0; destination < 50; ++destination) {
            const DeclaredOctets there = octets_of(1, source, destination);
            const DeclaredOctets back = octets_of(1, destination, source);
            REQUIRE(number_of(table, there) == number_of(table, back));
            // With addresses, the two change places together.
            const FlowKey key = key_of(1, 2, 7);
            REQUIRE(number_of(table, there, key) == number_of(table, back, swapped(key, true)));
            REQUIRE((source == destination ||
                     number_of(table, there, key) != number_of(table, back, key)));
        }
    }
}

TEST_CASE("FlowShare: an extension without sides is the same in both directions",
          "[export][unit]") {
    const AddedTable table(false);
    const FlowKey key = key_of(1, 2);
    CHECK(number_of(table, octets_of(5, 0, 0), key) ==
          number_of(table, octets_of(5, 0, 0), swapped(key, true)));
    CHECK(number_of(table, octets_of(5, 0, 0), key) != number_of(table, octets_of(6, 0, 0), key));
}

TEST_CASE("FlowShare: the interface counts where nothing belongs to one of two ends",
          "[export][unit]") {
    const bool has_macs = GENERATE(false, true);
    const AddedTable table(has_macs);
    const std::uint32_t first = number_of(table, octets_of(5, 0, 0), key_of(0, 0, 1));
    const std::uint32_t second = number_of(table, octets_of(5, 0, 0), key_of(0, 0, 2));
    CHECK((first == second) == has_macs);  // a tap has an interface for each direction
}

TEST_CASE("FlowShare: each table has its own", "[export][unit]") {
    const AddedTable table(true);
    MeteringProcess metering;
    metering.further = {{.name = "macs", .layout = table.layout, .elements = table.elements}};
    const std::vector<FlowShare> shares = flow_shares(metering);
    REQUIRE(shares.size() == 2);
    const Record first = table.record(octets_of(1, 2, 3));
    const Record second = table.record(octets_of(1, 2, 4));
    CHECK(shares[0].of(bytes_of(first)) == shares[0].of(bytes_of(second)));
    CHECK(shares[1].of(bytes_of(first)) != shares[1].of(bytes_of(second)));
    CHECK(shares[1].of(bytes_of(first)) == number_of(table, octets_of(1, 2, 3)));
}
