// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace tributary::perf {

/// Anonymous memory in pages of 2 MiB: explicit huge pages if enough are free, else transparent
/// ones. Unlike NumaMemory it is touched only when used, so that resident memory can be measured.
class HugeMemory {
public:
    /// @param bytes  rounded up to whole pages; zeroed
    /// @errors       std::bad_alloc
    explicit HugeMemory(std::size_t bytes);
    HugeMemory(const HugeMemory&) = delete;
    HugeMemory& operator=(const HugeMemory&) = delete;
    ~HugeMemory();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_; }
    /// Whether explicit huge pages back it.
    [[nodiscard]] bool explicit_pages() const noexcept { return explicit_pages_; }

private:
    std::span<std::byte> memory_;
    bool explicit_pages_ = false;
};

/// Resident memory of this process, in bytes: VmRSS, and HugetlbPages, which VmRSS leaves out.
[[nodiscard]] std::size_t resident_bytes();

}  // namespace tributary::perf
