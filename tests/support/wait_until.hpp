// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace tributary::test {

/// Waits for what another thread or the kernel does, and looks again and again.
///
/// @return  false: it did not hold within the time, which is far more than a busy machine needs
[[nodiscard]] inline bool wait_until(const std::function<bool()>& holds,
                                     std::chrono::seconds most = std::chrono::seconds{30}) {
    const auto deadline = std::chrono::steady_clock::now() + most;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= deadline) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

}  // namespace tributary::test
