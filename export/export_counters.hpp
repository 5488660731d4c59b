// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "export/latency_histogram.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

/// Why flow records that had left their cache never reached the collector.
enum class ExportLoss : std::uint8_t {
    send_refused,     ///< UDP: ICMP told that nobody listens there, or that it cannot be reached
    send_failed,      ///< UDP: the kernel will never send a message of this size
    write_failed,     ///< file or spool: disk full or input/output error
    collector_away,   ///< at shutdown: the collector took nothing for drain_timeout
    encoding_failed,  ///< libfixbuf refused the record
    buffer_full,      ///< the collector took nothing for so long that its buffer filled up, while
                      ///< another one went on
    spool_full,       ///< the spool had reached its max-size: the oldest went
    spool_damaged,    ///< what the spool held could not be read again
    spool_unusable,   ///< the spool held them for templates that are not sent any more
};
inline constexpr std::size_t kExportLossCount = 9;

/// Name in the ledger (`lost_by_cause`).
[[nodiscard]] constexpr std::string_view name_of(ExportLoss cause) noexcept {
    constexpr std::array<std::string_view, kExportLossCount> kNames{
        "send_refused", "send_failed", "write_failed",  "collector_away", "encoding_failed",
        "buffer_full",  "spool_full",  "spool_damaged", "spool_unusable"};
    return kNames.at(static_cast<std::size_t>(cause));
}

/// Lost records by cause.
struct LossCounters {
    std::array<RecordCounter, kExportLossCount> lost;

    /// @thread  the export thread
    void lose(ExportLoss cause, const RecordTally& tally) noexcept {
        lost.at(static_cast<std::size_t>(cause)).add(tally);
    }
    [[nodiscard]] RecordTally read_lost(ExportLoss cause) const noexcept {
        return lost.at(static_cast<std::size_t>(cause)).read();
    }
};

/// What became of the records of one queue. Once all is drained, the records that the queue's ring
/// gave out are exported + lost + spooled; until then the difference is in unsent messages.
struct alignas(64) QueueExportCounters : LossCounters {
    RecordCounter exported;  ///< at least one collector has them
    RecordCounter spooled;   ///< at the end: no collector has them yet, but a spool does
};

/// One collector's own account: the records that were meant for it, and the inherited ones, are
/// `records`, lost, spooled, or still here.
struct alignas(64) CollectorCounters : LossCounters {
    Counter messages;         ///< handed to the kernel, templates and those sent again included
    Counter octets;           ///< of these messages
    RecordCounter records;    ///< this collector has them
    RecordCounter inherited;  ///< that its spool held at the start
    RecordCounter spooled;    ///< that its spool holds at the end
    Counter refused;          ///< UDP: how often ICMP told so
    Counter errors;  ///< every other trouble: no connection, connection lost, name unknown, write
                     ///< failed, spool failed
    Counter reconnects;  ///< transport sessions after the first
    /// From taking the first record of a message until the collector has it; without what went
    /// through a spool.
    LatencyHistogram latency;
    Counter waiting_octets;    ///< gauge: messages that wait for it or its acknowledgement
    Counter pace;              ///< gauge: octets per second that leave at the most; 0: any number
    Counter spool_estimated;   ///< records among inherited and spool_damaged that are an estimate
    Counter spool_octets;      ///< gauge: what the spool takes on disk
    Counter spool_max_octets;  ///< gauge: what it may take; 0: there is none
    /// Gauge: uptime in nanoseconds at which it is tried next; 0: it does not wait for that.
    Counter next_try;
    Counter connected;  ///< gauge: 1 while messages can be sent
    Counter failed;     ///< gauge: 1 when nothing can be sent ever again
    Counter standby;    ///< gauge, mode failover: 1 while another collector has the records
};

/// All that the export worker counts. One writer: the export thread; made before it and read by
/// anybody.
struct ExportCounters {
    ExportCounters(std::size_t queue_count, std::size_t collector_count)
        : queues(queue_count), collectors(collector_count) {}

    std::vector<QueueExportCounters> queues;    ///< in the order of the worker's sources
    std::vector<CollectorCounters> collectors;  ///< in the order of ExportOptions::collectors
    /// Of the group's spool: its `records` went on to a collector. What it has inherited and stored
    /// went on, was lost, is `spooled` at the end, or is still there.
    CollectorCounters group_spool;
    RecordCounter group_spool_stored;  ///< records that it has taken
};

}  // namespace tributary
