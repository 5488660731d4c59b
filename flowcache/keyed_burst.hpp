// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/declared_key.hpp"
#include "flowcache/flow_entries.hpp"
#include "flowcache/flow_index.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/key_matcher.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/record/prefetch.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// How packets come into a KeyedBurst.
enum class BurstFilling : std::uint8_t {
    one_by_one,  ///< each as it comes; the key's extractor takes the octets of its declared key
    at_once,     ///< all when they are parsed, before another cache accounts them; the caller has
                 ///< taken the octets of their keys
};

/// A burst on its way into one cache. An input path that parses adds each packet as soon as its
/// fields are known, so that memory works while the next ones are parsed:
///
///     first step    of each group: makes its keys and hashes, and prefetches their buckets
///     second step   of the group `ahead` packets before: finds its candidates in the buckets,
///                   which are there by now, and prefetches the candidates' HotEntries
///
/// A candidate may be wrong: the cache compares the whole key when it accounts the packet, because
/// a packet before it may have moved things. Then it leaves the right entry in the packet.
///
/// Requests leave in groups, because one whose page is not in the TLB holds up what follows until
/// the page walk ends, and walks overlap only where requests stand close together. While other
/// programs keep the memory busy, packets with their requests one by one took 1.2 times as long at
/// ten million flows; on a quiet machine there is no difference.
///
/// They leave a group at a time, because a processor has room for some 16 of them, and a request
/// without room holds up all that follows: as passes over the whole burst they took 1.1 times as
/// long at a million flows. The HotEntries of a burst's last `ahead` packets are requested
/// together, in finish(): requests between the accounting of one group and the next were no
/// quicker. A third way was to request them while the next burst is parsed, and to account each
/// burst after that. It gained 2 % at a million flows and nothing elsewhere: fields of two bursts
/// crowd the first-level cache, and few flows took 1.05 to 1.1 times as long.
///
/// HotEntries come into the second-level cache, and BurstPrefetch fetches each from there. Straight
/// into the first-level cache, and requested two groups behind their buckets instead of five, a
/// packet took 1.1 times as long at a million flows, and 1.2 times where a tenth of them is
/// replaced each second.
///
/// The queue of a declared table fills its burst at once, before the main table's cache accounts
/// the same packets: the processor loads the table's lines while the input thread does that. So
/// its second step follows the first one after fewer packets, kAheadAtOnce, in which time the
/// buckets have come, and most HotEntries are requested before the main table's turn. With both a
/// declared table added 0.9 times as much time as before, at a million flows. Where the octets of
/// all packets' keys were taken before, the first step goes over the whole burst, and then the
/// second one over all but the last kAheadAtOnce packets.
///
/// Buckets of a large index come into the second-level cache. At a million flows and more, uniflows
/// gained 1.03 to 1.1 times, biflows nothing, and a declared table added 1.1 to 1.5 times as much
/// time without that. An index that fits the second-level cache is faster with its buckets in the
/// first one, 1.03 times with 16,384 flows.
///
/// Keys are made a group at a time too, in a loop whose secrets and settings stay in registers:
/// made packet by packet, between two parsed packets, a key took 1.2 times the instructions.
///
/// Keys are made soon after the fields are stored, and hashed right after the keys are. So parsers
/// of plain packets, PacketFields::flow_word(), write_key() and FlowHasher use the same whole
/// words: a load that spans narrower stores waits for them, which cost 8 ns.
///
/// @thread  the thread that owns the cache; nothing allocates
class KeyedBurst {
public:
    /// FlowCache::burst() makes one. Settings and seed are copied; index and entries lead into the
    /// cache.
    KeyedBurst(const FlowCacheOptions& options, const KeyMatcher& matcher, const FlowIndex& index,
               const EntryPlaces& entries, BurstFilling filling) noexcept
        : index_(index),
          entries_(entries),
          matcher_(matcher),
          masks_(options.key),
          kind_(kind_of(options, matcher)),
          is_large_(index.is_large()),
          filling_(filling),
          ahead_(filling == BurstFilling::at_once ? kAheadAtOnce : kAhead) {}

