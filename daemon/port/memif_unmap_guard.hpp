// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <string_view>

namespace tributary {

/// Keeps memory that a driver shares with another process mapped while a burst uses it.
///
/// When the process at the other end of a memif is gone, DPDK's driver (22.11) unmaps the shared
/// memory. The thread that watches its socket does so at any time: a thread in the middle of a
/// burst died of SIGSEGV. So programs linked with this file have a munmap of their own. While a
/// memif queue is open, it waits for all bursts that began before; otherwise it is the system call
/// at once. The driver first sets the link down, and later bursts touch no memory.
class MemifUnmapGuard {
public:
    /// @param driver  of the bursts in run(); for drivers other than net_memif, which share no
    ///                memory, the guard does nothing
    /// @thread  any, also while others are in a burst
    explicit MemifUnmapGuard(std::string_view driver);
    ~MemifUnmapGuard();
    MemifUnmapGuard(const MemifUnmapGuard&) = delete;
    MemifUnmapGuard& operator=(const MemifUnmapGuard&) = delete;

    /// Runs a burst. The burst must not wait for a thread that may unmap memory.
    ///
    /// @return  the burst's result
    /// @thread  any, always the same
    /// @cost    an exchange, some 20 cycles; none for other drivers than memif's
    template <class BurstCall>
    auto run(BurstCall burst) noexcept {
        if (!is_needed_) {
            return burst();
        }
        // The exchange is a barrier: either the driver sees the burst, or the burst sees that the
        // link is down.
        inside_.exchange(pthread_self());
        const auto result = burst();
        inside_.store(pthread_t{}, std::memory_order_release);
        return result;
    }

    /// Waits until the present bursts of all other threads are over.
    ///
    /// @thread  any
    /// @cost    one load if no memif queue is open; otherwise a lock, and sleeps during a burst
    static void wait_for_bursts() noexcept;

private:
    bool is_needed_;
    std::atomic<pthread_t> inside_{};  ///< the thread in a burst; 0: none
    MemifUnmapGuard* next_ = nullptr;  ///< in the list of all memif guards
};

}  // namespace tributary
