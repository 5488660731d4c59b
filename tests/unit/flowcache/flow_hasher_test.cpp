// SPDX-License-Identifier: Apache-2.0
#include "flowcache/record/flow_hasher.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flowcache/flow_index.hpp"
#include "flowcache/key_matcher.hpp"
#include "tests/support/other_direction.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using KeyBytes = std::array<std::byte, sizeof(ShortKey)>;

PacketFields packet_of(const std::string& source, const std::string& destination) {
    return {.source = ip_address(source),
            .destination = ip_address(destination),
            .source_port = {40000},
            .destination_port = {443},
            .protocol = ip_protocol::kUdp,
            .ip_version = static_cast<std::uint8_t>(source.find(':') == std::string::npos ? 4 : 6)};
}
PacketFields ipv4_packet() { return packet_of("192.0.2.1", "198.51.100.2"); }
PacketFields ipv6_packet() { return packet_of("2001:db8::1", "2001:db8::2"); }

/// A cache's KeyedPacket of a packet with these fields.
constexpr KeyDescriptor kTunnelInKey{.extension = KeyExtension::tunnel};

FlowHash hash_of(const KeyMatcher& identity, const PacketFields& fields,
                 FlowDirection direction = FlowDirection::uniflow) {
    const PacketView view{.ingress_interface = {7}};
    KeyedPacket keyed;
    keyed.packet = &view;
    keyed.fields = &fields;
    key_packet(keyed, direction, WholeKeyMasks(true));
    return identity.hash(keyed);
}
FlowHash hash_of(const PacketFields& fields, FlowDirection direction = FlowDirection::uniflow) {
    return hash_of(KeyMatcher(FlowHasher(1), {}, {}), fields, direction);
}

/// Changes each bit of some octets in turn, and requires the hash of the packet to change too.
void check_each_bit(const KeyMatcher& identity, const PacketFields& fields,
                    std::span<std::byte> octets) {
    const FlowHash before = hash_of(identity, fields);
    for (std::byte& octet : octets) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            octet ^= std::byte{1} << bit;
            CHECK(hash_of(identity, fields) != before);
            octet ^= std::byte{1} << bit;
        }
    }
    CHECK(hash_of(identity, fields) == before);
}

/// The same number in network byte order, in four octets of an address.
void write_number(IpAddress& address, std::size_t at, std::uint32_t number) {
    for (std::size_t octet = 0; octet < 4; ++octet) {
        address[at + octet] = static_cast<std::byte>(number >> (24 - 8 * octet));
    }
}

/// Flows as networks have them, by number; each pattern gives different ones for 65536 numbers.
struct Pattern {
    const char* name;
    PacketFields (*flow)(std::uint32_t number);
};
constexpr std::uint32_t kNet = 0x0A00'0000;
constexpr std::array<Pattern, 9> kPatterns{
    {{"one address after the other",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          write_number(fields.source, 0, kNet + n);
          return fields;
      }},
     {"one port after the other",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          fields.source_port.value = static_cast<std::uint16_t>(n);
          return fields;
      }},
     {"a scan of ports",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          fields.destination_port.value = static_cast<std::uint16_t>(n);
          return fields;
      }},
     {"256 addresses with 256 ports each",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          write_number(fields.source, 0, kNet + n / 256);
          fields.source_port.value = static_cast<std::uint16_t>(1024 + n % 256);
          return fields;
      }},
     {"256 addresses that talk to 256 others",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          write_number(fields.source, 0, kNet + n / 256);
          write_number(fields.destination, 0, kNet + n % 256);
          return fields;
      }},
     {"one network after the other",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          write_number(fields.source, 0, n << 16U | 1U);
          return fields;
      }},
     {"16 addresses in 4096 VLANs",
      [](std::uint32_t n) {
          PacketFields fields = ipv4_packet();
          write_number(fields.source, 0, kNet + n / 4096);
          fields.outer_vlan.value = static_cast<std::uint16_t>(n % 4096);
          return fields;
      }},
     {"one IPv6 address after the other",
      [](std::uint32_t n) {
          PacketFields fields = ipv6_packet();
          write_number(fields.source, 12, n);
          return fields;
      }},
     {"one IPv6 network after the other, 256 ports each", [](std::uint32_t n) {
          PacketFields fields = ipv6_packet();
          write_number(fields.source, 4, n / 256);
          fields.source_port.value = static_cast<std::uint16_t>(n % 256);
          return fields;
      }}}};