    KeyedBurst(const KeyedBurst&) = delete;
    KeyedBurst& operator=(const KeyedBurst&) = delete;
    ~KeyedBurst() = default;

    void clear() noexcept {
        end_ = packets_.data();
        group_end_ = end_ + kGroup;
        keyed_ = packets_.data();
        without_candidate_ = packets_.data();
    }

    /// Adds a packet; at most kBurstPackets since clear().
    ///
    /// @param packet, fields  borrowed until the burst is accounted
    void add(const PacketView& packet, const PacketFields& fields) noexcept {
        end_->packet = &packet;
        end_->fields = &fields;
        ++end_;
        if (end_ == group_end_) {
            group_end_ += kGroup;
            advance(ahead_);
        }
    }
    /// The same of several packets of a burst that is filled at once.
    ///
    /// @param packets  have pointers `packet` and `fields`
    /// @param which    a bit for each packet that is added
    /// @param octets   of the first one, as the key's extractor takes them, borrowed as the packets
    ///                 are; they are turned to the canonical key's direction
    /// @param stride   from the octets of one packet to those of the next
    template <class Packets>
    void add(const Packets& packets, PacketMask which, std::byte* octets,
             std::size_t stride) noexcept {
        KeyedPacket* end = end_;  // in a register
        for (const auto& each : packets) {
            end->packet = each.packet;
            end->fields = each.fields;
            end->extension = octets;
            octets += stride;
            end += which & 1U;
            which >>= 1U;
        }
        end_ = end;
        group_end_ = packets_.data() + (end_ - packets_.data()) / kGroup * kGroup + kGroup;
        advance(ahead_);
    }
    /// The packets, in the order in which they were added; valid until the next clear().
    [[nodiscard]] std::span<KeyedPacket> finish() noexcept {
        advance(0);
        return {packets_.data(), end_};
    }

private:
    /// What the loop that makes keys has to do.
    enum class Kind : std::uint8_t {
        uniflow,
        biflow,
        masked_uniflow,
        masked_biflow,
        declared_uniflow,
        declared_biflow,
        in_short_key,  ///< a declared key of uniflows
    };

    static constexpr std::ptrdiff_t kGroup = 8;
    /// Packets between the two steps: memory takes 160 ns and more to answer, and parsing and
    /// keying a frame takes 5 ns.
    static constexpr std::ptrdiff_t kAhead = 5 * kGroup;
    static constexpr std::ptrdiff_t kAheadAtOnce = 3 * kGroup;

    [[nodiscard]] static Kind kind_of(const FlowCacheOptions& options,
                                      const KeyMatcher& matcher) noexcept {
        const bool is_uniflow = options.direction == FlowDirection::uniflow;
        if (matcher.declared().is_in_short_key()) {
            return Kind::in_short_key;
        }
        if (options.key.extension == KeyExtension::declared) {
            return is_uniflow ? Kind::declared_uniflow : Kind::declared_biflow;
        }
        if (KeyMasks(options.key).is_whole()) {
            return is_uniflow ? Kind::uniflow : Kind::biflow;
        }
        return is_uniflow ? Kind::masked_uniflow : Kind::masked_biflow;
    }

