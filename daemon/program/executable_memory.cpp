// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/executable_memory.hpp"

#include <sys/mman.h>

#include <cstddef>

namespace tributary {

bool may_make_memory_executable() noexcept {
    constexpr std::size_t kPage = 4096;
    void* const page =
        mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    const bool may = mprotect(page, kPage, PROT_READ | PROT_EXEC) == 0;
    munmap(page, kPage);
    return may;
}

}  // namespace tributary
