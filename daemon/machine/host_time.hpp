// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "flowcache/record/counter.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Time since the host started. It cannot be set.
/// @thread  any
[[nodiscard]] Timestamp::duration host_uptime() noexcept;

/// A queue's time. It follows the host's clock, which an administrator, NTP or a hypervisor may
/// set. Our time leads the host's clock by `lead`:
///
///     the clock goes back    our time does not change: `lead` grows by the step
///     the clock goes forth   the step reduces `lead` first; our time follows the rest of the step
///     no step                our time is slowed by one part in 1024, until `lead` is used up
///     lead > kFurthestAhead  our time goes back to the host's clock, and follows it from now on.
///                            The lead becomes `set_back`: the part of the step back that steps
///                            forth have yet to correct. After that, or kBelievedAfter, it is 0
///
/// A step is the change of the host's clock beside the uptime. The uptime is read only while `lead`
/// or `set_back` is not 0.
///
/// @thread  the queue's input thread; the readings any
class HostTime {
public:
    using Uptime = Timestamp::duration (*)();

    /// Longer than an NTP daemon's longest poll interval (1024 s): after so long the clock is
    /// right, or will not be corrected.
    static constexpr std::chrono::minutes kBelievedAfter{20};

    /// @param uptime  read together with the host's clock
    explicit HostTime(Uptime uptime = host_uptime) noexcept : uptime_(uptime) {}

    /// @param host  the host's clock now; once per burst
    /// @return      true: our time has gone back
    bool follow(Timestamp host) noexcept {
        if (host >= now_ && !is_off_) [[likely]] {
            now_ = host;
            return false;
        }
        return follow_step(host);
    }
    /// Our time.
    [[nodiscard]] Timestamp now() const noexcept { return now_; }
    /// Whether the host's clock was set back by more than kFurthestAhead, has not caught up, and is
    /// not believed.
    [[nodiscard]] bool is_set_back() const noexcept { return set_back_ > Timestamp::duration{}; }

    /// By how much the host's clock was set back and has not caught up: `lead` and `set_back`.
    /// @thread  any
    [[nodiscard]] Timestamp::duration behind() const noexcept {
        return Timestamp::duration{static_cast<Timestamp::rep>(behind_.read())};
    }
    /// Times that our time went back. Read it before behind(): then behind() is no older.
    /// @thread any
    [[nodiscard]] std::uint64_t times_gone_back() const noexcept {
        return times_gone_back_.load(std::memory_order_acquire);
    }

private:
    [[nodiscard]] bool follow_step(Timestamp host) noexcept;
    [[nodiscard]] Timestamp::duration step_to(Timestamp host, Timestamp::duration uptime) noexcept;
    void slow_down(Timestamp::duration uptime) noexcept;

    Uptime uptime_;
    Timestamp now_{};
    bool is_off_ = false;  ///< `lead_` or `set_back_` is not 0
    Timestamp::duration lead_{};
    Timestamp::duration set_back_{};
    Timestamp::duration set_back_at_{};   ///< uptime
    Timestamp::duration slowed_until_{};  ///< uptime
    Timestamp::duration difference_{};  ///< of the host's clock and the uptime, since the last step
    Counter behind_;                    ///< nanoseconds
    std::atomic<std::uint64_t> times_gone_back_{0};
};

}  // namespace tributary
