// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocation_counter.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

// NOLINTBEGIN(cppcoreguidelines-no-malloc): operator new is made of it
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kNothingIsLarge = std::numeric_limits<std::size_t>::max();

std::atomic<std::size_t> count{0};
std::atomic<std::size_t> refused{0};
std::atomic<std::int64_t> in_use{0};  // octets
std::atomic<std::int64_t> limit{kNoLimit};
std::atomic<std::size_t> large{kNothingIsLarge};
std::atomic<std::int64_t> large_ones_left{0};

/// @return  nullptr: refused by a limit or the system
void* allocate(std::size_t bytes) noexcept {
    if (in_use + static_cast<std::int64_t>(bytes) > limit) {
        ++refused;
        return nullptr;
    }
    void* const memory = std::malloc(bytes);
    in_use += static_cast<std::int64_t>(::malloc_usable_size(memory));
    return memory;
}

void release(void* memory) noexcept {
    in_use -= static_cast<std::int64_t>(::malloc_usable_size(memory));
    std::free(memory);
}

/// @errors  std::bad_alloc
void* allocate_or_throw(std::size_t bytes) {
    ++count;
    if (bytes > large && large_ones_left-- <= 0) {
        ++refused;
        throw std::bad_alloc();
    }
    for (;;) {
        if (void* const memory = allocate(bytes)) {
            return memory;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
}

}  // namespace

namespace tributary::test {

std::size_t allocations() noexcept { return count; }
std::size_t refused_allocations() noexcept { return refused; }

MemoryLimit::MemoryLimit(std::int64_t& octets) noexcept : left_(octets) { limit = in_use + octets; }
MemoryLimit::~MemoryLimit() {
    left_ = limit - in_use;
    limit = kNoLimit;
}

NoLargeMemory::NoLargeMemory(std::size_t larger_than, std::int64_t& first) noexcept : left_(first) {
    large_ones_left = first;
    large = larger_than;
}
NoLargeMemory::~NoLargeMemory() {
    large = kNothingIsLarge;
    left_ = large_ones_left;
}

}  // namespace tributary::test

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return allocate_or_throw(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { release(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc)
