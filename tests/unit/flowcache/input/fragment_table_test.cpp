// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/fragment_table.hpp"

#include <catch2/catch.hpp>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

using Ports = std::pair<std::uint16_t, std::uint16_t>;

constexpr Timestamp kStart{std::chrono::seconds{1'000'000}};

PacketFields fragment(std::uint32_t id, std::uint8_t protocol, std::uint8_t ip_version = 4) {
    PacketFields fields{.protocol = protocol, .ip_version = ip_version};
    fields.source = ip_address("192.0.2.1");
    fields.destination = ip_address("198.51.100.2");
    fields.fragment_flags = fragment_flag::kMoreFragments;
    fields.fragment_id = id;
    return fields;
}

/// A table with its counters, fed with fragments of packets between two hosts.
struct FragmentFixture {
    explicit FragmentFixture(std::chrono::seconds timeout = 60s,
                             std::size_t most_sets = FragmentTable::kFirstSets,
                             std::uint64_t seed = 7)
        : table(FlowHasher(seed), timeout, most_sets) {}

    FragmentTable table;
    FragmentCounters counters;

    Timestamp clock = kStart;  // the highest time so far

    void first(PacketFields fields, Ports ports, Timestamp time = kStart) {
        clock = std::max(clock, time);
        fields.source_port = {ports.first};
        fields.destination_port = {ports.second};
        table.track(fields, time, clock, counters);
        CHECK(fields.destination_port == L4Port{ports.second});
    }
    Ports later(PacketFields fields, Timestamp time = kStart) {
        clock = std::max(clock, time);
        fields.is_later_fragment = true;
        table.track(fields, time, clock, counters);
        return {fields.source_port.value, fields.destination_port.value};
    }
};

}  // namespace

TEST_CASE("FragmentTable: later fragments get the ports of their first one", "[flowcache][unit]") {
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    fixture.first(fragment(2, ip_protocol::kUdp), {2000, 54});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{1000, 53});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{1000, 53});
    CHECK(fixture.later(fragment(2, ip_protocol::kUdp)) == Ports{2000, 54});
    CHECK(fixture.counters.first.read() == 2);
    CHECK(fixture.counters.later.read() == 3);
    CHECK(fixture.counters.without_first.read() == 0);
    CHECK(fixture.counters.forgotten.read() == 0);
}

TEST_CASE("FragmentTable: a fragment before its first one has ports 0 and is counted",
          "[flowcache][unit]") {
    FragmentFixture fixture;
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{0, 0});
    CHECK(fixture.counters.without_first.read() == 1);
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{1000, 53});
    CHECK(fixture.counters.without_first.read() == 1);
}

TEST_CASE("FragmentTable: every part of an identity separates packets", "[flowcache][unit]") {
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    PacketFields other = fragment(1, ip_protocol::kUdp);
    other.source = ip_address("192.0.2.9");
    CHECK(fixture.later(other) == Ports{0, 0});
    other = fragment(1, ip_protocol::kUdp);
    other.destination = ip_address("192.0.2.9");
    CHECK(fixture.later(other) == Ports{0, 0});
    CHECK(fixture.later(fragment(0x1'0001, ip_protocol::kUdp)) == Ports{0, 0});
    CHECK(fixture.later(fragment(1, ip_protocol::kTcp)) == Ports{0, 0});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp, 6)) == Ports{0, 0});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{1000, 53});
}

TEST_CASE("FragmentTable: of IPv6 the protocol is no part of the identity", "[flowcache][unit]") {
    // The first fragment's protocol stands behind further extension headers, which later fragments
    // do not carry: theirs is the first of those headers.
    constexpr std::uint8_t kDestinationOptions = 60;
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kUdp, 6), {1000, 53});
    CHECK(fixture.later(fragment(1, kDestinationOptions, 6)) == Ports{1000, 53});
}

TEST_CASE("FragmentTable: a first fragment replaces an older one of its identity",
          "[flowcache][unit]") {
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    fixture.first(fragment(1, ip_protocol::kUdp), {2000, 54}, kStart + 1s);
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp), kStart + 61s) == Ports{2000, 54});
    CHECK(fixture.counters.forgotten.read() == 0);
}

