// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace tributary {

/// How a NumaMemory is backed.
enum class PageUse : std::uint8_t {
    live,  ///< huge pages where enough are free, all touched at once: no page fault on the packet
           ///< path
    offline,  ///< transparent huge pages, or small ones of more than the machine has; touched as
              ///< they are used: a small capture costs little
};

/// Not enough memory for a NumaMemory.
struct MemoryShortage : std::bad_alloc {
    MemoryShortage(std::size_t needed, std::optional<unsigned> on_node) noexcept
        : bytes(needed), node(on_node) {}

    std::size_t bytes;  ///< of this block
    std::optional<unsigned> node;
};

/// A block of anonymous memory for one thread's cache or ring, on one NUMA node. Unlike DPDK's
/// allocator, a mapping of our own works the same with EAL, without huge pages, and offline without
/// EAL.
class NumaMemory {
public:
    /// @param bytes  rounded up to whole pages; zeroed
    /// @param node   NUMA node to place it on; nullopt: the node of the first touch
    /// @errors       MemoryShortage
    NumaMemory(std::size_t bytes, std::optional<unsigned> node, PageUse use);
    NumaMemory(NumaMemory&& other) noexcept
        : memory_(std::exchange(other.memory_, {})), huge_pages_(other.huge_pages_) {}
    NumaMemory(const NumaMemory&) = delete;
    NumaMemory& operator=(const NumaMemory&) = delete;
    NumaMemory& operator=(NumaMemory&&) = delete;
    ~NumaMemory();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_; }
    /// Whether explicit huge pages back it.
    [[nodiscard]] bool huge_pages() const noexcept { return huge_pages_; }

private:
    /// Maps with or without explicit huge pages; for live use touches all pages. Empty on failure.
    [[nodiscard]] static std::span<std::byte> map(std::size_t bytes, std::optional<unsigned> node,
                                                  PageUse use, bool huge_pages);

    std::span<std::byte> memory_;
    bool huge_pages_ = false;
};

}  // namespace tributary
