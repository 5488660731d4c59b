// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/port/burst_clock.hpp"

namespace tributary::test {

/// The host's two clocks: one that can be set, and the uptime.
struct HostBench {
    Timestamp now = Timestamp{std::chrono::seconds{100'000}};

    HostBench() { uptime_now = std::chrono::seconds{77}; }
    static Timestamp::duration uptime() { return uptime_now; }
    void pass(std::chrono::nanoseconds time) {
        now += time;
        uptime_now += time;
    }
    void step(std::chrono::nanoseconds by) { now += by; }
    /// @return  the clock, after a burst has begun
    Timestamp poll(BurstClock& clock) const {
        clock.begin_burst(now);
        return clock.now();
    }

private:
    static inline Timestamp::duration uptime_now;
};

}  // namespace tributary::test
