// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tributary {

/// Prefetches the cache line of an address.
///
/// For g++ 12 a function that does nothing but __builtin_prefetch() has no effect, and g++ drops
/// calls that it has not inlined early: the entries of the flow cache were not prefetched at all,
/// and at a million flows a packet cost 1.7 times as much, with TCP analysis 2.3 times. The empty
/// `asm volatile` is an effect.
///
/// @param address  any; one that cannot be read is not fetched
[[gnu::always_inline]] inline void prefetch_to_read(const void* address) noexcept {
    __builtin_prefetch(address);
    asm volatile("" : : "r"(address));
}
/// The same for a line that will be written.
[[gnu::always_inline]] inline void prefetch_to_write(const void* address) noexcept {
    __builtin_prefetch(address, 1);
    asm volatile("" : : "r"(address));
}
/// Prefetches the line, to read or to write, some dozens of packets before it is touched: it comes
/// into the second-level cache only, and displaces nothing in the first one. What each packet
/// touches is worth another prefetch, with one of the others, a few packets before.
[[gnu::always_inline]] inline void prefetch_for_later(const void* address) noexcept {
    constexpr int kSecondLevel = 2;  // prefetcht1
    __builtin_prefetch(address, 0, kSecondLevel);
    asm volatile("" : : "r"(address));
}

}  // namespace tributary
