// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// The counters of one flow cache. Written by its input thread, read by any.
struct CacheCounters {
    Counter flows_created;                           ///< flow records, at their first packet
    Counter packets;                                 ///< metered: accounted to a record
    Counter octets;                                  ///< of IP packets, as in octetDeltaCount
    std::array<Counter, kFlowEndReasonCount> ended;  ///< by FlowEndReason
    RecordCounter lost_ring_full;   ///< ended, found the ring full, had to make room for a new flow
    Counter tcp_segments_unread;    ///< TCP analysis: segments whose header was not there
    Counter tcp_segments_unjudged;  ///< TCP analysis: counted as overflow of their flow
    Counter entries;  ///< gauge: flows that run, those between two records included, and
                      ///< records that wait for the ring

    /// Ended flow records, whatever their reason.
    /// @thread  any
    [[nodiscard]] std::uint64_t read_ended() const noexcept {
        std::uint64_t sum = 0;
        for (const Counter& reason : ended) {
            sum += reason.read();
        }
        return sum;
    }
};

}  // namespace tributary
