// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_pause.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace tributary {

/// What a polling thread does when a poll brings nothing: it goes on at once where it has a core to
/// itself, and sleeps briefly after some empty polls where it shares one.
class IdleBackOff {
public:
    static constexpr std::uint32_t kEmptyPollsBeforeSleep = 64;
    /// Short against what a receive ring holds: 4096 packets at 10 Mpps last 400 us.
    static constexpr std::chrono::microseconds kSleep{50};

    /// @param sleeps  CorePlan::back_off
    explicit IdleBackOff(bool sleeps) noexcept : sleeps_(sleeps) {}

    /// Call after each poll.
    ///
    /// @param found  whether it brought anything
    void after_poll(bool found) noexcept {
        if (is_sleep_due(found)) {
            std::this_thread::sleep_for(kSleep);
        } else if (!found) {
            rte_pause();
        }
    }

    /// after_poll() without the waiting.
    [[nodiscard]] bool is_sleep_due(bool found) noexcept {
        if (found || !sleeps_) {
            empty_polls_ = 0;
            return false;
        }
        empty_polls_ += empty_polls_ < kEmptyPollsBeforeSleep ? 1 : 0;
        return empty_polls_ == kEmptyPollsBeforeSleep;
    }

private:
    bool sleeps_;
    std::uint32_t empty_polls_ = 0;
};

}  // namespace tributary
