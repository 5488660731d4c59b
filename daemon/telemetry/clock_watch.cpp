// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/clock_watch.hpp"

#include <fmt/format.h>

#include "daemon/machine/host_time.hpp"

namespace tributary {

std::optional<std::string> ClockWatch::look(const ClockLedger& clock) {
    const bool went_back = clock.times_set_back > times_set_back_;
    times_set_back_ = clock.times_set_back;
    if (went_back) {
        is_set_back_ = true;
        return fmt::format(
            "the host's clock was set back by more than {} s, and {:.3f} s of that are not made "
            "good: flows from before end, and packets stamped by this host count as bad_timestamp "
            "until the clock is right again, or for {} minutes; packets with times of their own do "
            "if they are ahead of it by more than {} s",
            kFurthestAhead.count(), std::chrono::duration<double>(clock.lead).count(),
            HostTime::kBelievedAfter.count(), kFurthestAhead.count());
    }
    if (is_set_back_ && clock.lead <= kFurthestAhead) {
        is_set_back_ = false;
        return "the host's clock, which was set back, is right again, or believed by now: packets "
               "stamped by this host no longer count as bad_timestamp";
    }
    return std::nullopt;
}

}  // namespace tributary
