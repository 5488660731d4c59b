// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "flowcache/flow_key.hpp"

namespace tributary {

using FlowHash = std::uint64_t;

/// Keyed hash of a flow key: XXH3 under a random 64-bit seed, so that nobody outside can prepare
/// keys that meet in one bucket. A CRC would be twice as fast but cannot be keyed: it is linear,
/// and a pair that collides does so under every seed. Equality is always decided by the whole key.
class FlowHasher {
public:
    /// A hasher with a seed of its own from the kernel's random source.
    [[nodiscard]] static FlowHasher random() {
        std::random_device source;
        return FlowHasher((std::uint64_t{source()} << 32U) | source());
    }
    explicit FlowHasher(std::uint64_t seed) noexcept : seed_(seed) {}

    /// @cost  about 4 ns, no allocation
    [[nodiscard]] FlowHash operator()(const FlowKey& key) const noexcept {
        return XXH3_64bits_withSeed(&key, sizeof(key), seed_);
    }

private:
    std::uint64_t seed_;
};

}  // namespace tributary