    /// Takes all packets through the first step, and all but the last `ahead` through the second.
    /// Never inlined, so that what each packet needs stays in registers.
    [[gnu::noinline]] void advance(std::ptrdiff_t ahead) noexcept {
        if (is_large_) {
            make_keys<true>();
        } else {
            make_keys<false>();
        }
        if (end_ - without_candidate_ <= ahead) {
            return;
        }
        if (entries_.has_groups()) {
            find_candidates_until<true>(end_ - ahead);
        } else {
            find_candidates_until<false>(end_ - ahead);
        }
    }
    /// @tparam kForLater  buckets are prefetched into the second-level cache
    template <bool kForLater>
    [[gnu::always_inline]] void make_keys() noexcept {
        switch (kind_) {
            case Kind::uniflow:
                key_until<kForLater, FlowDirection::uniflow>(end_, masks_.whole());
                break;
            case Kind::biflow:
                key_until<kForLater, FlowDirection::biflow>(end_, masks_.whole());
                break;
            case Kind::masked_uniflow:
                key_until<kForLater, FlowDirection::uniflow>(end_, masks_);
                break;
            case Kind::masked_biflow:
                key_until<kForLater, FlowDirection::biflow>(end_, masks_);
                break;
            case Kind::declared_uniflow:
                key_declared_until<kForLater, FlowDirection::uniflow>(end_);
                break;
            case Kind::declared_biflow:
                key_declared_until<kForLater, FlowDirection::biflow>(end_);
                break;
            case Kind::in_short_key:
                key_with_octets_until<kForLater>(end_);
                break;
        }
    }

    // Each step works on copies of what it needs, which no store to a packet can change, so that
    // they stay in registers.
    template <bool kForLater, FlowDirection kDirection, class Masks>
    [[gnu::always_inline]] void key_until(KeyedPacket* end, Masks masks) noexcept {
        const KeyMatcher matcher = matcher_;
        const FlowIndex index = index_;
        for (KeyedPacket* packet = keyed_; packet != end; ++packet) {
            key_packet(*packet, kDirection, masks);
            find_home<kForLater>(*packet, matcher, index);
        }
        keyed_ = end;
    }
    /// Hashes the key of a packet, and requests the bucket of the hash.
    template <bool kForLater>
    [[gnu::always_inline]] void find_home(KeyedPacket& packet, const KeyMatcher& matcher,
                                          const FlowIndex& index) const noexcept {
        FlowHash hash = matcher.hash_of_key(packet.key);
        if (matcher.goes_beyond(packet.key)) {
            hash = extended(hash, packet);
        }
        packet.home = index.home(hash);
        prefetch<kForLater>(packet.home, index);
    }
    template <bool kForLater>
    [[gnu::always_inline]] static void prefetch(IndexHome home, const FlowIndex& index) noexcept {
        if constexpr (kForLater) {
            index.prefetch_for_later(home);
        } else {
            index.prefetch(home);
        }
    }
    /// Never inlined, so that the path of other packets is short.
    [[gnu::noinline]] FlowHash extended(FlowHash hash, const KeyedPacket& packet) const noexcept {
        return matcher_.extended(hash, packet);
    }
    /// key_until() of declared keys. Never inlined, so that advance() is short.
    template <bool kForLater, FlowDirection kDirection>
    [[gnu::noinline]] void key_declared_until(KeyedPacket* end) noexcept {
        extract_until(end);
        const KeyMatcher matcher = matcher_;
        const KeyMasks masks = masks_;
        const FlowIndex index = index_;
        for (KeyedPacket* packet = keyed_; packet != end; ++packet) {
            key_packet(*packet, kDirection, masks);
            matcher.declared().put_in_key(*packet, masks);
            packet->home = index.home(matcher.declared_hash(*packet));
            prefetch<kForLater>(packet->home, index);
        }
        keyed_ = end;
    }
    /// key_until() of declared keys whose octets are in the ShortKeys.
    template <bool kForLater>
    [[gnu::noinline]] void key_with_octets_until(KeyedPacket* end) noexcept {
        extract_until(end);
        // Not copies: the loop has more of them than registers.
        const KeyMatcher& matcher = matcher_;
        const KeyMasks& masks = masks_;
        const FlowIndex index = index_;
        const DeclaredKey::InShortKey place = matcher.declared().in_short_key();
        for (KeyedPacket* packet = keyed_; packet != end; ++packet) {
            const ShortKey::Words of_packet =
                words_of_packet(*packet->fields, packet->packet->ingress_interface);
            packet->key.set_words(place.with_octets(masks.masked(of_packet), packet->extension));
            find_home<kForLater>(*packet, matcher, index);
        }
        keyed_ = end;
    }
    /// Has the octets of declared keys taken, unless they were added with the packets.
    void extract_until(KeyedPacket* end) noexcept {
        if (filling_ == BurstFilling::at_once) {
            return;
        }
        for (KeyedPacket* packet = keyed_; packet != end; ++packet) {
            const auto place = static_cast<std::size_t>(packet - packets_.data());
            matcher_.declared().extract(*packet, extensions_[place].data());
        }
    }
    template <bool kHasGroups>
    [[gnu::always_inline]] void find_candidates_until(KeyedPacket* end) noexcept {
        const FlowIndex index = index_;
        const EntryPlaces entries = entries_;
        for (KeyedPacket* packet = without_candidate_; packet != end; ++packet) {
            const EntryIndex candidate = index.candidate(packet->home);
            if (candidate == kNoEntry) {
                packet->entry = nullptr;
                continue;
            }
            packet->entry = entries.prefetch<kHasGroups>(candidate, packet->key);
        }
        without_candidate_ = end;
    }

