// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <string_view>

namespace tributary {

/// Keeps memory that a driver shares with another process mapped while a burst uses it.
///
/// When the process at the other end of a memif is gone, DPDK's driver (22.11) unmaps what both
/// shared, in the thread that watches its socket, whatever the threads that receive and send are
/// doing just then: one that was in the middle of a burst died of SIGSEGV. So munmap is this
/// project's own in programs that are linked with this file: it waits until no thread is in a burst
/// that began before. The driver calls the link down first, and a burst that begins after that
/// touches nothing.
class MemifUnmapGuard {
public:
    /// @param driver  name of the driver whose bursts run() runs; of those that share no memory,
    ///                nothing is held
    /// @thread  any, also while others are in a burst
    explicit MemifUnmapGuard(std::string_view driver);
    ~MemifUnmapGuard();
    MemifUnmapGuard(const MemifUnmapGuard&) = delete;
    MemifUnmapGuard& operator=(const MemifUnmapGuard&) = delete;

    /// Runs a burst. It must not wait for a thread that may unmap something.
    ///
    /// @return  what it returns
    /// @thread  one
    /// @cost    an exchange, some 20 cycles; nothing where nothing is held
    template <class BurstCall>
    auto run(BurstCall burst) noexcept {
        if (!is_needed_) {
            return burst();
        }
        // The exchange is a barrier: either the driver sees the burst, or the burst that the link
        // is down.
        inside_.exchange(pthread_self());
        const auto result = burst();
        inside_.store(pthread_t{}, std::memory_order_release);
        return result;
    }

    /// Waits until all bursts are over that other threads are in.
    ///
    /// @thread  any
    static void wait_for_bursts() noexcept;

private:
    bool is_needed_;
    std::atomic<pthread_t> inside_{};  ///< the thread that is in a burst; 0: none
    MemifUnmapGuard* next_ = nullptr;  ///< in the list of all
};

}  // namespace tributary
