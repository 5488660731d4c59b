// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/entry_index.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/prefetch.hpp"

namespace tributary {

// From a hash to the entries that may be the flow's. One bucket is one cache line:
//
//     bytes   0 ............ 19   20 ..... 21   22 .. 23   24 ........... 63
//             tags[10]            overflowed    unused     entries[10]
//
//   home bucket   the hash, scaled to the number of buckets (no power of two), so its upper bits
//   tag           the hash's lower 16 bits made odd, because 0 is a free slot
//   find          one AVX2 comparison gives all slots with the tag; of two flows in a bucket that
//                 is one in 32 000, so a hit reads one bucket and one entry
//   insert        into the home bucket, or, where that is full, the nearest of its group of 16 that
//                 is not: bucket home ^ 1, home ^ 2, ..; each full one passed over counts it in
//                 `overflowed`
//   a miss        ends at the first bucket that passed no flow on: `overflowed` is 0
//   remove        frees the slot and takes back the counts; no tombstones, nothing moves
//
// At full load a bucket holds five flows on average, so 3.2 % of them are full, 1.4 % pass flows
// on, and 0.4 % of flows lie in bucket home ^ 1: the other one of the same 128 octets, which some
// processors fetch along with it. Slots are cheap (6 bytes). So a flow's entry never moves, as
// other tables need it to, and a lookup never needs a second random line.
// This is F14's overflow counting (folly, F14Table.h) over buckets that hold indices, since entries
// have handles.
//
// Rejected, by the project's throw-away prototypes (DESIGN 4): open addressing over the 64-byte
// entries themselves (26-32 Mpps from 1 M to 20 M flows, where tags beside the entries reach
// 26-36), and single-choice buckets of eight, which overflow for 1-2 % of packets. Cuckoo hashing
// reads two random lines per miss and moves entries on insert. Buckets of 31 tags alone, each of
// which names the entry at its own place, make the index a quarter as large, and a packet 2 to 3 %
// quicker from 1 M to 10 M flows; with each bucket in the memory page of its entries 7 % at 10 M,
// but slower at 1 M and below. And a new flow then gets a line that no cache holds (with 10 % new a
// second at 10 M flows a packet took 1.3 to 1.6 times as long), a flow takes 23 bytes more, and
// records leave in the order of hashes.

class FlowIndex {
public:
    static constexpr std::size_t kSlots = 10;
    /// Buckets of a group, which is all that a lookup or an insert reads.
    static constexpr std::uint32_t kGroupBuckets = 16;

    struct alignas(64) Bucket {
        std::array<std::uint16_t, kSlots> tags;  ///< 0: free
        std::uint16_t overflowed;                ///< flows passed on from here
        std::uint16_t unused;
        std::array<EntryIndex, kSlots> entries;
    };
    static_assert(sizeof(Bucket) == 64);

    /// Where an entry went.
    struct Place {
        std::uint32_t bucket;
        std::uint32_t distance;  ///< from its home bucket, whose number is bucket ^ distance
    };

    /// Whole groups.
    [[nodiscard]] static std::size_t buckets_for(std::size_t flows) noexcept {
        constexpr std::size_t kMeanLoad = 5;
        return (flows / (kMeanLoad * kGroupBuckets) + 1) * kGroupBuckets;
    }

    /// @param buckets  buckets_for() of them, all zeros
    explicit FlowIndex(std::span<Bucket> buckets) noexcept : buckets_(buckets) {}

    [[nodiscard]] IndexHome home(FlowHash hash) const noexcept {
        __extension__ using Product = unsigned __int128;
        return {static_cast<std::uint32_t>(Product{hash} * buckets_.size() >> 64U),
                static_cast<std::uint16_t>(hash | 1U)};
    }
    void prefetch(IndexHome home) const noexcept { prefetch_to_read(&buckets_[home.bucket]); }
    /// Whether it exceeds the second-level cache of most processors.
    [[nodiscard]] bool is_large() const noexcept {
        constexpr std::size_t kSecondLevelBytes = std::size_t{1} << 20U;
        return buckets_.size_bytes() > kSecondLevelBytes;
    }
    /// prefetch() into the second-level cache.
    void prefetch_for_later(IndexHome home) const noexcept {
        tributary::prefetch_for_later(&buckets_[home.bucket]);
    }

    /// The first entry with the home's tag, most likely the flow's; or kNoEntry. Buckets behind the
    /// second one are not searched.
    [[nodiscard]] EntryIndex candidate(IndexHome home) const noexcept {
        const Bucket& bucket = buckets_[home.bucket];
        const std::uint32_t found = slots_with(bucket, home.tag);
        if (found == 0) [[unlikely]] {
            return bucket.overflowed == 0 ? kNoEntry : candidate_in_second(home);
        }
        const EntryIndex entry = bucket.entries[slot_of(found)];
        if (entry == kNoEntry) {
            __builtin_unreachable();  // insert() never takes kNoEntry, so the caller's test for it
                                      // is dropped
        }
        return entry;
    }

