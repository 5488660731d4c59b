// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "export/latency_histogram.hpp"
#include "export/lost_numbers.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

/// Why flow records that had left their cache never reached the collector.
enum class ExportLoss : std::uint8_t {
    send_refused,  ///< UDP: ICMP says that no process listens, or no host answers there
    send_failed,
    write_failed,    ///< file or spool: disk full or input/output error
    collector_away,  ///< at shutdown: the collector took nothing for drain_timeout
    buffer_full,  ///< the collector took nothing until its buffer was full, while another collector
                  ///< went on
    spool_full,   ///< the spool had reached its max-size: the oldest were dropped
    spool_damaged,   ///< records in the spool could not be read again
    spool_unusable,  ///< records in the spool were made for templates that are not sent any more
    unconfirmed,     ///< Kafka: the collector may have them, and they are never sent again
    no_collector,    ///< no collector takes the records of their table
};
inline constexpr std::size_t kExportLossCount = 10;
/// Those that the account of a collector, or of a spool, can have: all before no_collector.
inline constexpr std::size_t kCollectorLossCount =
    static_cast<std::size_t>(ExportLoss::no_collector);

/// Name in the ledger (`lost_by_cause`).
[[nodiscard]] constexpr std::string_view name_of(ExportLoss cause) noexcept {
    constexpr std::array<std::string_view, kExportLossCount> kNames{
        "send_refused", "send_failed",   "write_failed",   "collector_away", "buffer_full",
        "spool_full",   "spool_damaged", "spool_unusable", "unconfirmed",    "no_collector"};
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

/// The outcome of one queue's records. Once all is drained, the records from the queue's ring are
/// exported + lost + spooled; until then the difference is in unsent messages.
struct alignas(64) QueueExportCounters : LossCounters {
    RecordCounter exported;  ///< at least one collector has them
    RecordCounter spooled;   ///< at the end: no collector has them yet, but a spool has
};

/// The part of a collector's account that is of one table. Records of a former process are of no
/// table here.
struct CollectorTableCounters {
    RecordCounter records;
    RecordCounter lost;
    RecordCounter spooled;
};

/// One collector's own account: the records that were meant for it, and the inherited ones, are
/// `records`, lost, spooled, or still here.
struct alignas(64) CollectorCounters : LossCounters {
    Counter messages;         ///< handed to the kernel, templates and those sent again included
    Counter octets;           ///< of these messages
    RecordCounter records;    ///< this collector has them
    RecordCounter inherited;  ///< in its spool at the start
    RecordCounter spooled;    ///< in its spool at the end
    /// Of records, lost and spooled, by the index of the table; empty: there is one table.
    std::vector<CollectorTableCounters> tables;
    Counter refused;  ///< UDP: refusals by ICMP
    Counter errors;   ///< all other failures: no connection, connection lost, name unknown, write
                      ///< failed, spool failed
    Counter reconnects;  ///< transport sessions after the first
    /// From taking the first record of a message until the collector has it; without records that
    /// went through a spool.
    LatencyHistogram latency;
    LostNumbers numbers;       ///< of its stream: formats whose records are numbered
    Counter waiting_octets;    ///< gauge: messages that wait for it or its acknowledgement
    Counter pace;              ///< gauge: octets per second that leave at the most; 0: any number
    Counter spool_estimated;   ///< records among inherited and spool_damaged that are an estimate
    Counter spool_octets;      ///< gauge: size of the spool on disk
    Counter spool_max_octets;  ///< gauge: limit of that size; 0: there is no spool
    /// Gauge: uptime in nanoseconds of the next try to connect; 0: it waits for none.
    Counter next_try;
    Counter connected;  ///< gauge: 1 while messages can be sent
    Counter failed;     ///< gauge: 1 when nothing can be sent ever again
    Counter standby;    ///< gauge, mode failover: 1 while another collector has the records
};

/// All counters of the export worker. One writer: the export thread. Made before that thread, read
/// by any.
struct ExportCounters {
    ExportCounters(std::size_t queue_count, std::size_t collector_count)
        : queues(queue_count), collectors(collector_count) {}

    /// Makes it possible to split the collectors' accounts by table. Before any record, and any
    /// other thread.
    ///
    /// @param tables_of_queues  the index of the table of each queue's records
    /// @param table_count       tables are below that
    void make_parts(std::vector<std::size_t> tables_of_queues, std::size_t table_count) {
        queue_tables = std::move(tables_of_queues);
        for (CollectorCounters& collector : collectors) {
            collector.tables = std::vector<CollectorTableCounters>(table_count);
        }
    }
    /// From now on the accounts are split. All that was counted before is of the main table, also
    /// the records of a former process that have left by then. With one table, no record has the
    /// cost of that.
    ///
    /// @thread  the export thread, or before it
    void split() noexcept {
        if (std::exchange(is_split, true)) {
            return;
        }
        for (CollectorCounters& collector : collectors) {
            CollectorTableCounters& main = collector.tables.front();
            main.records.add(collector.records.read());
            main.spooled.add(collector.spooled.read());
            for (const RecordCounter& cause : collector.lost) {
                main.lost.add(cause.read());
            }
        }
    }

    std::vector<QueueExportCounters> queues;    ///< in the order of the worker's sources
    std::vector<CollectorCounters> collectors;  ///< in the order of ExportOptions::collectors
    /// Of the group's spool: its `records` went on to a collector. Records that it has inherited or
    /// stored went on, were lost, are `spooled` at the end, or are still there.
    CollectorCounters group_spool;
    RecordCounter group_spool_stored;       ///< records that it has taken
    std::vector<std::size_t> queue_tables;  ///< of `queues`; empty: accounts cannot be split
    bool is_split = false;                  ///< read by the export thread alone
};

}  // namespace tributary
