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

/// The earlier of a record's two deadlines, as its packets have made them so far.
[[nodiscard]] inline Deadline deadline_of(const FlowRecordCore& core,
                                          const FlowCacheOptions& options) noexcept {
    const Timestamp idle = core.end + options.idle_timeout;
    const Timestamp active = core.start + options.active_timeout;
    if (idle <= active) {
        return {idle, FlowEndReason::idle_timeout};
    }
    return {active, FlowEndReason::active_timeout};
}

}  // namespace tributary
