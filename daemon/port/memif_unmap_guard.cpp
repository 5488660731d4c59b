// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/memif_unmap_guard.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>

namespace tributary {
namespace {

// All exist before the first constructor and after the last destructor: munmap may be called at
// any time.
constinit std::mutex all_mutex;
constinit MemifUnmapGuard* all = nullptr;
constinit std::atomic<std::size_t> count{0};  ///< of guards in the list

}  // namespace

MemifUnmapGuard::MemifUnmapGuard(std::string_view driver) : is_needed_(driver == "net_memif") {
    if (!is_needed_) {
        return;
    }
    const std::lock_guard lock(all_mutex);
    next_ = all;
    all = this;
    count.fetch_add(1);
}

MemifUnmapGuard::~MemifUnmapGuard() {
    if (!is_needed_) {
        return;
    }
    const std::lock_guard lock(all_mutex);
    MemifUnmapGuard** link = &all;
    while (*link != this) {
        link = &(*link)->next_;
    }
    *link = next_;
    count.fetch_sub(1);
}

void MemifUnmapGuard::wait_for_bursts() noexcept {
    if (count.load() == 0) {
        return;
    }
    constexpr std::chrono::microseconds kPause{10};
    const std::lock_guard lock(all_mutex);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const MemifUnmapGuard* guard = all; guard != nullptr; guard = guard->next_) {
        const pthread_t inside = guard->inside_.load(std::memory_order_acquire);
        while (inside != pthread_t{} && inside != pthread_self() &&
               guard->inside_.load(std::memory_order_acquire) == inside) {
            std::this_thread::sleep_for(kPause);
        }
    }
}

}  // namespace tributary

/// Replaces libc's munmap, also for DPDK's drivers; see MemifUnmapGuard.
extern "C" int munmap(void* address, std::size_t octets) noexcept {
    tributary::MemifUnmapGuard::wait_for_bursts();
    return static_cast<int>(syscall(SYS_munmap, address, octets));
}
