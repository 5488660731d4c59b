// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "daemon/base/options.hpp"

namespace tributary {

/// Lets time pass while there is nothing to poll; an empty one stands for polling on.
/// @return  whether it was told that something has come
/// @thread  the one that polls
using IdleWait = std::function<bool()>;

/// What decides how a thread that polls a receive queue may wait.
struct IdleFacts {
    PollMode poll = PollMode::busy;
    bool shares_core = false;  ///< with another thread that polls
    bool has_interrupts = false;
    std::uint32_t descriptors{};  ///< of the queue
    std::uint32_t megabits{};     ///< the port's highest speed, in Mbit/s; 0: unknown
};

/// How a thread waits after some empty polls.
struct IdlePlan {
    enum class Way : std::uint8_t { poll_on, sleep, interrupt };
    Way way = Way::poll_on;
    std::chrono::nanoseconds sleep{};  ///< at most, each time
    std::string text;                  ///< for the log
};

/// How long an interrupt is waited for at most: deadlines of flows, and commands, come all the
/// same.
inline constexpr std::chrono::milliseconds kLongestInterruptWait{10};

/// @thread  any; pure
[[nodiscard]] IdlePlan plan_idle(const IdleFacts& facts);

/// Half the time in which packets of 64 octets fill a queue at line rate, when all of them come to
/// it; the other half is for waking up and catching up. At 10 Gbit/s 4096 descriptors give 138 us,
/// at 100 Gbit/s 13 us. At most 500 us, which cost little already.
/// @thread  any; pure
[[nodiscard]] std::chrono::nanoseconds longest_safe_sleep(std::uint32_t descriptors,
                                                          std::uint32_t megabits) noexcept;

/// A wait that sleeps. The thread's timer slack must be small (PinnedThread sees to it), or it
/// sleeps 50 us longer.
[[nodiscard]] IdleWait sleeping(std::chrono::nanoseconds time);

}  // namespace tributary
