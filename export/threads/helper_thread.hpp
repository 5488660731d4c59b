// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "export/threads/thread_registry.hpp"

namespace tributary {

struct HelperKind {
    std::string name;  ///< for `top -H` and metrics; at most 15 characters are kept
    std::chrono::seconds patience = {};  ///< for one piece of work; 0: it may take any time
};

/// A thread that is neither an input nor the export thread. It runs on the helper cores, under its
/// name, and is in the registry. All threads of this program but those two kinds are of this class.
///
/// It has the signal mask of its creator. The destructor joins it: the owner must have stopped its
/// body before.
class HelperThread {
public:
    /// Gets the thread's place in the registry, to say when it waits and works.
    using Body = std::function<void(ThreadPlaceInRegistry&)>;

    HelperThread() noexcept = default;  ///< no thread
    /// @param body  must not throw
    /// @errors      std::system_error: there is no thread for it; std::bad_alloc
    HelperThread(HelperKind kind, Body body);
    HelperThread(HelperThread&&) noexcept = default;
    HelperThread& operator=(HelperThread&& other) noexcept;
    HelperThread(const HelperThread&) = delete;
    HelperThread& operator=(const HelperThread&) = delete;
    ~HelperThread();

    [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
    /// Waits until its body has returned; no thread: returns at once.
    void join() noexcept;
    /// Lets it run on alone, for work that nothing can stop: its body owns all that it uses.
    void detach() { thread_.detach(); }

private:
    std::thread thread_;
};

}  // namespace tributary
