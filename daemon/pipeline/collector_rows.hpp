// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/pipeline/counter_rows.hpp"
#include "export/export_counters.hpp"
#include "flowcache/record/counter.hpp"

// The counters of a collector's account.

namespace tributary {

/// A counter of a collector: its key in the collector's JSON, and where it is read.
struct CollectorRow {
    const char* key;
    /// @param uptime  now, as CollectorCounters::next_try has it
    /// @return        nothing: it is absent now
    std::optional<std::uint64_t> (*read)(const CollectorCounters&, std::chrono::nanoseconds uptime);
    MetricWords metric{};
};

/// A row for a Counter.
template <Counter CollectorCounters::*Member>
constexpr CollectorRow collector_counter(const char* key, const MetricWords& metric) {
    return {key,
            [](const CollectorCounters& counters, std::chrono::nanoseconds) {
                return std::optional((counters.*Member).read());
            },
            metric};
}
/// A row for the records of a RecordCounter.
template <RecordCounter CollectorCounters::*Member>
constexpr CollectorRow collector_records(const char* key, const MetricWords& metric) {
    return {key,
            [](const CollectorCounters& counters, std::chrono::nanoseconds) {
                return std::optional((counters.*Member).records.read());
            },
            metric};
}

/// Seconds until the next try, rounded up.
inline std::optional<std::uint64_t> next_try_in(const CollectorCounters& counters,
                                                std::chrono::nanoseconds uptime) {
    const std::chrono::nanoseconds next{counters.next_try.read()};
    if (next.count() <= 0) {
        return std::nullopt;
    }
    const auto left = std::max(next - uptime, std::chrono::nanoseconds{0});
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(left).count());
}

/// In the order of the metrics; the JSON has them in the order of their keys.
inline constexpr std::array kCollectorRows{
    collector_counter<&CollectorCounters::connected>(
        "connected",
        {"tributary_collector_connected", "Whether it can be reached, as far as known.", true}),
    collector_counter<&CollectorCounters::failed>(
        "failed", {"tributary_collector_failed", "Whether it was given up for good.", true}),
    collector_counter<&CollectorCounters::standby>(
        "standby", {"tributary_collector_standby",
                    "Mode failover: whether another collector has the records.", true}),
    collector_records<&CollectorCounters::records>(
        "records", {"tributary_collector_flow_records_total", "Flow records that it has."}),
    collector_counter<&CollectorCounters::messages>(
        "messages", {"tributary_collector_messages_total", "IPFIX messages sent."}),
    collector_counter<&CollectorCounters::octets>(
        "octets", {"tributary_collector_bytes_total", "Bytes of messages sent."}),
    collector_counter<&CollectorCounters::errors>(
        "errors", {"tributary_collector_errors_total", "Errors of sending."}),
    collector_counter<&CollectorCounters::refused>(
        "refused", {"tributary_collector_refused_total", "Datagrams refused by ICMP."}),
    collector_counter<&CollectorCounters::reconnects>(
        "reconnects", {"tributary_collector_reconnects_total", "Sessions begun anew."}),
    CollectorRow{"next_try_in",
                 next_try_in,
                 {"tributary_collector_next_try_seconds",
                  "Until it is tried again; absent while it is not waited for.", true}},
    collector_counter<&CollectorCounters::spool_octets>(
        "spool_octets", {"tributary_collector_spool_bytes", "What its spool takes on disk.", true}),
    collector_counter<&CollectorCounters::waiting_octets>(
        "waiting_octets", {"tributary_collector_waiting_bytes",
                           "Messages that wait for it, or for its acknowledgement.", true}),
    collector_counter<&CollectorCounters::pace>(
        "pace", {"tributary_collector_pace_bytes_per_second",
                 "UDP: what leaves in a second at the most; 0: as it comes.", true}),
    collector_records<&CollectorCounters::inherited>(
        "inherited", {"tributary_collector_inherited_flow_records_total",
                      "Flow records that a former process left in the spool."}),
    collector_counter<&CollectorCounters::spool_estimated>(
        "spool_estimated", {"tributary_collector_spool_estimated_flow_records_total",
                            "Of these, an estimate from octets of the spool that cannot be read."}),
    collector_records<&CollectorCounters::spooled>("spooled", {}),
};

/// A count of a collector that is split by table: its key, and where it is read.
struct CollectorTableRow {
    const char* key;
    RecordCounter CollectorTableCounters::*counter;
    MetricWords metric{};
};

inline constexpr std::array kCollectorTableRows{
    CollectorTableRow{
        "records",
        &CollectorTableCounters::records,
        {"tributary_collector_table_flow_records_total", "Flow records of a table that it has."}},
    CollectorTableRow{"lost",
                      &CollectorTableCounters::lost,
                      {"tributary_collector_table_lost_flow_records_total",
                       "Flow records of a table that it will never get."}},
    CollectorTableRow{"spooled", &CollectorTableCounters::spooled},
};

inline constexpr MetricWords kCollectorLost{"tributary_collector_lost_flow_records_total",
                                            "Its records lost, by cause."};
inline constexpr MetricWords kSpoolMaxBytes{"tributary_collector_spool_max_bytes",
                                            "What its spool may take on disk.", true};

/// The metric of the collectors' counter with this key.
consteval MetricWords collector_metric(std::string_view key) {
    return std::ranges::find(kCollectorRows, key,
                             [](const CollectorRow& row) { return std::string_view(row.key); })
        ->metric;
}

}  // namespace tributary
