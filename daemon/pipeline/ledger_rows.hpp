// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "daemon/pipeline/collector_rows.hpp"
#include "daemon/pipeline/counter_rows.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/units.hpp"

// The counters of all ledgers. The rows of a table stand in the order of the JSON. Each source that
// includes them takes seconds longer to compile.

namespace tributary {

/// The order of a queue's metrics.
struct QueueMetricGroup {
    static constexpr std::uint8_t kInput = 0;
    static constexpr std::uint8_t kRecords = 1;
    static constexpr std::uint8_t kFrames = 2;
    static constexpr std::uint8_t kUnifiedHeaders = 3;
    static constexpr std::uint8_t kNic = 4;
    static constexpr std::uint8_t kClock = 5;
    static constexpr std::uint8_t kByName = 6;
    static constexpr std::uint8_t kLost = 7;
};

/// @return  nothing: the queue has no clock of its own
inline std::optional<Timestamp::duration> clock_lead(const QueueLedger& queue) {
    return queue.clock ? std::optional(queue.clock->lead) : std::nullopt;
}
/// @return  nothing: the queue has no clock of its own
inline std::optional<std::uint64_t> times_set_back(const QueueLedger& queue) {
    return queue.clock ? std::optional(queue.clock->times_set_back) : std::nullopt;
}

inline constexpr std::tuple kQueueRows{
    no_counter(&QueueLedger::name),
    no_counter(&QueueLedger::clock),
    metric_only(clock_lead,
                {.metrics = {{{"tributary_clock_lead_seconds",
                               "By how much the host's clock was set back, as far as that is not "
                               "made good.",
                               true}}},
                 .metric_group = QueueMetricGroup::kClock}),
    metric_only(times_set_back,
                {.metrics = {{{"tributary_clock_set_back_total",
                               "Times that it was set back so far that the queue's clock went "
                               "too."}}},
                 .metric_group = QueueMetricGroup::kClock}),
    counter(&QueueLedger::received, {.key = "received",
                                     .metrics = {{{"tributary_received_packets_total",
                                                   "Packets that the receive queue gave."}}}}),
    counter(&QueueLedger::metered,
            {.key = "metered",
             .records_key = "created",
             .metrics = {{{"tributary_metered_packets_total", "Packets accounted to flow records.",
                           false, &RecordTally::packets},
                          {"tributary_metered_bytes_total", "Bytes of IP packets in flow records.",
                           false, &RecordTally::octets},
                          {"tributary_created_flow_records_total", "Flow records that have begun.",
                           false, &RecordTally::records}}},
             .metric_group = QueueMetricGroup::kRecords}),
    counter(&QueueLedger::ignored_sum, {.key = "ignored"}),
    counter(&QueueLedger::filtered, {.key = "filtered",
                                     .metrics = {{{"tributary_filtered_packets_total",
                                                   "Packets that the input's filter left out."}}}}),
    counter(&QueueLedger::ignored,
            {.key = "ignored_by_reason",
             .metrics = {{{"tributary_ignored_packets_total", "Packets in no flow, by reason."}}},
             .label = "reason",
             .metric_group = QueueMetricGroup::kByName}),
    counter(&QueueLedger::ignored_octets,
            {.key = "ignored",
             .section = LedgerSection::octets,
             .metrics = {{{"tributary_ignored_bytes_total",
                           "Bytes on the wire of ignored packets."}}}}),
    counter(
        &QueueLedger::exported,
        {.key = "exported",
         .metrics = {{{"tributary_exported_flow_records_total",
                       "Flow records that a collector has.", false, &RecordTally::records},
                      {"tributary_exported_packets_total", "Packets in exported flow records.",
                       false, &RecordTally::packets},
                      {"tributary_exported_bytes_total", "Bytes of IP packets in exported records.",
                       false, &RecordTally::octets}}},
         .metric_group = QueueMetricGroup::kRecords}),
    counter(&QueueLedger::lost_sum, {.key = "lost"}),
    counter(&QueueLedger::lost,
            {.key = "lost_by_cause",
             .metrics = {{{"tributary_lost_flow_records_total", "Records lost, by cause.", false,
                           &RecordTally::records},
                          {"tributary_lost_packets_total", "Packets in lost flow records.", false,
                           &RecordTally::packets},
                          {"tributary_lost_bytes_total", "Bytes in lost flow records.", false,
                           &RecordTally::octets}}},
             .label = "cause",
             .metric_group = QueueMetricGroup::kLost}),
    counter(&QueueLedger::active,
            {.key = "active",
             .metrics = {{{"tributary_active_flow_records",
                           "Flow records in cache, ring or unsent messages.", true,
                           &RecordTally::records},
                          {"tributary_active_packets", "Packets in active flow records.", true,
                           &RecordTally::packets},
                          {"tributary_active_bytes", "Bytes in active flow records.", true,
                           &RecordTally::octets}}},
             .metric_group = QueueMetricGroup::kRecords}),
    metric_only(&QueueLedger::in_cache,
                {.metrics = {{{"tributary_cached_flow_records", "Flows in the flow cache.", true}}},
                 .metric_group = QueueMetricGroup::kRecords}),
    counter(&QueueLedger::spooled, {.key = "spooled"}),
    counter(&QueueLedger::nic_queue_errors,
            {.key = "nic_queue_errors",
             .metrics = {{{"tributary_nic_queue_error_packets_total",
                           "Packets dropped for this queue; absent: unknown."}}},
             .metric_group = QueueMetricGroup::kNic}),
    counter(&QueueLedger::unified_headers_missing,
            {.key = "unified_headers_missing",
             .metrics = {{{"tributary_missing_unified_headers_total",
                           "Numbered, but never received."}}},
             .metric_group = QueueMetricGroup::kUnifiedHeaders}),
    counter(
        &QueueLedger::unified_headers_untracked,
        {.key = "unified_headers_untracked",
         .metrics = {{{"tributary_untracked_unified_headers_total", "Of streams not followed."}}},
         .metric_group = QueueMetricGroup::kUnifiedHeaders}),
    counter(&QueueLedger::bad_timestamp, {.key = "bad_timestamp",
                                          .metrics = {{{"tributary_bad_timestamp_packets_total",
                                                        "Packets under the last good time."}}},
                                          .metric_group = QueueMetricGroup::kFrames}),
    counter(&QueueLedger::frames_cut,
            {.key = "frames_cut",
             .metrics = {{{"tributary_cut_frames_total",
                           "Frames that were longer than their buffer."}}},
             .metric_group = QueueMetricGroup::kFrames}),
    counter(&QueueLedger::length_unknown,
            {.key = "length_unknown",
             .metrics = {{{"tributary_length_unknown_packets_total",
                           "Packets that fill their buffer and do not say how long they are."}}},
             .metric_group = QueueMetricGroup::kFrames}),
    counter(&QueueLedger::kept,
            {.key = "kept",
             .metrics = {{{"tributary_kept_packets_total", "Packets that stages have kept."}}},
             .metric_group = QueueMetricGroup::kFrames}),
    counter(&QueueLedger::kept_held,
            {.key = "kept_held",
             .metrics = {{{"tributary_kept_packets_held",
                           "Packets that stages have kept and not given back yet.", true}}},
             .metric_group = QueueMetricGroup::kFrames}),
    counter(&QueueLedger::keep_refused,
            {.key = "keep_refused",
             .metrics = {{{"tributary_keep_refused_packets_total",
                           "Packets that stages wanted to keep, without a buffer for them."}}},
             .metric_group = QueueMetricGroup::kFrames}),
    counter(&QueueLedger::cut_headers,
            {.key = "cut_headers",
             .metrics = {{{"tributary_cut_headers_total",
                           "Metered packets of which a header ran past the cut, by header."}}},
             .label = "header",
             .metric_group = QueueMetricGroup::kByName}),
    counter(&QueueLedger::fragments,
            {.key = "fragments",
             .metrics = {{{"tributary_fragments_total", "Fragments, where they are tracked."}}},
             .label = "kind",
             .metric_group = QueueMetricGroup::kByName}),
    counter(&QueueLedger::tcp_unanalysed, {.key = "tcp_unanalysed",
                                           .metrics = {{{"tributary_tcp_unanalysed_segments_total",
                                                         "Segments not read, or not judged."}}},
                                           .label = "kind",
                                           .metric_group = QueueMetricGroup::kByName}),
    sum_only(&QueueLedger::ended),
    counter(
        &QueueLedger::ended_by_reason,
        {.key = "ended_by_reason",
         .section = LedgerSection::flows,
         .metrics = {{{"tributary_ended_flow_records_total", "Flow records, by why they ended."}}},
         .label = "reason",
         .metric_group = QueueMetricGroup::kByName}),
};
static_assert(has_row_for_each_member<QueueLedger>(kQueueRows));

/// The order of a table's metrics.
struct TableMetricGroup {
    static constexpr std::uint8_t kPackets = 0;
    static constexpr std::uint8_t kRecords = 1;
    static constexpr std::uint8_t kByName = 2;
    static constexpr std::uint8_t kLost = 3;
};

inline constexpr std::tuple kTableRows{
    no_counter(&TableLedger::name),
    counter(&TableLedger::metered,
            {.key = "metered",
             .metrics = {{{"tributary_table_metered_packets_total",
                           "Metered packets, all of which come to the table."}}}}),
    counter(&TableLedger::filtered, {.key = "filtered",
                                     .metrics = {{{"tributary_table_filtered_packets_total",
                                                   "Of these, those that its filter left out."}}}}),
    counter(&TableLedger::filter_not_ready,
            {.key = "filter_not_ready",
             .metrics = {{{"tributary_table_filter_not_ready_packets_total",
                           "Of these, those that came before its filter could decide."}}}}),
    counter(&TableLedger::without_field,
            {.key = "without_field",
             .metrics = {{{"tributary_table_without_field_packets_total",
                           "Of these, those that ended before a field of the user's own."}}}}),
    counter(&TableLedger::matched, {.key = "matched",
                                    .metrics = {{{"tributary_table_matched_packets_total",
                                                  "Of these, those that matched."}}}}),
    counter(&TableLedger::refused_sum, {.key = "refused"}),
    counter(&TableLedger::refused,
            {.key = "refused_by_cause",
             .metrics = {{{"tributary_table_refused_packets_total",
                           "Packets that matched and are in no record, by cause."}}},
             .label = "cause",
             .metric_group = TableMetricGroup::kByName}),
    counter(&TableLedger::created,
            {.key = "in_records",
             .records_key = "created",
             .metrics = {{{"tributary_table_packets_total", "Packets in its flow records.", false,
                           &RecordTally::packets},
                          {"tributary_table_bytes_total", "Bytes of IP packets in these.", false,
                           &RecordTally::octets},
                          {"tributary_table_created_flow_records_total",
                           "Its flow records that have begun.", false, &RecordTally::records}}},
             .metric_group = TableMetricGroup::kRecords}),
    counter(&TableLedger::exported,
            {.key = "exported",
             .metrics = {{{"tributary_table_exported_flow_records_total",
                           "Its flow records that a collector has.", false, &RecordTally::records},
                          {"tributary_table_exported_packets_total", "Packets in these.", false,
                           &RecordTally::packets},
                          {"tributary_table_exported_bytes_total", "Bytes of IP packets in these.",
                           false, &RecordTally::octets}}},
             .metric_group = TableMetricGroup::kRecords}),
    counter(&TableLedger::lost_sum, {.key = "lost"}),
    counter(&TableLedger::lost,
            {.key = "lost_by_cause",
             .metrics = {{{"tributary_table_lost_flow_records_total", "Its records lost, by cause.",
                           false, &RecordTally::records},
                          {"tributary_table_lost_packets_total", "Packets in these.", false,
                           &RecordTally::packets},
                          {"tributary_table_lost_bytes_total", "Bytes in these.", false,
                           &RecordTally::octets}}},
             .label = "cause",
             .metric_group = TableMetricGroup::kLost}),
    counter(&TableLedger::active,
            {.key = "active",
             .metrics = {{{"tributary_table_active_flow_records",
                           "Its flow records in caches, rings or unsent messages.", true,
                           &RecordTally::records},
                          {"tributary_table_active_packets", "Packets in these.", true,
                           &RecordTally::packets},
                          {"tributary_table_active_bytes", "Bytes in these.", true,
                           &RecordTally::octets}}},
             .metric_group = TableMetricGroup::kRecords}),
    metric_only(
        &TableLedger::in_cache,
        {.metrics = {{{"tributary_table_cached_flow_records", "Flows in its caches.", true}}},
         .metric_group = TableMetricGroup::kRecords}),
    counter(&TableLedger::spooled, {.key = "spooled"}),
    sum_only(&TableLedger::ended),
    counter(&TableLedger::ended_by_reason,
            {.key = "ended_by_reason",
             .section = LedgerSection::flows,
             .metrics = {{{"tributary_table_ended_flow_records_total",
                           "Its flow records, by why they ended."}}},
             .label = "reason",
             .metric_group = TableMetricGroup::kByName}),
};
static_assert(has_row_for_each_member<TableLedger>(kTableRows));

inline constexpr std::tuple kRecorderRows{
    no_counter(&RecorderQueueLedger::name),
    counter(&RecorderQueueLedger::seen, {.key = "seen",
                                         .metrics = {{{"tributary_recorder_seen_packets_total",
                                                       "Frames that came to the recorder."}}}}),
    counter(&RecorderQueueLedger::kept_whole,
            {.key = "kept_whole",
             .metrics = {{{"tributary_recorder_kept_whole_packets_total",
                           "Frames that were kept as they came."}}}}),
    counter(&RecorderQueueLedger::kept_cut,
            {.key = "kept_cut",
             .metrics = {{{"tributary_recorder_kept_cut_packets_total",
                           "Frames of which less was kept than came."}}}}),
    counter(&RecorderQueueLedger::left_out_sum, {.key = "left_out"}),
    counter(&RecorderQueueLedger::left_out,
            {.key = "left_out_by_cause",
             .metrics = {{{"tributary_recorder_left_out_packets_total",
                           "Frames that were not kept, by cause."}}},
             .label = "cause"}),
    counter(&RecorderQueueLedger::kept_octets,
            {.key = "kept_octets",
             .metrics = {{{"tributary_recorder_kept_bytes_total", "Bytes of kept frames."}}}}),
    counter(&RecorderQueueLedger::overwritten,
            {.key = "overwritten",
             .metrics = {{{"tributary_recorder_overwritten_packets_total",
                           "Frames that were kept, and made room for later ones."}}}}),
    counter(&RecorderQueueLedger::held,
            {.key = "held",
             .metrics = {{{"tributary_recorder_held_packets", "Frames in the ring.", true}}}}),
    counter(&RecorderQueueLedger::reach,
            {.key = "reach_seconds",
             .metrics = {{{"tributary_recorder_reach_seconds",
                           "How far back the oldest frame in the ring is.", true}}}}),
};
static_assert(has_row_for_each_member<RecorderQueueLedger>(kRecorderRows));

inline constexpr std::tuple kDumpRows{
    counter(
        &DumpLedger::begun,
        {.key = "begun", .metrics = {{{"tributary_dumps_begun_total", "Dumps of the recorder."}}}}),
    counter(&DumpLedger::whole,
            {.key = "whole",
             .metrics = {{{"tributary_dumps_whole_total", "Dumps that were read to their end."}}}}),
    counter(&DumpLedger::cut_off,
            {.key = "cut_off",
             .metrics = {{{"tributary_dumps_cut_off_total",
                           "Dumps whose reader left or was too slow, or that failed."}}}}),
    counter(
        &DumpLedger::packets,
        {.key = "packets", .metrics = {{{"tributary_dumped_packets_total", "Packets in dumps."}}}}),
    counter(&DumpLedger::octets,
            {.key = "octets",
             .metrics = {{{"tributary_dumped_bytes_total", "Bytes of packets in dumps."}}}}),
    counter(&DumpLedger::overwritten,
            {.key = "overwritten",
             .metrics = {{{"tributary_dumps_overwritten_packets_total",
                           "Packets that were overwritten before a dump came to them."}}}}),
};
static_assert(has_row_for_each_member<DumpLedger>(kDumpRows));

inline constexpr std::tuple kTriggerRows{
    no_counter(&TriggerLedger::name),
    counter(&TriggerLedger::fired,
            {.key = "fired",
             .metrics = {{{"tributary_trigger_fired_total", "Times that a trigger fired."}}}}),
    counter(&TriggerLedger::suppressed_sum, {.key = "suppressed"}),
    counter(&TriggerLedger::suppressed,
            {.key = "suppressed_by_cause",
             .metrics = {{{"tributary_trigger_suppressed_total",
                           "Times that nothing was written, by cause."}}},
             .label = "cause"}),
    counter(&TriggerLedger::files,
            {.key = "files",
             .metrics = {{{"tributary_trigger_files_total", "Files that are whole."}}}}),
    counter(&TriggerLedger::waiting,
            {.key = "waiting",
             .metrics = {{{"tributary_trigger_waiting_files",
                           "Files that are not written yet, or being written.", true}}}}),
    counter(&TriggerLedger::ended_early, {.key = "ended_early",
                                          .metrics = {{{"tributary_trigger_files_ended_early_total",
                                                        "Files that ended at max-size."}}}}),
    counter(&TriggerLedger::packets,
            {.key = "packets",
             .metrics = {{{"tributary_trigger_packets_total", "Packets in the files."}}}}),
    counter(&TriggerLedger::octets,
            {.key = "octets",
             .metrics = {{{"tributary_trigger_bytes_total", "Bytes of packets in the files."}}}}),
    counter(&TriggerLedger::overwritten,
            {.key = "overwritten",
             .metrics = {{{"tributary_trigger_overwritten_packets_total",
                           "Packets that were overwritten before a file had them."}}}}),
    counter(&TriggerLedger::removed, {.key = "removed",
                                      .metrics = {{{"tributary_trigger_removed_files_total",
                                                    "Files that made room for later ones."}}}}),
};
static_assert(has_row_for_each_member<TriggerLedger>(kTriggerRows));

inline constexpr std::tuple kPortRows{
    no_counter(&PortLedger::name),
    counter(&PortLedger::missed,
            {.key = "nic_missed",
             .metrics = {{{"tributary_nic_missed_packets_total",
                           "Packets without a free descriptor; absent: unknown."}}}}),
    counter(&PortLedger::no_buffer, {.key = "nic_no_buffer",
                                     .metrics = {{{"tributary_nic_no_buffer_packets_total",
                                                   "Packets without a free buffer."}}}}),
    counter(&PortLedger::errors,
            {.key = "nic_errors",
             .metrics = {{{"tributary_nic_error_packets_total", "Broken frames."}}}}),
};
static_assert(has_row_for_each_member<PortLedger>(kPortRows));

/// The order of the metrics of the group's spool. Metrics shared with a collector's spool have the
/// same names, for the same alerts.
struct SpoolMetricGroup {
    static constexpr std::uint8_t kAsCollector = 0;
    static constexpr std::uint8_t kWaiting = 1;
    static constexpr std::uint8_t kPassed = 2;
};

inline constexpr std::tuple kSpoolRows{
    counter(&GroupSpoolLedger::inherited,
            {.key = "inherited", .metrics = {{collector_metric("inherited")}}}),
    counter(&GroupSpoolLedger::stored,
            {.key = "stored",
             .metrics = {{{"tributary_spool_stored_flow_records_total",
                           "Mode failover: flow records of this process that went to the spool."}}},
             .metric_group = SpoolMetricGroup::kPassed}),
    counter(&GroupSpoolLedger::handed_over,
            {.key = "handed_over",
             .metrics = {{{"tributary_spool_handed_over_flow_records_total",
                           "Mode failover: flow records that went from the spool to a "
                           "collector."}}},
             .metric_group = SpoolMetricGroup::kPassed}),
    counter(&GroupSpoolLedger::lost, {.key = "lost"}),
    counter(&GroupSpoolLedger::lost_by_cause,
            {.key = "lost_by_cause", .metrics = {{kCollectorLost}}, .label = "cause"}),
    counter(&GroupSpoolLedger::spooled, {.key = "spooled"}),
    counter(&GroupSpoolLedger::waiting,
            {.key = "waiting",
             .metrics = {{{"tributary_spool_waiting_flow_records",
                           "Mode failover: flow records that wait in the spool.", true}}},
             .metric_group = SpoolMetricGroup::kWaiting}),
    counter(&GroupSpoolLedger::estimated,
            {.key = "estimated", .metrics = {{collector_metric("spool_estimated")}}}),
    counter(&GroupSpoolLedger::octets,
            {.key = "octets", .metrics = {{collector_metric("spool_octets")}}}),
    counter(&GroupSpoolLedger::max_octets, {.key = "max_octets", .metrics = {{kSpoolMaxBytes}}}),
    counter(&GroupSpoolLedger::errors,
            {.key = "errors", .metrics = {{collector_metric("errors")}}}),
};
static_assert(has_row_for_each_member<GroupSpoolLedger>(kSpoolRows));

}  // namespace tributary