TEST_CASE("FragmentTable: ICMP leaves no ports, and takes those of its identity away",
          "[flowcache][unit]") {
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kIcmp), {0, 0x0800});
    CHECK(fixture.later(fragment(1, ip_protocol::kIcmp)) == Ports{0, 0});
    CHECK(fixture.counters.without_first.read() == 0);
    fixture.first(fragment(2, ip_protocol::kUdp, 6), {1000, 53});
    fixture.first(fragment(2, ip_protocol::kIcmpV6, 6), {0, 0x8000});
    CHECK(fixture.later(fragment(2, ip_protocol::kUdp, 6)) == Ports{0, 0});
}

TEST_CASE("FragmentTable: 60 seconds after the first fragment its ports are still good, then not",
          "[flowcache][unit]") {
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp), kStart + 60s) == Ports{1000, 53});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp), kStart + 60s + 1ns) == Ports{0, 0});
    CHECK(fixture.counters.without_first.read() == 1);
}

TEST_CASE("FragmentTable: the timeout is the clock's, not that of packets out of order",
          "[flowcache][unit]") {
    FragmentFixture fixture;
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    // A packet from before does not end it.
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp), kStart - 1h) == Ports{1000, 53});
    // Another packet has moved the clock: the place may be taken, so the ports are gone for all.
    fixture.first(fragment(2, ip_protocol::kUdp), {2000, 54}, kStart + 60s + 1ns);
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp), kStart + 1s) == Ports{0, 0});
    // Later fragments do not prolong it.
    CHECK(fixture.later(fragment(2, ip_protocol::kUdp), kStart + 120s + 1ns) == Ports{2000, 54});
    CHECK(fixture.later(fragment(2, ip_protocol::kUdp), kStart + 120s + 2ns) == Ports{0, 0});
}

TEST_CASE("FragmentTable: without a timeout a first fragment's ports stay good",
          "[flowcache][unit]") {
    FragmentFixture fixture(0s);
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp), kStart + 24h) == Ports{1000, 53});
    CHECK(fixture.counters.without_first.read() == 0);
}

