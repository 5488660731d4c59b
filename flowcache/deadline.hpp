// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"

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
    Timestamp::duration tcp_end;  ///< not longer than `idle`

    // NOLINTNEXTLINE(google-explicit-constructor): the options say no more about deadlines
    Timeouts(const FlowCacheOptions& options) noexcept
        : idle(options.idle_timeout),
          active(options.active_timeout),
          tcp_end(std::min(options.tcp_end_timeout, options.idle_timeout)) {}
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
/// The same of a record whose connection's end was seen. Where both are the same time, it is the
/// active one, which tells more: the record might have gone on.
[[nodiscard]] inline Deadline deadline_behind_end(Timestamp start, Timestamp end,
                                                  const Timeouts& timeouts) noexcept {
    const Timestamp silent = end + timeouts.tcp_end;
    const Timestamp active = start + timeouts.active;
    if (silent < active) {
        return {silent, FlowEndReason::end_of_flow};
    }
    return {active, FlowEndReason::active_timeout};
}

}  // namespace tributary
