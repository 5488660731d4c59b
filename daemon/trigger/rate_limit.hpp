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
/// Clocks of queues may differ. It goes by the latest time that it has seen, until that is more
/// than a period and a minute ahead: then a clock was set back. The time of a record's last packet
/// may lie an idle timeout further behind.
///
/// @source  ITU-T I.371: the generic cell rate algorithm
/// @thread  any, at once; nothing locks
class RateLimit {
public:
    explicit RateLimit(const TriggerRate& rate) noexcept
        : period_(std::chrono::nanoseconds(rate.period).count()), step_(period_ / rate.files) {}

    /// @param time    a packet's; clocks of queues may differ, and may be set back
    /// @param behind  so long before now the packet may have come
    /// @return        false: it has fired too often
    [[nodiscard]] bool allow(Timestamp time, Timestamp::duration behind = {}) noexcept {
        const std::int64_t at = latest(time.time_since_epoch().count(), behind.count());
        std::int64_t due = due_.load(std::memory_order_relaxed);
        std::int64_t next = 0;
        do {
            const std::int64_t from = due > at + period_ ? at : std::max(due, at);
            if (from - at > period_ - step_) {
                return false;
            }
            next = from + step_;
        } while (!due_.compare_exchange_weak(due, next, std::memory_order_relaxed));
        return true;
    }

private:
    /// The latest time so far, and this one.
    [[nodiscard]] std::int64_t latest(std::int64_t at, std::int64_t behind) noexcept {
        constexpr std::int64_t kMinute = 60'000'000'000;
        std::int64_t latest = latest_.load(std::memory_order_relaxed);
        while (at > latest || latest > at + behind + period_ + kMinute) {
            if (latest_.compare_exchange_weak(latest, at, std::memory_order_relaxed)) {
                return at;
            }
        }
        return latest;
    }

    std::int64_t period_;                  ///< nanoseconds
    std::int64_t step_;                    ///< of the period, for one file
    std::atomic<std::int64_t> latest_{0};  ///< time
    /// When the files so far would have been used up, had they come evenly.
    std::atomic<std::int64_t> due_{0};
};

}  // namespace tributary
