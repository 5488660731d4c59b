// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tributary {

struct ThreadPlace {
    std::string name;                  ///< for `top -H`; at most 15 characters are kept
    std::optional<std::uint32_t> cpu;  ///< nullopt: the CPUs of the creator
    bool uses_dpdk = false;            ///< registered with EAL, so that packet pools' caches work
};

/// A thread on a CPU of its own, with sleeps exact to some microseconds and a heap on its NUMA
/// node. The constructor returns when the thread is pinned. The destructor joins it: the owner must
/// have stopped its body before.
/// It is in the registry of threads, so that helper threads are told apart from it.
class PinnedThread {
public:
    /// @param body  runs in the new thread, after it is pinned; must not throw
    /// @errors      StartupError(71): no thread, the CPU is not allowed, or EAL has no room for one
    /// more thread
    PinnedThread(const ThreadPlace& place, std::function<void()> body);
    ~PinnedThread();
    PinnedThread(const PinnedThread&) = delete;
    PinnedThread& operator=(const PinnedThread&) = delete;

private:
    std::thread thread_;
};

/// take_helper_cores(), for a probe's start.
///
/// @param cpus  of CorePlan
/// @errors      StartupError(71): this process may use none of them
/// @thread      main, before it starts any other thread
void keep_main_thread_on(const std::vector<std::uint32_t>& cpus);

}  // namespace tributary
