// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "flowcache/flow_entries.hpp"
#include "flowcache/flow_identity.hpp"
#include "flowcache/flow_index.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/options.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// A burst on its way into one cache. An input path that parses adds each packet as soon as its
/// fields are known, so that memory works while the next ones are parsed:
///
///     each packet   key and hash
///     each group    asks for the group's buckets; by their buckets, which are there by now, it
///                   guesses the entries of an earlier group, and asks for the entries' lines
///
/// The guess is only that: the cache compares the whole key when the packet's turn comes, because a
/// packet before it may have moved things.
///
/// Requests leave in groups, because one whose page is not in the TLB holds up what follows until
/// the page was walked to, and walks overlap only where requests stand close together. Where
/// neighbours keep the memory busy, packets with their requests one by one took 1.2 times as long
/// at ten million flows; on a quiet machine there is no difference. And they leave a group at a
/// time, because a processor has room for some 16 of them, and what finds no room holds up all that
/// follows: as passes over the whole burst they took 1.1 times as long at a million flows.
///
/// Keys are hashed right behind their stores, so write_key() and FlowHasher use the same whole
/// words: a load that spans narrower stores waits for them, which cost 8 ns.
///
/// @thread  the one that owns the cache; nothing allocates
class KeyedBurst {
public:
    /// FlowCache::burst() makes one. `options` are copied, the others lead into the cache.
    KeyedBurst(const FlowCacheOptions& options, const FlowIdentity& identity,
               const FlowIndex& index, const EntryPlaces& entries) noexcept
        : index_(index), entries_(entries), identity_(identity), options_(options) {}

    KeyedBurst(const KeyedBurst&) = delete;
    KeyedBurst& operator=(const KeyedBurst&) = delete;
    ~KeyedBurst() = default;

    void clear() noexcept {
        end_ = packets_.data();
        guessed_ = packets_.data();
    }

    /// Adds a packet; at most kBurstPackets since clear().
    ///
    /// @param packet, fields  borrowed until the burst is accounted
    void add(const PacketView& packet, const PacketFields& fields) noexcept {
        KeyedPacket* const keyed = end_;
        end_ = keyed + 1;
        key_packet(*keyed, packet, fields, options_);
        keyed->hash = identity_.hash(*keyed);
        if ((end_ - packets_.data()) % kGroup == 0) {
            end_group();
        }
    }
    /// The packets, in the order in which they were added; good until the next clear().
    [[nodiscard]] std::span<const KeyedPacket> finish() noexcept {
        ask_for_buckets((end_ - packets_.data()) % kGroup);
        guess_until(end_);
        return {packets_.data(), end_};
    }

private:
    static constexpr std::ptrdiff_t kGroup = 8;
    /// Packets between the two steps: time for memory to answer.
    static constexpr std::ptrdiff_t kAhead = 2 * kGroup;

    /// Never inlined, so that what each packet needs stays in registers.
    [[gnu::noinline]] void end_group() noexcept {
        ask_for_buckets(kGroup);
        if (end_ - guessed_ > kAhead) {
            guess_until(end_ - kAhead);
        }
    }
    /// @param count  of the last packets
    void ask_for_buckets(std::ptrdiff_t count) const noexcept {
        for (const KeyedPacket* packet = end_ - count; packet != end_; ++packet) {
            index_.prefetch(packet->hash);
        }
    }
    void guess_until(KeyedPacket* end) noexcept {
        for (; guessed_ != end; ++guessed_) {
            guessed_->guess = index_.guess(guessed_->hash);
            if (guessed_->guess != kNoEntry) {
                entries_.prefetch(guessed_->guess, guessed_->key);
            }
        }
    }

    // In an order that leaves no gaps.
    std::array<KeyedPacket, kBurstPackets> packets_;
    KeyedPacket* end_ = packets_.data();      ///< behind the last one
    KeyedPacket* guessed_ = packets_.data();  ///< the first one without a guess
    FlowIndex index_;
    EntryPlaces entries_;
    FlowIdentity identity_;
    FlowCacheOptions options_;
};

}  // namespace tributary
