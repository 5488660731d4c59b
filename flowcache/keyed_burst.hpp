// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
///     packet i           key and hash; asks for its bucket
///     packet i - kAhead  guesses its entry by the bucket; asks for the entry's lines
///
/// The guess is only that: the cache compares the whole key when the packet's turn comes, because a
/// packet before it may have moved things.
///
/// So requests leave evenly, a few at a time: a processor has room for some 16 of them, and what
/// finds no room holds up all that follows. Asked for in passes over the parsed burst, the same
/// lines took 6 ns a packet more at a million flows, and 5 at ten million. Keys are hashed right
/// behind their stores, so write_key() and FlowHasher use the same whole words: a load that spans
/// narrower stores waits for them, which cost 8 ns.
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

    void clear() noexcept { end_ = packets_.data(); }

    /// Adds a packet; at most kBurstPackets since clear().
    ///
    /// @param packet, fields  borrowed until the burst is accounted
    void add(const PacketView& packet, const PacketFields& fields) noexcept {
        KeyedPacket* const keyed = end_;
        end_ = keyed + 1;
        key_packet(*keyed, packet, fields, options_);
        keyed->hash = identity_.hash(*keyed);
        index_.prefetch(keyed->hash);
        if (keyed - packets_.data() >= kAhead) {
            guess(*(keyed - kAhead));
        }
    }
    /// The packets, in the order in which they were added; good until the next clear().
    [[nodiscard]] std::span<const KeyedPacket> finish() noexcept {
        const std::ptrdiff_t count = end_ - packets_.data();
        for (KeyedPacket* left = end_ - std::min(count, kAhead); left != end_; ++left) {
            guess(*left);
        }
        return {packets_.data(), end_};
    }

private:
    /// Packets between the two steps: time for memory to answer.
    static constexpr std::ptrdiff_t kAhead = 24;

    void guess(KeyedPacket& packet) const noexcept {
        packet.guess = index_.guess(packet.hash);
        if (packet.guess != kNoEntry) {
            entries_.prefetch(packet.guess, packet.key);
        }
    }

    // In an order that leaves no gaps.
    std::array<KeyedPacket, kBurstPackets> packets_;
    KeyedPacket* end_ = packets_.data();  ///< behind the last one
    FlowIndex index_;
    EntryPlaces entries_;
    FlowIdentity identity_;
    FlowCacheOptions options_;
};

}  // namespace tributary
