// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocation_counter.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

// NOLINTBEGIN(cppcoreguidelines-no-malloc): operator new is made of it
namespace {
std::atomic<std::size_t> count{0};
}

namespace tributary::test {
std::size_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
}  // namespace tributary::test

void* operator new(std::size_t bytes) {
    count.fetch_add(1, std::memory_order_relaxed);
    if (void* memory = std::malloc(bytes)) {
        return memory;
    }
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc)
