// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/cache_counters.hpp"

namespace tributary {

/// What a burst adds to a cache's counters, in registers until a record may leave: nobody is to see
/// one with packets that were never counted. Inlined, or it would go through memory.
///
/// @thread  the one that owns the cache
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

}  // namespace tributary
