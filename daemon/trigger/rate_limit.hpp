// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "daemon/base/options.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Lets a trigger fire as often as its rate says: so many times at once, and then as often as that
/// many are spread evenly over the period.
///
/// @source  ITU-T I.371: the generic cell rate algorithm
/// @thread  any, at once; nothing locks
class RateLimit {
public:
    explicit RateLimit(const TriggerRate& rate) noexcept
        : period_(std::chrono::nanoseconds(rate.period).count()), step_(period_ / rate.files) {}

    /// @param now  a packet's time; clocks of queues may differ, and may be set back
    /// @return     false: it has fired too often
    [[nodiscard]] bool allow(Timestamp now) noexcept {
        const std::int64_t at = now.time_since_epoch().count();
        std::int64_t due = due_.load(std::memory_order_relaxed);
        std::int64_t next = 0;
        do {
            // Further ahead than a period it can only be after a clock was set back.
            const std::int64_t from = due > at + period_ ? at : std::max(due, at);
            if (from - at > period_ - step_) {
                return false;
            }
            next = from + step_;
        } while (!due_.compare_exchange_weak(due, next, std::memory_order_relaxed));
        return true;
    }

private:
    std::int64_t period_;  ///< nanoseconds
    std::int64_t step_;    ///< of the period, for one file
    /// When the files so far would have been used up, had they come evenly.
    std::atomic<std::int64_t> due_{0};
};

}  // namespace tributary
