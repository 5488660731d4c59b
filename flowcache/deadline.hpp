// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/flow_record.hpp"
#include "flowcache/options.hpp"

namespace tributary {

/// When a record has to end, and why. A packet exactly at the deadline still belongs to it.
struct Deadline {
    Timestamp at;
    FlowEndReason reason;
};

/// The timeouts of a cache, in the packets' unit: the options are in seconds, and every packet's
/// deadline would multiply them.
struct Timeouts {
    Timestamp::duration idle;
    Timestamp::duration active;

    // NOLINTNEXTLINE(google-explicit-constructor): the options say no more about deadlines
    Timeouts(const FlowCacheOptions& options) noexcept
        : idle(options.idle_timeout), active(options.active_timeout) {}
};

/// The earlier of a record's two deadlines, as its packets from `start` to `end` have made them.
[[nodiscard]] inline Deadline deadline_of(Timestamp start, Timestamp end,
                                          const Timeouts& timeouts) noexcept {
    const Timestamp idle = end + timeouts.idle;
    const Timestamp active = start + timeouts.active;
    if (idle <= active) {
        return {idle, FlowEndReason::idle_timeout};
    }
    return {active, FlowEndReason::active_timeout};
}

}  // namespace tributary