/// Where an index that holds as many flows as it is made for puts those of a pattern.
struct Spread {
    static constexpr std::uint32_t kFlows = 65'536;

    Spread(const Pattern& pattern, std::uint64_t seed)
        : homes(FlowIndex::buckets_for(kFlows)), tags(32'768) {
        std::vector<FlowIndex::Bucket> memory(homes.size());
        FlowIndex index(memory);
        const KeyMatcher identity(FlowHasher(seed), {}, {});
        std::vector<IndexHome> looked_for(kFlows);
        for (EntryIndex entry = 0; entry < kFlows; ++entry) {
            looked_for[entry] = index.home(hash_of(identity, pattern.flow(entry)));
            FlowIndex::Place place{};
            REQUIRE(index.insert(looked_for[entry], entry, place));
            ++homes[place.bucket ^ place.distance];
            passed_on += place.distance > 0 ? 1 : 0;
            out_of_sight += place.distance > 1 ? 1 : 0;
            const FlowIndex::Bucket& bucket = memory[place.bucket];
            const auto slot = std::ranges::find(bucket.entries, entry) - bucket.entries.begin();
            ++tags[bucket.tags[static_cast<std::size_t>(slot)] / 2];
        }
        for (EntryIndex entry = 0; entry < kFlows; ++entry) {
            wrong_guesses += index.candidate(looked_for[entry]) != entry ? 1 : 0;
        }
    }

    std::vector<std::uint32_t> homes;  ///< flows of each home bucket
    std::vector<std::uint32_t> tags;   ///< flows with each tag; all are odd
    std::uint32_t passed_on = 0;       ///< flows that their home bucket has no room for
    std::uint32_t out_of_sight = 0;    ///< of these, those that a candidate does not look for
    std::uint32_t wrong_guesses = 0;   ///< those, and flows with the tag of another one there
};

/// How far the chi-square of `counts` lies above that of flows thrown at random, in standard
/// deviations. One over the other or all in a few gives hundreds.
double excess(std::span<const std::uint32_t> counts) {
    const auto cells = static_cast<double>(counts.size());
    const double expected = Spread::kFlows / cells;
    double chi_square = 0;
    for (const std::uint32_t count : counts) {
        chi_square += (count - expected) * (count - expected) / expected;
    }
    return (chi_square - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

constexpr std::uint32_t kSamples = 2000;
/// For each bit of the hash, how many of the samples change it.
using Flips = std::array<std::uint32_t, 64>;

/// What each bit of a key does to the hash, over random keys.
template <class NextHasher>
std::vector<Flips> flips_by_bit(NextHasher next_hasher) {
    std::mt19937_64 random(1);
    std::vector<Flips> flips(8 * sizeof(ShortKey));
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
        const FlowHasher hasher = next_hasher();
        ShortKey key;
        key.set_words({random(), random(), random()});
        const FlowHash before = hasher(key);
        for (std::size_t bit = 0; bit < flips.size(); ++bit) {
            auto bytes = std::bit_cast<KeyBytes>(key);
            bytes[bit / 8] ^= std::byte{1} << (bit % 8);
            const FlowHash changed = before ^ hasher(std::bit_cast<ShortKey>(bytes));
            for (std::size_t of_hash = 0; of_hash < 64; ++of_hash) {
                flips[bit][of_hash] += changed >> of_hash & 1U;
            }
        }
    }
    return flips;
}
/// Forty to sixty per cent: nine standard deviations of what chance does.
bool is_half(const Flips& flips) {
    return std::ranges::all_of(flips, [](std::uint32_t count) {
        return count > kSamples * 4 / 10 && count < kSamples * 6 / 10;
    });
}

}  // namespace

TEST_CASE("FlowHasher: every bit of a key changes the hash", "[flowcache][unit]") {
    ShortKey key;
    write_key(key, words_of_packet(ipv4_packet(), {7}), false);
    const FlowHasher hasher(GENERATE(0U, 1U, 2U));
    std::set<FlowHash> hashes{hasher(key)};
    for (std::size_t bit = 0; bit < 8 * sizeof key; ++bit) {
        auto bytes = std::bit_cast<KeyBytes>(key);
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        hashes.insert(hasher(std::bit_cast<ShortKey>(bytes)));
    }
    CHECK(hashes.size() == 1 + 8 * sizeof key);
}