    // In an order that leaves no gaps. One group more, which is never used, lies behind the last
    // packet, so that group_end_ points into the array.
    std::array<KeyedPacket, kBurstPackets + kGroup> packets_;
    KeyedPacket* end_ = packets_.data();                 ///< behind the last one
    KeyedPacket* keyed_ = packets_.data();               ///< the first one without a key
    KeyedPacket* without_candidate_ = packets_.data();   ///< the first one without a candidate
    KeyedPacket* group_end_ = packets_.data() + kGroup;  ///< when it is full, the next step comes
    FlowIndex index_;
    EntryPlaces entries_;
    KeyMatcher matcher_;
    KeyMasks masks_;
    Kind kind_;
    bool is_large_;  ///< the index
    BurstFilling filling_;
    std::ptrdiff_t ahead_;  ///< packets between the two steps
    // Last, because most tables never touch it.
    struct alignas(8) Extension : DeclaredKey::Octets {};
    std::array<Extension, kBurstPackets> extensions_;
};

/// What a burst adds to a cache's counters, in registers until a record may leave: no reader may
/// see a record whose packets are not counted. Inlined, so that it does not go through memory.
///
/// @thread  the thread that owns the cache
class BurstCounts {
public:
    explicit BurstCounts(const KeyedPacket* first) noexcept : from_(first) {}

    [[gnu::always_inline]] void add(const KeyedPacket& packet) noexcept {
        octets_ += packet.fields->ip_bytes;
    }
    /// @param until  behind the last packet that was added
    [[gnu::always_inline]] void move_to(CacheCounters& counters,
                                        const KeyedPacket* until) noexcept {
        counters.packets.add(static_cast<std::uint64_t>(until - from_));
        counters.octets.add(octets_);
        *this = BurstCounts(until);
    }

private:
    const KeyedPacket* from_;  ///< the first packet that is not in the counters
    std::uint64_t octets_ = 0;
};

/// Prefetches what a burst's later packets will touch: their HotEntries, which KeyedBurst has
/// brought into the second-level cache, and states of groups with hooks. HotEntries of a burst's
/// first four packets are not prefetched. A candidate may be wrong.
///
/// @tparam Update  EntryUpdate
template <class Update>
class BurstPrefetch {
public:
    /// @param update   outlives this
    /// @param packets  of the burst
    BurstPrefetch(const Update& update, std::span<const KeyedPacket> packets) noexcept
        : states_(update.hooks(), packets) {}

    /// @param packets  those that are not added yet, one fewer each time
    [[gnu::always_inline]] void step(std::span<const KeyedPacket> packets) noexcept {
        if (packets.size() > kHotEntry) {
            prefetch_to_write(
                packets[kHotEntry].entry);  // a prefetch of nullptr is cheaper than a test
        }
        states_.step(packets);
    }

private:
    static constexpr std::size_t kHotEntry = 4;  ///< packets between prefetch and accounting

    typename Update::Hooks::Prefetch states_;
};

}  // namespace tributary
