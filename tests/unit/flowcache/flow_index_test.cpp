// SPDX-License-Identifier: Apache-2.0
#include "flowcache/flow_index.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

using namespace tributary;

namespace {

/// An index with its memory and, beside it, a std::map of the same entries.
struct Indexed {
    explicit Indexed(std::size_t flows) : memory(FlowIndex::buckets_for(flows)), index(memory) {}

    [[nodiscard]] EntryIndex find(FlowHash hash, EntryIndex entry) const {
        return index.find(index.home(hash),
                          [entry](EntryIndex candidate) { return candidate == entry; });
    }

    [[nodiscard]] bool insert(FlowHash hash, EntryIndex entry, FlowIndex::Place& place) {
        return index.insert(index.home(hash), entry, place);
    }

    std::vector<FlowIndex::Bucket> memory;
    FlowIndex index;
};

/// A hash of the bucket at the front, however many there are. Tags are made odd: those of 0 and 1
/// are the same, of 2 and 3, and so on.
constexpr FlowHash in_first_bucket(std::uint16_t tag) { return tag; }

}  // namespace

TEST_CASE("FlowIndex: random inserts and removes give what a map gives", "[flowcache][unit]") {
    const auto seed = GENERATE(1U, 2U, 3U);
    constexpr std::size_t kFlows = 2000;
    std::mt19937_64 random(seed);
    Indexed indexed(kFlows);
    std::map<EntryIndex, std::pair<FlowHash, FlowIndex::Place>> there;
    for (int n = 0; n < 50'000; ++n) {
        const auto entry = static_cast<EntryIndex>(random() % kFlows);
        const auto found = there.find(entry);
        if (found == there.end()) {
            const FlowHash hash = random();
            FlowIndex::Place place{};
            REQUIRE(indexed.find(hash, entry) == kNoEntry);
            REQUIRE(indexed.insert(hash, entry, place));
            there[entry] = {hash, place};
        } else if (random() % 2 == 0) {
            REQUIRE(indexed.find(found->second.first, entry) == entry);
        } else {
            indexed.index.remove(found->second.second, entry);
            REQUIRE(indexed.find(found->second.first, entry) == kNoEntry);
            there.erase(found);
        }
    }
    for (const auto& [entry, where] : there) {
        CHECK(indexed.find(where.first, entry) == entry);
        indexed.index.remove(where.second, entry);
    }
    // Nothing is left, no count of what was passed on either: a miss ends in its home bucket.
    for (const FlowIndex::Bucket& bucket : indexed.memory) {
        CHECK(bucket.overflowed == 0);
        CHECK(bucket.tags == std::array<std::uint16_t, FlowIndex::kSlots>{});
    }
}

TEST_CASE("FlowIndex: flows of one bucket go on into others of its group, and are found there",
          "[flowcache][unit]") {
    Indexed indexed(5000);
    std::vector<FlowIndex::Place> places(FlowIndex::kSlots * FlowIndex::kGroupBuckets);
    for (std::size_t n = 0; n < places.size(); ++n) {
        const auto entry = static_cast<EntryIndex>(n);
        REQUIRE(indexed.insert(in_first_bucket(static_cast<std::uint16_t>(n)), entry, places[n]));
        CHECK(places[n].distance == n / FlowIndex::kSlots);
    }
    for (std::size_t n = 0; n < places.size(); ++n) {
        const auto entry = static_cast<EntryIndex>(n);
        CHECK(indexed.find(in_first_bucket(static_cast<std::uint16_t>(n)), entry) == entry);
    }
    // The work for one lookup is bounded: one more is refused, and nothing has changed.
    FlowIndex::Place none{};
    CHECK_FALSE(indexed.insert(in_first_bucket(9), 9999, none));
    CHECK(indexed.memory[FlowIndex::kGroupBuckets].overflowed == 0);
    // Candidates come from the first two buckets.
    CHECK(indexed.index.candidate(indexed.index.home(in_first_bucket(3))) == 2);
    CHECK(indexed.index.candidate(indexed.index.home(in_first_bucket(13))) == 12);
    CHECK(indexed.index.candidate(indexed.index.home(in_first_bucket(21))) == kNoEntry);
    CHECK(indexed.index.candidate(indexed.index.home(in_first_bucket(999))) == kNoEntry);
    CHECK(indexed.index.any_in(indexed.index.home(in_first_bucket(9))) == 0);
    // What was passed on goes, and the count with it.
    for (std::size_t n = FlowIndex::kSlots; n < places.size(); ++n) {
        indexed.index.remove(places[n], static_cast<EntryIndex>(n));
    }
    CHECK(indexed.memory[0].overflowed == 0);
}

TEST_CASE("FlowIndex: the last bucket passes on to the one before it, of the same group",
          "[flowcache][unit]") {
    Indexed indexed(20);
    REQUIRE(indexed.memory.size() == FlowIndex::kGroupBuckets);
    const FlowHash last = ~FlowHash{0};
    for (EntryIndex entry = 0; entry < 11; ++entry) {
        FlowIndex::Place place{};
        REQUIRE(indexed.insert(last, entry, place));
        CHECK(place.bucket == indexed.memory.size() - (entry < FlowIndex::kSlots ? 1 : 2));
        CHECK(indexed.find(last, entry) == entry);
    }
    CHECK(indexed.memory.back().overflowed == 1);
    FlowIndex::Place place{};
    const FlowHash with_another_tag = last - 2;
    REQUIRE(indexed.insert(with_another_tag, 11, place));
    CHECK(place.distance == 1);
    CHECK(indexed.index.candidate(indexed.index.home(with_another_tag)) == 11);
}
