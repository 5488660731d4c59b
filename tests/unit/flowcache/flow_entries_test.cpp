// SPDX-License-Identifier: Apache-2.0
#include "flowcache/flow_entries.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace tributary;

TEST_CASE("FlowEntries: the addresses of an entry are touched for IPv6 only", "[flowcache][unit]") {
    using Entries = FlowEntries<sizeof(FlowRecordCore)>;
    const std::uint8_t ip_version = GENERATE(std::uint8_t{4}, std::uint8_t{6});
    std::vector<std::byte> bytes(Entries::bytes_needed(2));
    std::span<std::byte> memory(bytes);
    Counter gauge;
    Entries entries(memory, 2, {}, true, gauge);
    const EntryIndex entry = entries.allocate();
    entries.hot(entry).key.ip_version = ip_version;
    entries.ipv6(entry).source.fill(std::byte{1});
    AddressPair before;
    before.source.fill(std::byte{0xee});
    before.destination.fill(std::byte{0xee});
    entries.ipv6(entry + 1) = before;
    const EntryIndex apart = entries.set_apart(entry);
    REQUIRE(apart == entry + 1);
    CHECK(entries.hot(apart).key.ip_version == ip_version);
    CHECK(entries.ipv6(apart) == (ip_version == 4 ? before : entries.ipv6(entry)));
    CHECK(entries.taken() == 2);
    CHECK(entries.first_waiting() == apart);
}