TEST_CASE("FlowHasher: the seed changes the hash of keys, values and extensions",
          "[flowcache][unit]") {
    ShortKey key;
    write_key(key, words_of_packet(ipv4_packet(), {7}), false);
    constexpr std::uint64_t kSeeds = 256;
    std::set<FlowHash> of_key;
    std::set<FlowHash> of_value;
    std::set<FlowHash> extended;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const FlowHasher hasher(seed);
        of_key.insert(hasher(key));
        of_value.insert(hasher(std::uint64_t{5}));
        extended.insert(hasher(FlowHash{3}, std::uint64_t{5}));
    }
    CHECK(of_key.size() == kSeeds);
    CHECK(of_value.size() == kSeeds);
    CHECK(extended.size() == kSeeds);
    CHECK(FlowHasher::random()(key) != FlowHasher::random()(key));
}

TEST_CASE("FlowHasher: flows that meet in a bucket under one seed part under another",
          "[flowcache][unit]") {
    // A thousandth of a million flows; of a hash that cannot be keyed they would meet again.
    constexpr std::size_t kBuckets = 1024;
    const KeyMatcher one(FlowHasher(1), {}, {});
    const KeyMatcher other(FlowHasher(2), {}, {});
    std::vector<std::uint32_t> counts(kBuckets);
    std::uint32_t met = 0;
    PacketFields fields = ipv4_packet();
    for (std::uint32_t n = 0; n < 1'000'000; ++n) {
        write_number(fields.source, 0, n);
        if (hash_of(one, fields) % kBuckets == 0) {
            ++met;
            ++counts[hash_of(other, fields) % kBuckets];
        }
    }
    CHECK(met > 800);
    CHECK(*std::ranges::max_element(counts) < 10);
}

TEST_CASE("FlowHasher: each bit of a key flips each bit of the hash for half of keys and seeds",
          "[flowcache][unit][many]") {
    std::mt19937_64 seeds(2);
    const auto flips = flips_by_bit([&seeds] { return FlowHasher(seeds()); });
    for (std::size_t bit = 0; bit < flips.size(); ++bit) {
        INFO("bit " << bit << " of the key");
        CHECK(is_half(flips[bit]));
    }
}

TEST_CASE("FlowHasher: under one seed addresses, ports and VLAN flip each bit for half of the keys",
          "[flowcache][unit][many]") {
    // Not so the interface, behind which there is but one multiplication, by the same factor for
    // all keys. One queue has one interface.
    const FlowHasher hasher(GENERATE(1U, 2U, 3U));
    const auto flips = flips_by_bit([&hasher] { return hasher; });
    for (std::size_t bit = 0; bit < 8 * offsetof(ShortKey, ingress_interface); ++bit) {
        INFO("bit " << bit << " of the key");
        CHECK(is_half(flips[bit]));
    }
}

TEST_CASE(
    "FlowHasher: each bit of octets behind one key flips each bit of the hash for half of them",
    "[flowcache][unit][many]") {
    const std::size_t words = GENERATE(1U, 2U, 3U, 4U, 16U);
    const FlowHasher hasher(GENERATE(1U, 2U));
    std::mt19937_64 random(3);
    const FlowHash of_key = random();
    std::vector<Flips> flips(64 * words);
    std::vector<std::uint64_t> value(words);
    const auto hash = [&] { return hasher(of_key, std::as_bytes(std::span(value))); };
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
        std::ranges::generate(value, [&random] { return random(); });
        const FlowHash before = hash();
        for (std::size_t bit = 0; bit < flips.size(); ++bit) {
            value[bit / 64] ^= std::uint64_t{1} << bit % 64;
            const FlowHash changed = before ^ hash();
            value[bit / 64] ^= std::uint64_t{1} << bit % 64;
            for (std::size_t of_hash = 0; of_hash < 64; ++of_hash) {
                flips[bit][of_hash] += changed >> of_hash & 1U;
            }
        }
    }
    for (std::size_t bit = 0; bit < flips.size(); ++bit) {
        INFO("bit " << bit << " of the octets");
        CHECK(is_half(flips[bit]));
    }
}

