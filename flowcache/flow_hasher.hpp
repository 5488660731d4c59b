// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <type_traits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "flowcache/flow_key.hpp"

namespace tributary {

using FlowHash = std::uint64_t;

/// Keyed hash of a flow key: XXH3 under a random 64-bit seed, so that nobody outside can prepare
/// keys that meet in one bucket. A CRC would be twice as fast but cannot be keyed: it is linear,
/// and a pair that collides does so under every seed. Equality is always decided by the whole key.
///
/// The RSS hash that a NIC computes is not used in its place, nor mixed in to save work: it is
/// linear too, its key is the published symmetric one, it leaves out VLAN, interface and, for some
/// packets, ports, and drivers give it for some packets only. It could not choose between several
/// streams of one flow's packets either, because all packets of a flow must make the same choice.
class FlowHasher {
public:
    /// A hasher with a seed of its own from the kernel's random source.
    [[nodiscard]] static FlowHasher random() {
        std::random_device source;
        return FlowHasher((std::uint64_t{source()} << 32U) | source());
    }
    explicit FlowHasher(std::uint64_t seed) noexcept : seed_(seed) {}

    /// @param value  a flow key, or what else is looked up by its bytes
    /// @cost         about 2.5 ns for a flow key, no allocation
    template <class Value>
        requires std::has_unique_object_representations_v<Value>
    [[nodiscard]] FlowHash operator()(const Value& value) const noexcept {
        return XXH3_64bits_withSeed(&value, sizeof(value), seed_);
    }

    /// Extends the hash of a key by a part that not every packet has in its key.
    template <class Part>
        requires std::has_unique_object_representations_v<Part>
    [[nodiscard]] FlowHash operator()(FlowHash key, const Part& part) const noexcept {
        return XXH3_64bits_withSeed(&part, sizeof(part), seed_ ^ key);
    }

private:
    std::uint64_t seed_;
};

}  // namespace tributary
