// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "flowcache/flow_entries.hpp"
#include "flowcache/flow_identity.hpp"
#include "flowcache/flow_index.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// A burst on its way into one cache. An input path that parses adds each packet as soon as its
/// fields are known, so that memory works while the next ones are parsed:
///
///     each group    makes the group's keys and hashes, and asks for their buckets; by their
///                   buckets, which are there by now, it guesses the entries of an earlier group,
///                   and asks for the entries' lines
///
/// The guess is only that: the cache compares the whole key when the packet's turn comes, because a
/// packet before it may have moved things.
///
/// Requests leave in groups, because one whose page is not in the TLB holds up what follows until
/// the page was walked to, and walks overlap only where requests stand close together. Where
/// neighbours keep the memory busy, packets with their requests one by one took 1.2 times as long
/// at ten million flows; on a quiet machine there is no difference.
///
/// They leave a group at a time, because a processor has room for some 16 of them, and what finds
/// no room holds up all that follows: as passes over the whole burst they took 1.1 times as long at
/// a million flows. Lines of a burst's last kAhead packets do leave together, in finish(): to ask
/// for them between accounting one group and the next was no quicker. Nor was it, but for 2 % at a
/// million flows, to ask for them while the next burst is parsed, and to account each burst behind
/// that: fields of two bursts crowd the first-level cache, and few flows took 1.05 to 1.1 times as
/// long.
///
/// Lines come into the second-level cache, and LookAhead fetches each from there. Straight into the
/// first one, and asked for two groups behind their buckets instead of five, a packet took 1.1
/// times as long at a million flows, and 1.2 times where a tenth of them is replaced each second.
///
/// Keys are made a group at a time too, in a loop whose secrets and settings stay in registers:
/// made packet by packet, between parsing one and the next, a key took 1.2 times the instructions.
///
/// Keys are made soon behind the fields' stores, and hashed right behind their own, so parsers of
/// plain packets, PacketFields::flow_word(), write_key() and FlowHasher use the same whole words: a
/// load that spans narrower stores waits for them, which cost 8 ns.
///
/// @thread  the one that owns the cache; nothing allocates
class KeyedBurst {
public:
    /// FlowCache::burst() makes one. Settings and seed are copied; index and entries lead into the
    /// cache.
    KeyedBurst(const FlowCacheOptions& options, const FlowIdentity& identity,
               const FlowIndex& index, const EntryPlaces& entries) noexcept
        : index_(index),
          entries_(entries),
          identity_(identity),
          direction_(options.direction),
          vlan_in_key_(options.vlan_in_key) {}

    KeyedBurst(const KeyedBurst&) = delete;
    KeyedBurst& operator=(const KeyedBurst&) = delete;
    ~KeyedBurst() = default;

    void clear() noexcept {
        end_ = packets_.data();
        group_end_ = end_ + kGroup;
        keyed_ = packets_.data();
        guessed_ = packets_.data();
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
            advance(kAhead);
        }
    }
    /// The packets, in the order in which they were added; good until the next clear().
    [[nodiscard]] std::span<const KeyedPacket> finish() noexcept {
        advance(0);
        return {packets_.data(), end_};
    }

private:
    static constexpr std::ptrdiff_t kGroup = 8;
    /// Packets between the two steps: time for memory to answer, 160 ns and more, of which parsing
    /// and keying a frame pass five.
    static constexpr std::ptrdiff_t kAhead = 5 * kGroup;

    /// Takes all packets through the first step, and all but the last `ahead` through the second.
    /// Never inlined, so that what each packet needs stays in registers.
    [[gnu::noinline]] void advance(std::ptrdiff_t ahead) noexcept {
        if (direction_ == FlowDirection::uniflow) {
            key_until<FlowDirection::uniflow>(end_);
        } else {
            key_until<FlowDirection::biflow>(end_);
        }
        if (end_ - guessed_ <= ahead) {
            return;
        }
        if (entries_.has_groups()) {
            guess_until<true>(end_ - ahead);
        } else {
            guess_until<false>(end_ - ahead);
        }
    }

    // Each step works on copies of what it needs, which no store to a packet can change, so that
    // they stay in registers.
    template <FlowDirection kDirection>
    [[gnu::always_inline]] void key_until(KeyedPacket* end) noexcept {
        const bool vlan_in_key = vlan_in_key_;
        const FlowIdentity identity = identity_;
        const FlowIndex index = index_;
        for (KeyedPacket* packet = keyed_; packet != end; ++packet) {
            key_packet(*packet, kDirection, vlan_in_key);
            FlowHash hash = identity.hash_of_key(packet->key);
            if (identity.goes_beyond(packet->key)) {
                hash = extended(hash, *packet);
            }
            packet->home = index.home(hash);
            index.prefetch(packet->home);
        }
        keyed_ = end;
    }
    /// Never inlined, so that the others' way is short.
    [[gnu::noinline]] FlowHash extended(FlowHash hash, const KeyedPacket& packet) const noexcept {
        return identity_.extended(hash, packet);
    }
    template <bool kHasGroups>
    [[gnu::always_inline]] void guess_until(KeyedPacket* end) noexcept {
        const FlowIndex index = index_;
        const EntryPlaces entries = entries_;
        for (KeyedPacket* packet = guessed_; packet != end; ++packet) {
            const EntryIndex guess = index.guess(packet->home);
            if (guess == kNoEntry) {
                packet->guess = nullptr;
                continue;
            }
            packet->guess = entries.prefetch<kHasGroups>(guess, packet->key);
        }
        guessed_ = end;
    }

    // In an order that leaves no gaps. One group more, which is never used, lies behind the last
    // packet, so that group_end_ has where to point.
    std::array<KeyedPacket, kBurstPackets + kGroup> packets_;
    KeyedPacket* end_ = packets_.data();                 ///< behind the last one
    KeyedPacket* keyed_ = packets_.data();               ///< the first one without a key
    KeyedPacket* guessed_ = packets_.data();             ///< the first one without a guess
    KeyedPacket* group_end_ = packets_.data() + kGroup;  ///< when it is full, the next step comes
    FlowIndex index_;
    EntryPlaces entries_;
    FlowIdentity identity_;
    FlowDirection direction_;
    bool vlan_in_key_;
};

}  // namespace tributary