TEST_CASE("FlowHasher: flows in a row lie in the index as if thrown at random",
          "[flowcache][unit][many]") {
    const std::uint64_t seed = GENERATE(0U, 1U, 2U, 3U, 4U, 0xFFFF'FFFF'FFFF'FFFFU);
    for (const Pattern& pattern : kPatterns) {
        INFO(pattern.name << ", seed " << seed);
        const Spread spread(pattern, seed);
        // Of nearly 110 draws none should reach five standard deviations.
        CHECK(excess(spread.homes) < 5);
        CHECK(excess(spread.tags) < 5);
        // Five flows a bucket: one of 20 comes in a thousand such indices.
        CHECK(*std::ranges::max_element(spread.homes) < 20);
        // 0.44 % find ten in their home bucket, some more one that was passed on from before it.
        CHECK(spread.passed_on < Spread::kFlows * 6 / 1000);
        CHECK(spread.out_of_sight < spread.passed_on / 5);
        // Two of a bucket have one tag five times on average.
        CHECK(spread.wrong_guesses < spread.out_of_sight + 22);
        CHECK(spread.wrong_guesses >= spread.out_of_sight);
    }
}

TEST_CASE("KeyMatcher: every bit of IPv6 addresses changes the hash", "[flowcache][unit]") {
    const KeyMatcher identity(FlowHasher(1), {}, {});
    PacketFields fields = ipv6_packet();
    check_each_bit(identity, fields, fields.source);
    check_each_bit(identity, fields, fields.destination);
    CHECK(hash_of(fields) != hash_of(other_direction(fields)));
}

TEST_CASE("KeyMatcher: what IPv4 leaves of an address does not count", "[flowcache][unit]") {
    PacketFields fields = ipv4_packet();
    fields.source[4] = std::byte{1};
    fields.destination[15] = std::byte{1};
    CHECK(hash_of(fields) == hash_of(ipv4_packet()));
}

TEST_CASE("KeyMatcher: the tunnel changes the hash where it is in the key", "[flowcache][unit]") {
    constexpr RecordLayout kLayout = RecordLayout::of(groups_of<TunnelGroup>());
    const KeyMatcher with(FlowHasher(1), kLayout, kTunnelInKey);
    const KeyMatcher without(FlowHasher(1), kLayout, {});
    PacketFields fields = GENERATE(ipv4_packet(), ipv6_packet());
    const FlowHash outside = hash_of(with, fields);
    std::array<std::byte, 32> addresses{};
    fields.tunnel = {
        .addresses = addresses.data(), .id = 5, .kind = TunnelKind::vxlan, .ip_version = 6};
    CHECK(hash_of(with, fields) != outside);
    CHECK(hash_of(without, fields) == hash_of(fields));
    check_each_bit(with, fields, addresses);

    std::set<FlowHash> hashes{hash_of(with, fields)};
    for (unsigned bit = 0; bit < 32; ++bit) {
        PacketFields changed = fields;
        changed.tunnel.id ^= 1U << bit;
        hashes.insert(hash_of(with, changed));
    }
    PacketFields changed = fields;
    changed.tunnel.kind = TunnelKind::geneve;
    hashes.insert(hash_of(with, changed));
    CHECK(hashes.size() == 34);
}

TEST_CASE("KeyMatcher: both directions of a biflow have one hash, those of uniflows two",
          "[flowcache][unit]") {
    const auto there = GENERATE(ipv4_packet(), ipv6_packet(), packet_of("2.0.0.0", "1.0.0.0"),
                                packet_of("192.0.2.1", "192.0.2.1"), packet_of("::1", "::1"));
    const PacketFields back = other_direction(there);
    constexpr FlowDirection kBiflow = FlowDirection::biflow;
    CHECK(hash_of(there, kBiflow) == hash_of(back, kBiflow));
    CHECK(hash_of(there) != hash_of(back));
}

TEST_CASE("KeyMatcher: both directions of a biflow in a tunnel have one hash",
          "[flowcache][unit]") {
    constexpr RecordLayout kLayout =
        RecordLayout::of(groups_of<TunnelGroup>(), FlowDirection::biflow);
    const KeyMatcher identity(FlowHasher(1), kLayout, kTunnelInKey);
    std::array<std::byte, 8> outer{std::byte{10}, {}, {}, std::byte{1},
                                   std::byte{10}, {}, {}, std::byte{2}};
    std::array<std::byte, 8> turned = outer;
    std::ranges::rotate(turned, turned.begin() + 4);
    PacketFields there = GENERATE(ipv4_packet(), ipv6_packet());
    there.tunnel = {.addresses = outer.data(), .id = 5, .kind = TunnelKind::vxlan, .ip_version = 4};
    PacketFields back = other_direction(there);
    CHECK(hash_of(identity, there, FlowDirection::biflow) !=
          hash_of(identity, back, FlowDirection::biflow));  // the tunnel's ends have not changed
    back.tunnel.addresses = turned.data();
    CHECK(hash_of(identity, there, FlowDirection::biflow) ==
          hash_of(identity, back, FlowDirection::biflow));
}
