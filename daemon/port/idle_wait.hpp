// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "daemon/base/options.hpp"

namespace tributary {

/// Waits while there is nothing to poll; an empty function means polling on.
/// @return  whether an interrupt reported packets
/// @thread  the polling thread
using IdleWait = std::function<bool()>;

/// What the wait of a receive queue's thread depends on.
struct IdleFacts {
    PollMode poll = PollMode::busy;
    bool shares_core = false;  ///< with another polling thread
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

/// The longest wait for an interrupt: flows' deadlines and commands do not wake the thread.
inline constexpr std::chrono::milliseconds kLongestInterruptWait{10};

/// @thread  any; pure
[[nodiscard]] IdlePlan plan_idle(const IdleFacts& facts);

/// Half the time in which packets of 64 octets at line rate fill a queue, if all come to this one;
/// the other half is for waking up and catching up. At 10 Gbit/s 4096 descriptors give 138 us, at
/// 100 Gbit/s 13 us. At most 500 us, because polls at that interval cost little already.
/// @thread  any; pure
[[nodiscard]] std::chrono::nanoseconds longest_safe_sleep(std::uint32_t descriptors,
                                                          std::uint32_t megabits) noexcept;

/// A wait that sleeps. PinnedThread sets a small timer slack; without that it sleeps 50 us longer.
[[nodiscard]] IdleWait sleeping(std::chrono::nanoseconds time);

}  // namespace tributary
