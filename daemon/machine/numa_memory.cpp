// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/numa_memory.hpp"

#include <numa.h>
#include <sys/mman.h>

#include "daemon/machine/available_memory.hpp"

namespace tributary {
namespace {

constexpr std::size_t kHugePage = 2U << 20U;
constexpr int kHugeTlb =
    MAP_HUGETLB | (21 << MAP_HUGE_SHIFT);  // 2 MiB, whatever the host's default

/// Binds a mapping to a node, on a machine with several.
void bind_to_node(void* at, std::size_t bytes, unsigned node) {
    if (numa_available() >= 0 && numa_max_node() > 0) {
        numa_tonode_memory(at, bytes, static_cast<int>(node));
    }
}

}  // namespace

NumaMemory::NumaMemory(std::size_t bytes, std::optional<unsigned> node, PageUse use) {
    const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    if (use == PageUse::live) {
        memory_ = map(rounded, node, use, true);
        huge_pages_ = !memory_.empty();
    }
    const bool fits = use == PageUse::offline || rounded <= available_memory();
    if (memory_.empty() && fits) {
        memory_ = map(rounded, node, use, false);
    }
    if (memory_.empty()) {
        throw MemoryShortage(rounded, node);
    }
}

NumaMemory::~NumaMemory() {
    if (!memory_.empty()) {
        ::munmap(memory_.data(), memory_.size());
    }
}

std::span<std::byte> NumaMemory::map(std::size_t bytes, std::optional<unsigned> node, PageUse use,
                                     bool huge_pages) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge_pages ? kHugeTlb : MAP_NORESERVE);
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) {
        return {};
    }
    if (node) {
        bind_to_node(at, bytes, *node);
    }
    if (!huge_pages) {
        // Advice only; small pages work as well. They are better for a block larger than the
        // machine's memory: flows touch it at scattered places, and each would take a huge page.
        const bool can_be_used_up = use == PageUse::live || bytes <= available_memory();
        ::madvise(at, bytes, can_be_used_up ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    }
    // Populating reports too few pages on the node as an error; touching them would raise SIGBUS.
    if (use == PageUse::live && ::madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
        ::munmap(at, bytes);
        return {};
    }
    return {static_cast<std::byte*>(at), bytes};
}

}  // namespace tributary
