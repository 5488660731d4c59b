// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Linking allocation_counter.cpp replaces operator new.
namespace tributary::test {

/// Calls of operator new in this program so far.
[[nodiscard]] std::size_t allocations() noexcept;

/// Limits the memory of operator new, as long as it lives. Memory freed meanwhile is available
/// again, and a new handler is called. Memory from other sources does not count.
/// @thread  one at a time in the program
class MemoryLimit {
public:
    /// @param octets  left now; the destructor stores those left then
    explicit MemoryLimit(std::int64_t& octets) noexcept;
    MemoryLimit(const MemoryLimit&) = delete;
    MemoryLimit& operator=(const MemoryLimit&) = delete;
    ~MemoryLimit();

private:
    std::int64_t& left_;
};

/// Makes operator new fail for larger blocks, without calling a new handler, as long as it lives
/// and from the Nth such call on.
/// @thread  one at a time in the program
class NoLargeMemory {
public:
    /// @param first  calls that still succeed; the destructor stores those left then
    NoLargeMemory(std::size_t larger_than, std::int64_t& first) noexcept;
    NoLargeMemory(const NoLargeMemory&) = delete;
    NoLargeMemory& operator=(const NoLargeMemory&) = delete;
    ~NoLargeMemory();

private:
    std::int64_t& left_;
};

/// Calls of operator new that a limit has refused so far.
[[nodiscard]] std::size_t refused_allocations() noexcept;

}  // namespace tributary::test
