// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/pipeline/ledger.hpp"
#include "daemon/port/dpdk_queue.hpp"

namespace tributary {

/// A queue's clock beside the host's.
/// @thread  any
[[nodiscard]] inline ClockLedger clock_of(const DpdkQueue& source) noexcept {
    const HostTime& time = source.host_time();
    const std::uint64_t times_set_back =
        time.times_gone_back();  // before the lead, which belongs to it
    return {.lead = time.behind(), .times_set_back = times_set_back};
}

/// Copies a receive queue's own counters into its ledger.
/// @thread  any
inline void read_source(const DpdkQueue& source, QueueLedger& queue) noexcept {
    queue.bad_timestamp = source.bad_timestamps().read();
    queue.frames_cut = source.frames_cut().read();
    queue.length_unknown = source.length_unknown().read();
    queue.clock = clock_of(source);
}

}  // namespace tributary