TEST_CASE("FragmentTable: a flood displaces the oldest, is counted, and takes no memory",
          "[flowcache][unit]") {
    constexpr std::uint32_t kFlood = 500'000;  // every set is filled
    constexpr std::size_t kEntries = FragmentTable::kFirstSets * FragmentTable::kWays;
    FragmentFixture fixture;
    const std::size_t before = allocations();
    const auto port_of = [](std::uint32_t id) { return static_cast<std::uint16_t>(id % 60'000); };
    for (std::uint32_t id = 0; id < kFlood; ++id) {
        PacketFields fields = fragment(id, ip_protocol::kUdp);
        fields.source_port = {port_of(id)};
        fields.destination_port = {53};
        fixture.table.track(fields, kStart + id * 1us, kStart + id * 1us, fixture.counters);
    }
    CHECK(allocations() == before);
    CHECK(fixture.table.sets() == FragmentTable::kFirstSets);
    CHECK(fixture.counters.first.read() == kFlood);
    CHECK(fixture.counters.forgotten.read() == kFlood - kEntries);

    std::size_t kept = 0;
    for (std::uint32_t id = 0; id < kFlood; ++id) {
        const Ports ports = fixture.later(fragment(id, ip_protocol::kUdp), kStart + 1s);
        kept += ports == Ports{port_of(id), 53} ? 1 : 0;
    }
    CHECK(kept == kEntries);
    CHECK(fixture.counters.without_first.read() == kFlood - kEntries);
    CHECK(fixture.later(fragment(kFlood - 1, ip_protocol::kUdp)).second == 53);
}

TEST_CASE("FragmentTable: an entry that has aged out makes room without being counted as forgotten",
          "[flowcache][unit]") {
    constexpr std::uint32_t kMany = 500'000;  // every set is filled
    FragmentFixture fixture;
    for (std::uint32_t id = 0; id < kMany; ++id) {
        PacketFields fields = fragment(id, ip_protocol::kUdp);
        fixture.table.track(fields, kStart, kStart, fixture.counters);
    }
    const std::uint64_t forgotten = fixture.counters.forgotten.read();
    fixture.first(fragment(kMany, ip_protocol::kUdp), {1, 2}, kStart + 60s);
    CHECK(fixture.counters.forgotten.read() == forgotten + 1);
    fixture.first(fragment(kMany + 1, ip_protocol::kUdp), {1, 2}, kStart + 60s + 1ns);
    CHECK(fixture.counters.forgotten.read() == forgotten + 1);
}

namespace {

/// Ports that identify packets; never 0.
Ports ports_of(std::uint32_t id) {
    return {static_cast<std::uint16_t>(id), static_cast<std::uint16_t>((id >> 16U) + 1)};
}

/// Keeps the ports of the first fragments 0 .. count - 1, a microsecond apart.
void keep(FragmentFixture& fixture, std::uint32_t count) {
    for (std::uint32_t id = 0; id < count; ++id) {
        PacketFields fields = fragment(id, ip_protocol::kUdp);
        fields.source_port = {ports_of(id).first};
        fields.destination_port = {ports_of(id).second};
        fixture.table.track(fields, kStart + id * 1us, kStart + id * 1us, fixture.counters);
    }
}

/// How many of them are kept, with the ports that are theirs.
std::size_t kept(FragmentFixture& fixture, std::uint32_t count) {
    std::size_t good = 0;
    for (std::uint32_t id = 0; id < count; ++id) {
        const Ports found = fixture.later(fragment(id, ip_protocol::kUdp), kStart + 1s);
        const bool is_good = found == ports_of(id);
        good += is_good ? 1 : 0;
        CHECK((is_good || found == Ports{0, 0}));
    }
    return good;
}

}  // namespace

TEST_CASE("FragmentTable: one that may grow forgets nothing where a fixed one does",
          "[flowcache][unit]") {
    constexpr std::uint32_t kCount = 30'000;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        FragmentFixture fixed(0s, FragmentTable::kFirstSets, seed);
        keep(fixed, kCount);
        CHECK(fixed.counters.forgotten.read() > 0);

        FragmentFixture grown(0s, FragmentTable::kMostSets, seed);
        keep(grown, kCount);
        CHECK(grown.table.sets() > FragmentTable::kFirstSets);
        CHECK(grown.counters.forgotten.read() == 0);
        CHECK(kept(grown, kCount) == kCount);
        CHECK(grown.counters.without_first.read() == 0);
    }
}

TEST_CASE("FragmentTable: one that has grown to its bound displaces the oldest of a set",
          "[flowcache][unit]") {
    constexpr std::uint32_t kCount = 500'000;  // every set is filled
    constexpr std::size_t kSets = 2 * FragmentTable::kFirstSets;
    constexpr std::size_t kEntries = kSets * FragmentTable::kWays;
    FragmentFixture fixture(0s, kSets);
    keep(fixture, kCount);
    CHECK(fixture.table.sets() == kSets);
    CHECK(fixture.counters.forgotten.read() == kCount - kEntries);
    CHECK(kept(fixture, kCount) == kEntries);
    CHECK(fixture.later(fragment(kCount - 1, ip_protocol::kUdp)) == ports_of(kCount - 1));
}

TEST_CASE("FragmentTable: what has aged out makes room before the table grows",
          "[flowcache][unit]") {
    constexpr std::uint32_t kCount = 10'000;
    FragmentFixture fixture(60s, FragmentTable::kMostSets);
    for (std::uint32_t id = 0; id < 20 * kCount; ++id) {
        fixture.first(fragment(id, ip_protocol::kUdp), {1, 2}, kStart + (id / kCount) * 61s);
    }
    CHECK(fixture.table.sets() <= 2 * FragmentTable::kFirstSets);
    CHECK(fixture.counters.forgotten.read() == 0);
}

TEST_CASE("FragmentTable: an entry from before the clock went back is used no more",
          "[flowcache][unit]") {
    FragmentFixture fixture(GENERATE(0s, 60s));
    fixture.first(fragment(1, ip_protocol::kUdp), {1000, 53}, kStart + 3600s);
    fixture.clock = kStart;
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{0, 0});
    CHECK(fixture.counters.without_first.read() == 1);
    fixture.first(fragment(1, ip_protocol::kUdp), {1001, 53});
    CHECK(fixture.later(fragment(1, ip_protocol::kUdp)) == Ports{1001, 53});
    CHECK(fixture.counters.forgotten.read() == 0);
}