    /// @param is_same  whether an entry is the flow's
    /// @return         kNoEntry: none is
    /// @cost           one bucket, rarely two, never more than kGroupBuckets
    template <class IsSame>
    [[nodiscard]] EntryIndex find(IndexHome home, const IsSame& is_same) const noexcept {
        for (std::uint32_t distance = 0; distance < kGroupBuckets; ++distance) {
            const Bucket& bucket = buckets_[home.bucket ^ distance];
            const EntryIndex entry = find_in(bucket, home.tag, is_same);
            if (entry != kNoEntry || bucket.overflowed == 0) {
                return entry;
            }
        }
        return kNoEntry;
    }

    /// @param entry  not kNoEntry
    /// @return  false: the home bucket's group is full; nothing has changed. With buckets_for() as
    ///          many as there are flows and a keyed hash this does not happen.
    [[nodiscard]] bool insert(IndexHome home, EntryIndex entry, Place& place) noexcept {
        for (std::uint32_t distance = 0; distance < kGroupBuckets; ++distance) {
            const std::uint32_t at = home.bucket ^ distance;
            Bucket& bucket = buckets_[at];
            if (const std::uint32_t free = slots_with(bucket, 0); free != 0) {
                bucket.tags[slot_of(free)] = home.tag;
                bucket.entries[slot_of(free)] = entry;
                place = {.bucket = at, .distance = distance};
                count_overflow(place, +1);
                return true;
            }
        }
        return false;
    }

    void remove(Place place, EntryIndex entry) noexcept {
        Bucket& bucket = buckets_[place.bucket];
        for (std::size_t slot = 0; slot < kSlots; ++slot) {
            if (bucket.entries[slot] == entry) {
                bucket.tags[slot] = 0;
            }
        }
        count_overflow(place, -1);
    }

    /// One of the entries in a home bucket, which is full.
    [[nodiscard]] EntryIndex any_in(IndexHome home) const noexcept {
        return buckets_[home.bucket].entries[0];
    }
    void prefetch_bucket(std::uint32_t bucket) const noexcept {
        prefetch_to_write(&buckets_[bucket]);
    }

private:
    /// candidate() for a flow that its home bucket has passed on. Never inlined, so that the common
    /// path is short.
    [[nodiscard, gnu::noinline]] EntryIndex candidate_in_second(IndexHome home) const noexcept {
        return find_in(buckets_[home.bucket ^ 1U], home.tag, [](EntryIndex) { return true; });
    }
    template <class IsSame>
    [[nodiscard]] static EntryIndex find_in(const Bucket& bucket, std::uint16_t tag,
                                            const IsSame& is_same) noexcept {
        for (std::uint32_t left = slots_with(bucket, tag); left != 0; left &= left - 1) {
            const EntryIndex entry = bucket.entries[slot_of(left)];
            if (is_same(entry)) {
                return entry;
            }
        }
        return kNoEntry;
    }
    /// One of two bits for each slot with this tag; slot_of() finds the slot of the lowest one.
    [[nodiscard]] static std::uint32_t slots_with(const Bucket& bucket,
                                                  std::uint16_t tag) noexcept {
        constexpr std::uint32_t kOneBitPerSlot = 0x5'5555;  // of the two that a comparison gives
        const __m256i tags = _mm256_load_si256(reinterpret_cast<const __m256i*>(&bucket));
        const __m256i equal = _mm256_cmpeq_epi16(tags, _mm256_set1_epi16(static_cast<short>(tag)));
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(equal)) & kOneBitPerSlot;
    }
    [[nodiscard]] static std::size_t slot_of(std::uint32_t slots) noexcept {
        return static_cast<std::size_t>(std::countr_zero(slots)) / 2;
    }

    /// Counts in the full buckets before `place` that a flow was passed on, or is no more.
    void count_overflow(Place place, int change) noexcept {
        static_assert(kSlots * kGroupBuckets < 0xFFFF);  // no bucket passes on more flows
        const std::uint32_t home = place.bucket ^ place.distance;
        for (std::uint32_t step = 0; step < place.distance; ++step) {
            std::uint16_t& overflowed = buckets_[home ^ step].overflowed;
            overflowed = static_cast<std::uint16_t>(overflowed + change);
        }
    }

    std::span<Bucket> buckets_;
};

}  // namespace tributary
