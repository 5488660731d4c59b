// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/idle_wait.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace tributary {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// For an unknown speed: virtual devices are slower.
constexpr std::uint32_t kAssumedMegabits = 10'000;
constexpr nanoseconds kLongestSleep = microseconds{500};
/// In a shorter sleep, going to sleep and waking up take longer than the sleep.
constexpr nanoseconds kShortestSleep = microseconds{20};
/// For threads that share a core, so that the others can run: 4096 packets at 10 Mpps last 400 us.
constexpr nanoseconds kSharedCoreSleep = microseconds{100};

std::uint32_t speed_of(std::uint32_t megabits) noexcept {
    return megabits != 0 ? megabits : kAssumedMegabits;
}

std::string slept(nanoseconds time) {
    return fmt::format("idle threads sleep {} us at a time", time / microseconds{1});
}

}  // namespace

nanoseconds longest_safe_sleep(std::uint32_t descriptors, std::uint32_t megabits) noexcept {
    // The smallest frame with its preamble and the gap behind it (IEEE 802.3).
    constexpr std::uint64_t kBitsOnTheWire = std::uint64_t{64 + 8 + 12} * 8;
    const nanoseconds until_full{descriptors * kBitsOnTheWire * 1000 / speed_of(megabits)};
    return std::min(until_full / 2, kLongestSleep);
}

IdlePlan plan_idle(const IdleFacts& facts) {
    using Way = IdlePlan::Way;
    if (facts.poll == PollMode::adaptive) {
        if (facts.has_interrupts) {
            return {.way = Way::interrupt, .text = "idle threads wait for the NIC's interrupt"};
        }
        const nanoseconds sleep = longest_safe_sleep(facts.descriptors, facts.megabits);
        if (sleep >= kShortestSleep) {
            return {.way = Way::sleep, .sleep = sleep, .text = slept(sleep)};
        }
    }
    if (facts.shares_core) {
        return {.way = Way::sleep, .sleep = kSharedCoreSleep, .text = slept(kSharedCoreSleep)};
    }
    if (facts.poll == PollMode::adaptive) {
        return {.text = fmt::format(
                    "idle threads poll on in spite of poll: adaptive: {} descriptors are full "
                    "after {} us at {} Mbit/s, and the driver has no receive interrupts; raise "
                    "rx-descriptors",
                    facts.descriptors,
                    2 * longest_safe_sleep(facts.descriptors, facts.megabits) / microseconds{1},
                    speed_of(facts.megabits))};
    }
    return {.text = "idle threads poll on"};
}

IdleWait sleeping(nanoseconds time) {
    return [time] {
        std::this_thread::sleep_for(time);
        return false;
    };
}

}  // namespace tributary
