// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace tributary {

struct ThreadPlace {
    std::string name;                  ///< as `top -H` shows it; at most 15 characters are kept
    std::optional<std::uint32_t> cpu;  ///< none: wherever the creator may run
    bool uses_dpdk = false;            ///< registered with EAL, so that packet pools' caches work
};

/// A thread on a CPU of its own, whose sleeps end on time (to some microseconds), and
/// whose heap is on its NUMA node. The constructor returns when the thread is in place; the
/// destructor joins it, so whoever owns it must have told its body to end.
class PinnedThread {
public:
    /// @param body  runs in the new thread, after it is pinned; must not throw
    /// @errors      StartupError(71): no thread, the CPU is not to be had, or EAL has no place for
    /// one more thread
    PinnedThread(const ThreadPlace& place, std::function<void()> body);
    ~PinnedThread();
    PinnedThread(const PinnedThread&) = delete;
    PinnedThread& operator=(const PinnedThread&) = delete;

private:
    std::thread thread_;
};

}  // namespace tributary
