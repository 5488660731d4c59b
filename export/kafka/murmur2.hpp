// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary {

/// The hash of a key by which Java's producers, Kafka Streams and librdkafka's partitioner
/// `murmur2` choose a partition.
/// @source  MurmurHash2 (Appleby), 32 bits, with the seed of Kafka's Utils.murmur2()
[[nodiscard]] constexpr std::uint32_t murmur2(std::span<const std::byte> key) noexcept {
    constexpr std::uint32_t kSeed = 0x9747B28C;
    constexpr std::uint32_t kFactor = 0x5BD1E995;
    constexpr unsigned kShift = 24;
    constexpr unsigned kOctetBits = 8;
    const auto octet = [](std::byte value, std::size_t place) {
        return std::to_integer<std::uint32_t>(value) << (kOctetBits * place);
    };
    std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
    for (; key.size() >= sizeof hash; key = key.subspan(sizeof hash)) {
        std::uint32_t word =
            octet(key[0], 0) | octet(key[1], 1) | octet(key[2], 2) | octet(key[3], 3);
        word *= kFactor;
        word ^= word >> kShift;
        word *= kFactor;
        hash = hash * kFactor ^ word;
    }
    if (!key.empty()) {
        for (std::size_t place = 0; place < key.size(); ++place) {
            hash ^= octet(key[place], place);
        }
        hash *= kFactor;
    }
    hash ^= hash >> 13U;
    hash *= kFactor;
    return hash ^ hash >> 15U;
}

}  // namespace tributary
