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

/// The earlier of a record's two deadlines, as its packets from `start` to `end` have made them.
[[nodiscard]] inline Deadline deadline_of(Timestamp start, Timestamp end,
                                          const FlowCacheOptions& options) noexcept {
    const Timestamp idle = end + options.idle_timeout;
    const Timestamp active = start + options.active_timeout;
    if (idle <= active) {
        return {idle, FlowEndReason::idle_timeout};
    }
    return {active, FlowEndReason::active_timeout};
}

}  // namespace tributary
