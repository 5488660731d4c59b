// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// The two halves of a product, one on the other: each bit of it depends on all of both factors.
/// A product of 128 bits in C++ would do, but g++ 12 sends some of those through memory, where what
/// comes next waits for them.
///
/// @cost  2 instructions
[[nodiscard]] [[gnu::always_inline]] inline std::uint64_t folded_product(std::uint64_t a,
                                                                         std::uint64_t b) noexcept {
    std::uint64_t low = 0;   // NOLINT(misc-const-correctness): the instruction writes both
    std::uint64_t high = 0;  // NOLINT(misc-const-correctness)
    asm("mulx %[b], %[low], %[high]" : [low] "=r"(low), [high] "=r"(high) : "d"(a), [b] "r"(b));
    return low ^ high;
}

}  // namespace tributary
