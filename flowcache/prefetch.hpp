// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tributary {

/// Asks for the cache line that an address lies in, so that it is there when it is touched.
///
/// Nothing else asks the compiler for one. A function that does nothing but __builtin_prefetch()
/// has no effect in the eyes of g++ 12, which drops every call that it has not inlined by then: the
/// entries of the flow cache were not asked for at all, and a packet cost three times as much at a
/// million flows. The empty `asm volatile` is an effect.
///
/// @param address  any; what cannot be read is not asked for
[[gnu::always_inline]] inline void prefetch_to_read(const void* address) noexcept {
    __builtin_prefetch(address);
    asm volatile("" : : "r"(address));
}
[[gnu::always_inline]] inline void prefetch_to_write(const void* address) noexcept {
    __builtin_prefetch(address, 1);
    asm volatile("" : : "r"(address));
}

}  // namespace tributary
