// SPDX-License-Identifier: Apache-2.0
#include "perf/support/huge_memory.hpp"

#include <sys/mman.h>

#include <fstream>
#include <new>
#include <string>

namespace tributary::perf {
namespace {

constexpr std::size_t kHugePage = 2U << 20U;
constexpr int kHugeTlb = MAP_HUGETLB | (21 << MAP_HUGE_SHIFT);  // 2 MiB, whatever the default

}  // namespace

HugeMemory::HugeMemory(std::size_t bytes) {
    const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    void* at = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, kAnonymous | kHugeTlb, -1, 0);
    explicit_pages_ = at != MAP_FAILED;
    if (!explicit_pages_) {
        at = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, kAnonymous | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            throw std::bad_alloc();
        }
        ::madvise(at, rounded, MADV_HUGEPAGE);
    }
    memory_ = {static_cast<std::byte*>(at), rounded};
}

HugeMemory::~HugeMemory() { ::munmap(memory_.data(), memory_.size()); }

std::size_t resident_bytes() {
    std::ifstream status("/proc/self/status");
    std::size_t kibibytes = 0;
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:") || line.starts_with("HugetlbPages:")) {
            kibibytes += std::stoul(line.substr(line.find(':') + 1));
        }
    }
    return kibibytes * 1024;
}

}  // namespace tributary::perf
