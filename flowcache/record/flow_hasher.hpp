// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>

#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/load_word.hpp"

namespace tributary {

/// The two halves of a product, one on the other: each bit of it depends on all of both factors. A
/// product of 128 bits in C++ would do, but g++ 12 sends some of those through memory, and the next
/// instructions wait for them.
///
/// @cost  2 instructions
[[nodiscard]] [[gnu::always_inline]] inline std::uint64_t folded_product(std::uint64_t a,
                                                                         std::uint64_t b) noexcept {
    std::uint64_t low = 0;   // NOLINT(misc-const-correctness): the instruction writes both
    std::uint64_t high = 0;  // NOLINT(misc-const-correctness)
    asm("mulx %[b], %[low], %[high]" : [low] "=r"(low), [high] "=r"(high) : "d"(a), [b] "r"(b));
    return low ^ high;
}

using FlowHash = std::uint64_t;

/// Keyed hash under a random 64-bit seed, so that a sender cannot prepare keys that meet in one
/// bucket. Equality is always decided by the whole key.
///
/// A ShortKey takes two multiplications whose 128-bit products are folded, with secrets on both
/// factors. That is what XXH3 does with 17 to 128 octets. Written out for the one size that every
/// packet needs, it takes a quarter of the instructions, and reads the key as it was written, so
/// that it need not wait for the stores. Other values are hashed by XXH3. A CRC would be as fast
/// but cannot be keyed: it is linear, and a pair that collides does so under every seed.
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
    explicit FlowHasher(std::uint64_t seed) noexcept : seed_(seed) {
        for (std::uint64_t i = 0; i < secrets_.size(); ++i) {
            secrets_[i] = XXH3_64bits_withSeed(&i, sizeof i, seed);
        }
    }

    /// @cost  10 instructions
    [[nodiscard]] FlowHash operator()(const ShortKey& key) const noexcept {
        const ShortKey::Words words = key.words();
        const std::uint64_t first = folded_product(words[0] ^ secrets_[0], words[1] ^ secrets_[1]);
        return folded_product(first ^ words[2], secrets_[2]);
    }
    /// @param value  of another type that is looked up by its bytes
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
    /// The same by octets. Two words at a time are multiplied, the first with the hash so far and
    /// the second with a secret on it; a single last word is multiplied by a secret. A last
    /// multiplication by a secret follows, so that each word goes through two. Words are read
    /// whole, as extractors write them.
    ///
    /// @param octets  a multiple of 8
    [[nodiscard]] FlowHash operator()(FlowHash key,
                                      std::span<const std::byte> octets) const noexcept {
        constexpr std::size_t kWord = sizeof(std::uint64_t);
        const std::byte* at = octets.data();
        const std::byte* const end = at + octets.size();
        for (; end - at >= static_cast<std::ptrdiff_t>(2 * kWord); at += 2 * kWord) {
            key = folded_product(key ^ load_word(at), secrets_[1] ^ load_word(at + kWord));
        }
        if (at != end) {
            key ^= load_word(at);
            key = folded_product(key, secrets_[2]);
        }
        return folded_product(key, secrets_[0]);
    }

private:
    std::uint64_t seed_;
    std::array<std::uint64_t, 3> secrets_{};
};

}  // namespace tributary
