// SPDX-License-Identifier: Apache-2.0
#include "flowcache/key_owners.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "flowcache/record/flow_record.hpp"
#include "tests/support/other_direction.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

PacketFields packet_of(std::uint32_t host, bool is_ipv6) {
    PacketFields fields;
    fields.ip_version = is_ipv6 ? 6 : 4;
    fields.protocol = ip_protocol::kUdp;
    std::memcpy(fields.source.data() + (is_ipv6 ? 12 : 0), &host, sizeof host);
    fields.destination = ip_address(is_ipv6 ? "2001:db8::1" : "192.0.2.1");
    fields.source_port = {1000};
    fields.destination_port = {53};
    return fields;
}

KeyOwners owners_of(const FlowCacheOptions& options, std::uint16_t workers) {
    return {FlowHasher(11), options, RecordLayout::of({}, options.direction), workers};
}

}  // namespace

TEST_CASE("KeyOwners: keys are spread evenly", "[flowcache][unit]") {
    constexpr std::uint16_t kWorkers = 5;
    constexpr std::uint32_t kHosts = 5000;
    const KeyOwners owners = owners_of({}, kWorkers);
    for (const bool is_ipv6 : {false, true}) {
        std::array<std::uint32_t, kWorkers> keys{};
        for (std::uint32_t host = 1; host <= kHosts; ++host) {
            ++keys.at(owners.of({}, packet_of(host, is_ipv6)));
        }
        for (const std::uint32_t count : keys) {
            CHECK(count > 850);
            CHECK(count < 1150);
        }
    }
}

TEST_CASE("KeyOwners: both directions of a biflow have one owner", "[flowcache][unit]") {
    const KeyOwners biflow = owners_of({.direction = FlowDirection::biflow}, 4);
    const KeyOwners uniflow = owners_of({}, 4);
    std::size_t different = 0;
    for (std::uint32_t host = 1; host <= 500; ++host) {
        for (const bool is_ipv6 : {false, true}) {
            const PacketFields there = packet_of(host, is_ipv6);
            CHECK(biflow.of({}, there) == biflow.of({}, other_direction(there)));
            different += uniflow.of({}, there) != uniflow.of({}, other_direction(there)) ? 1 : 0;
        }
    }
    CHECK(different > 500);
}

TEST_CASE("KeyOwners: what is not in the key does not matter", "[flowcache][unit]") {
    KeyDescriptor key;
    key.source = {24, 64};
    key.destination = {0, 0};
    key.source_port = key.destination_port = key.protocol = key.vlan = false;
    key.ingress_interface = false;
    const KeyOwners owners = owners_of({.key = key}, 7);
    PacketFields one = packet_of(0x0100'000a, false);
    const std::uint16_t owner = owners.of({}, one);
    one.source[3] = std::byte{77};
    one.destination = ip_address("198.51.100.9");
    one.source_port = {4};
    CHECK(owners.of({.ingress_interface = InterfaceIndex{3}}, one) == owner);
}
