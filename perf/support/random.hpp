// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tributary::perf {

/// A generator that costs about a nanosecond: xorshift64 (Marsaglia 2003).
class Random {
public:
    explicit Random(std::uint64_t seed = 0x9E37'79B9'7F4A'7C15) noexcept : state_(seed) {}

    std::uint32_t next() noexcept {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return static_cast<std::uint32_t>(state_ >> 32U);
    }
    /// @return  0 .. limit - 1, equally likely
    std::uint32_t below(std::uint32_t limit) noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{next()} * limit >> 32U);
    }

private:
    std::uint64_t state_;
};

/// Ranks after Zipf's law with exponent 1: rank k comes about twice as often as rank 2k. All
/// octaves of ranks (1, 2-3, 4-7, ...) are equally likely, and so are the ranks of an octave. This
/// needs no logarithm, and no table with cache misses that would be measured too.
class ZipfRanks {
public:
    /// @param count  1 .. 2^31
    explicit ZipfRanks(std::uint32_t count) noexcept
        : most_(count - 1), octaves_(static_cast<std::uint64_t>(std::log2(count) * 0x1p26)) {}

    /// @return  0 .. count - 1, the lowest most often
    std::uint32_t next(Random& random) const noexcept {
        const std::uint64_t place = octaves_ * random.next() >> 26U;
        const auto octave = static_cast<unsigned>(place >> 32U);
        const std::uint64_t mantissa = (std::uint64_t{1} << 32U) | (place & 0xFFFF'FFFFU);
        const auto rank = static_cast<std::uint32_t>(mantissa >> (32U - octave)) - 1;
        return std::min(rank, most_);
    }

private:
    std::uint32_t most_;
    std::uint64_t octaves_;  ///< log2(count), with 26 binary places
};

/// Maps flow numbers to seemingly random numbers, one to one.
[[nodiscard]] constexpr std::uint32_t scrambled(std::uint32_t number) noexcept {
    number ^= number >> 16U;  // MurmurHash3's finaliser
    number *= 0x85EB'CA6B;
    number ^= number >> 13U;
    number *= 0xC2B2'AE35;
    return number ^ number >> 16U;
}

/// The inverse of scrambled().
[[nodiscard]] constexpr std::uint32_t unscrambled(std::uint32_t number) noexcept {
    number ^= number >> 16U;
    number *= 0x7ED1'B41D;  // the inverse of 0xC2B2'AE35 mod 2^32
    number ^= number >> 13U ^ number >> 26U;
    number *= 0xA5CB'9243;  // and of 0x85EB'CA6B
    return number ^ number >> 16U;
}
static_assert(unscrambled(scrambled(0)) == 0 && unscrambled(scrambled(999)) == 999 &&
              unscrambled(scrambled(0xFFFF'FFFF)) == 0xFFFF'FFFF);

}  // namespace tributary::perf
