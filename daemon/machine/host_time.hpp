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

/// The host's clock as a queue follows it, where an administrator, NTP or a virtual machine's
/// manager may set it. Our time leads the host's clock by `lead`:
///
///     the clock goes back    our time stays where it is: `lead` grows by the step
///     the clock goes forth   the step is taken from `lead` first; what is left our time follows
///     no step                our time is slowed by one part in 1024, until `lead` is used up
///     lead > kFurthestAhead  our time goes back to the host's clock, and is that from now on. The
///                            lead becomes `set_back`: what a step forth still has to make good,
///                            and then it is forgotten; so it is after kBelievedAfter
///
/// A step is what the host's clock moves by beside the uptime, which is read only while there is a
/// lead, or something to make good.
///
/// @thread  the queue's input thread; the readings any
class HostTime {
public:
    using Uptime = Timestamp::duration (*)();

    /// Longer than the longest pause of an NTP daemon between two looks at its servers (1024 s): an
    /// error that is still there is none, or will not be mended.
    static constexpr std::chrono::minutes kBelievedAfter{20};

    /// @param uptime  is read with the host's clock
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
    /// Whether the host's clock was set back by more than kFurthestAhead, and that is neither made
    /// good nor believed.
    [[nodiscard]] bool is_set_back() const noexcept { return set_back_ > Timestamp::duration{}; }

    /// By how much the host's clock was set back, as far as that is not made good: `lead` and
    /// `set_back`. @thread any
    [[nodiscard]] Timestamp::duration behind() const noexcept {
        return Timestamp::duration{static_cast<Timestamp::rep>(behind_.read())};
    }
    /// Times that our time went back. Where this is read before behind(), that is of no earlier
    /// time.
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
    bool is_off_ = false;  ///< there is a lead, or something to make good
    Timestamp::duration lead_{};
    Timestamp::duration set_back_{};
    Timestamp::duration set_back_at_{};   ///< uptime
    Timestamp::duration slowed_until_{};  ///< uptime
    Timestamp::duration difference_{};  ///< of the host's clock and the uptime, since the last step
    Counter behind_;                    ///< nanoseconds
    std::atomic<std::uint64_t> times_gone_back_{0};
};

}  // namespace tributary
