// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace tributary {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

double seconds(std::chrono::duration<double> time) { return time.count(); }

/// A metric with its help text.
struct Metric {
    const char* name;
    const char* help;
    MetricType type = MetricType::Counter;
};

/// Families in the order of their first metrics.
class Families {
public:
    void add(const Metric& metric, Labels labels, double value) {
        ClientMetric& sample = family_of(metric).metric.emplace_back();
        sample.label = std::move(labels);
        sample.counter.value = value;
        sample.gauge.value = value;
    }
    void add(const Metric& metric, Labels labels, std::uint64_t value) {
        add(metric, std::move(labels), static_cast<double>(value));
    }
    void add(const Metric& metric, Labels labels, const LatencyHistogram::Reading& latency) {
        prometheus::ClientMetric::Histogram histogram;
        for (std::size_t bucket = 0; bucket < latency.records.size(); ++bucket) {
            histogram.sample_count += latency.records.at(bucket);
            const double bound = bucket < LatencyHistogram::kBounds.size()
                                     ? seconds(LatencyHistogram::kBounds.at(bucket))
                                     : std::numeric_limits<double>::infinity();
            histogram.bucket.push_back({histogram.sample_count, bound});
        }
        histogram.sample_sum = latency.seconds;
        ClientMetric& sample = family_of(metric).metric.emplace_back();
        sample.label = std::move(labels);
        sample.histogram = std::move(histogram);
    }
    [[nodiscard]] const std::vector<MetricFamily>& all() const { return families_; }

private:
    MetricFamily& family_of(const Metric& metric) {
        const auto [place, is_new] = places_.emplace(metric.name, families_.size());
        if (is_new) {
            families_.push_back({metric.name, metric.help, metric.type, {}});
        }
        return families_[place->second];
    }

    std::map<std::string, std::size_t> places_;
    std::vector<MetricFamily> families_;
};

struct QueueMetric {
    Metric metric;
    std::uint64_t (*read)(const QueueLedger&);
};

constexpr std::array kQueueMetrics{
    QueueMetric{{"tributary_received_packets_total", "Packets that the receive queue gave."},
                [](const QueueLedger& queue) { return queue.received; }},
    QueueMetric{{"tributary_filtered_packets_total", "Packets that the input's filter left out."},
                [](const QueueLedger& queue) { return queue.filtered; }},
    QueueMetric{{"tributary_ignored_bytes_total", "Bytes on the wire of ignored packets."},
                [](const QueueLedger& queue) { return queue.ignored_octets; }},
    QueueMetric{{"tributary_metered_packets_total", "Packets accounted to flow records."},
                [](const QueueLedger& queue) { return queue.metered.packets; }},
    QueueMetric{{"tributary_metered_bytes_total", "Bytes of IP packets in flow records."},
                [](const QueueLedger& queue) { return queue.metered.octets; }},
    QueueMetric{{"tributary_created_flow_records_total", "Flow records that have begun."},
                [](const QueueLedger& queue) { return queue.metered.records; }},
    QueueMetric{{"tributary_exported_flow_records_total", "Flow records that a collector has."},
                [](const QueueLedger& queue) { return queue.exported.records; }},
    QueueMetric{{"tributary_exported_packets_total", "Packets in exported flow records."},
                [](const QueueLedger& queue) { return queue.exported.packets; }},
    QueueMetric{{"tributary_exported_bytes_total", "Bytes of IP packets in exported records."},
                [](const QueueLedger& queue) { return queue.exported.octets; }},
    QueueMetric{{"tributary_active_flow_records", "Flow records in cache, ring or unsent messages.",
                 MetricType::Gauge},
                [](const QueueLedger& queue) { return queue.active().records; }},
    QueueMetric{{"tributary_active_packets", "Packets in active flow records.", MetricType::Gauge},
                [](const QueueLedger& queue) { return queue.active().packets; }},
    QueueMetric{{"tributary_active_bytes", "Bytes in active flow records.", MetricType::Gauge},
                [](const QueueLedger& queue) { return queue.active().octets; }},
    QueueMetric{{"tributary_cached_flow_records", "Flows in the flow cache.", MetricType::Gauge},
                [](const QueueLedger& queue) { return queue.in_cache(); }},
    QueueMetric{{"tributary_bad_timestamp_packets_total", "Packets under the last good time."},
                [](const QueueLedger& queue) { return queue.bad_timestamp; }},
    QueueMetric{{"tributary_cut_frames_total", "Frames that were longer than their buffer."},
                [](const QueueLedger& queue) { return queue.frames_cut; }},
    QueueMetric{{"tributary_length_unknown_packets_total",
                 "Packets that fill their buffer and do not say how long they are."},
                [](const QueueLedger& queue) { return queue.length_unknown; }},
    QueueMetric{{"tributary_missing_unified_headers_total", "Numbered, but never received."},
                [](const QueueLedger& queue) { return queue.unified_headers_missing; }},
    QueueMetric{{"tributary_untracked_unified_headers_total", "Of streams not followed."},
                [](const QueueLedger& queue) { return queue.unified_headers_untracked; }},
};

constexpr Metric kIgnored{"tributary_ignored_packets_total", "Packets in no flow, by reason."};
constexpr Metric kCutHeaders{"tributary_cut_headers_total",
                             "Metered packets of which a header ran past the cut, by header."};
constexpr Metric kFragments{"tributary_fragments_total", "Fragments, where they are tracked."};
constexpr Metric kTcpUnanalysed{"tributary_tcp_unanalysed_segments_total",
                                "Segments not read, or not judged."};
constexpr Metric kEnded{"tributary_ended_flow_records_total", "Flow records, by why they ended."};
constexpr Metric kLostRecords{"tributary_lost_flow_records_total", "Records lost, by cause."};
constexpr Metric kLostPackets{"tributary_lost_packets_total", "Packets in lost flow records."};
constexpr Metric kLostBytes{"tributary_lost_bytes_total", "Bytes in lost flow records."};
constexpr Metric kRingRecords{"tributary_ring_records", "Records that wait for the export thread.",
                              MetricType::Gauge};
constexpr Metric kRingRoom{"tributary_ring_room", "Records that the ring holds at most.",
                           MetricType::Gauge};
constexpr Metric kMaxFlows{"tributary_max_flows", "Room of the flow cache.", MetricType::Gauge};

constexpr Metric kClockLead{
    "tributary_clock_lead_seconds",
    "By how much the host's clock was set back, as far as that is not made good.",
    MetricType::Gauge};
constexpr Metric kClockSetBack{
    "tributary_clock_set_back_total",
    "Times that it was set back so far that the queue's clock went too."};

void add_named(Families& families, const Metric& metric, const Labels& labels,
               const char* name_label, const NamedCounts& counts) {
    for (const auto& [name, count] : counts) {
        Labels own = labels;
        own.push_back({name_label, name});
        families.add(metric, std::move(own), count);
    }
}

/// An unknown count is absent: a 0 would mean "none".
void add_known(Families& families, const Metric& metric, const Labels& labels,
               std::optional<std::uint64_t> count) {
    if (count) {
        families.add(metric, labels, *count);
    }
}

Labels labels_of(const QueueLedger& queue) {
    const std::size_t slash = queue.name.rfind('/');  // INPUT/NUMBER
    return {{"input", queue.name.substr(0, slash)}, {"queue", queue.name.substr(slash + 1)}};
}

void add_clock(Families& families, const Labels& labels, const std::optional<ClockLedger>& clock) {
    if (clock) {
        families.add(kClockLead, labels, seconds(clock->lead));
        families.add(kClockSetBack, labels, clock->times_set_back);
    }
}

void add_queue(Families& families, const QueueLedger& queue) {
    const Labels labels = labels_of(queue);
    for (const QueueMetric& each : kQueueMetrics) {
        families.add(each.metric, labels, each.read(queue));
    }
    add_known(families,
              {"tributary_nic_queue_error_packets_total",
               "Packets dropped for this queue; absent: unknown."},
              labels, queue.nic_queue_errors);
    add_clock(families, labels, queue.clock);
    add_named(families, kIgnored, labels, "reason", queue.ignored);
    add_named(families, kCutHeaders, labels, "header", queue.cut_headers);
    add_named(families, kFragments, labels, "kind", queue.fragments);
    add_named(families, kTcpUnanalysed, labels, "kind", queue.tcp_unanalysed);
    add_named(families, kEnded, labels, "reason", queue.ended_by_reason());
    for (const auto& [cause, tally] : queue.lost) {
        Labels own = labels;
        own.push_back({"cause", cause});
        families.add(kLostRecords, own, tally.records);
        families.add(kLostPackets, own, tally.packets);
        families.add(kLostBytes, std::move(own), tally.octets);
    }
}

void add_port(Families& families, const PortLedger& port) {
    const Labels labels{{"input", port.name}};
    add_known(families,
              {"tributary_nic_missed_packets_total",
               "Packets without a free descriptor; absent: unknown."},
              labels, port.missed);
    families.add({"tributary_nic_no_buffer_packets_total", "Packets without a free buffer."},
                 labels, port.no_buffer);
    families.add({"tributary_nic_error_packets_total", "Broken frames."}, labels, port.errors);
}

void add_link(Families& families, const InputFigures& input) {
    const Labels labels{{"input", input.name}};
    if (input.link != LinkState::unknown) {
        families.add({"tributary_input_link_up", "Whether its link is up; absent: unknown.",
                      MetricType::Gauge},
                     labels, input.link == LinkState::up ? 1.0 : 0.0);
    }
    families.add({"tributary_input_gone",
                  "Whether its device was removed, so that nothing is received any more.",
                  MetricType::Gauge},
                 labels, input.link == LinkState::gone ? 1.0 : 0.0);
}

constexpr Metric kSpoolMaxBytes{"tributary_collector_spool_max_bytes",
                                "What its spool may take on disk.", MetricType::Gauge};

struct CollectorMetric {
    const char* count;  ///< in the collector's ledger
    Metric metric;
};

constexpr std::array kCollectorMetrics{
    CollectorMetric{"connected",
                    {"tributary_collector_connected", "Whether it can be reached, as far as known.",
                     MetricType::Gauge}},
    CollectorMetric{
        "failed",
        {"tributary_collector_failed", "Whether it was given up for good.", MetricType::Gauge}},
    CollectorMetric{
        "standby",
        {"tributary_collector_standby", "Mode failover: whether another collector has the records.",
         MetricType::Gauge}},
    CollectorMetric{"records",
                    {"tributary_collector_flow_records_total", "Flow records that it has."}},
    CollectorMetric{"messages", {"tributary_collector_messages_total", "IPFIX messages sent."}},
    CollectorMetric{"octets", {"tributary_collector_bytes_total", "Bytes of messages sent."}},
    CollectorMetric{"errors", {"tributary_collector_errors_total", "Errors of sending."}},
    CollectorMetric{"refused", {"tributary_collector_refused_total", "Datagrams refused by ICMP."}},
    CollectorMetric{"reconnects", {"tributary_collector_reconnects_total", "Sessions begun anew."}},
    CollectorMetric{
        "next_try_in",
        {"tributary_collector_next_try_seconds",
         "Until it is tried again; absent while it is not waited for.", MetricType::Gauge}},
    CollectorMetric{
        "spool_octets",
        {"tributary_collector_spool_bytes", "What its spool takes on disk.", MetricType::Gauge}},
    CollectorMetric{"waiting_octets",
                    {"tributary_collector_waiting_bytes",
                     "Messages that wait for it, or for its acknowledgement.", MetricType::Gauge}},
    CollectorMetric{
        "pace",
        {"tributary_collector_pace_bytes_per_second",
         "UDP: what leaves in a second at the most; 0: as it comes.", MetricType::Gauge}},
    CollectorMetric{"inherited",
                    {"tributary_collector_inherited_flow_records_total",
                     "Flow records that a former process left in the spool."}},
    CollectorMetric{"spool_estimated",
                    {"tributary_collector_spool_estimated_flow_records_total",
                     "Of these, an estimate from octets of the spool that cannot be read."}},
};

void add_collector(Families& families, const CollectorLedger& collector) {
    const Labels labels{{"collector", collector.name}};
    for (const CollectorMetric& each : kCollectorMetrics) {
        if (collector.is_removed && each.metric.type == MetricType::Gauge) {
            continue;  // its counters stay; its state is not exported
        }
        if (const auto count = collector.counts.find(each.count); count != collector.counts.end()) {
            families.add(each.metric, labels, count->second);
        }
    }
    add_named(families,
              {"tributary_collector_lost_flow_records_total", "Its records lost, by cause."},
              labels, "cause", collector.lost_by_cause);
}

/// Metrics shared with a collector's spool have the same names, for the same alerts.
void add_spool(Families& families, const GroupSpoolLedger& spool) {
    add_collector(families, {.name = "failover",
                             .counts = {{"spool_octets", spool.octets},
                                        {"inherited", spool.inherited},
                                        {"spool_estimated", spool.estimated},
                                        {"errors", spool.errors}},
                             .lost_by_cause = spool.lost_by_cause});
    families.add(kSpoolMaxBytes, {{"collector", "failover"}}, spool.max_octets);
    families.add({"tributary_spool_waiting_flow_records",
                  "Mode failover: flow records that wait in the spool.", MetricType::Gauge},
                 {}, spool.waiting());
    families.add({"tributary_spool_stored_flow_records_total",
                  "Mode failover: flow records of this process that went to the spool."},
                 {}, spool.stored);
    families.add({"tributary_spool_handed_over_flow_records_total",
                  "Mode failover: flow records that went from the spool to a collector."},
                 {}, spool.handed_over);
}

void add_figures(Families& families, const Ledger& ledger, const ProbeFigures& figures) {
    for (std::size_t index = 0; index < figures.rings.size(); ++index) {
        const Labels labels = labels_of(ledger.queues.at(index));
        families.add(kRingRecords, labels, figures.rings[index].records);
        families.add(kRingRoom, labels, figures.rings[index].room);
        families.add(kMaxFlows, labels, figures.max_flows);
    }
    constexpr Metric kCycles{"tributary_thread_cycles_total",
                             "CPU cycles in rounds that brought something, and in others."};
    for (const ThreadLoad* const load : figures.threads) {
        families.add(kCycles, {{"thread", load->thread}, {"state", "busy"}},
                     load->busy_cycles.read());
        families.add(kCycles, {{"thread", load->thread}, {"state", "idle"}},
                     load->idle_cycles.read());
        families.add({"tributary_thread_rounds_total", "Rounds of its loop: none, and it hangs."},
                     {{"thread", load->thread}}, load->rounds.read());
    }
    for (const CollectorFigures& collector : figures.collectors) {
        const Labels labels{{"collector", collector.name}};
        families.add({"tributary_export_latency_seconds",
                      "From taking a message's first record until the collector has it, by record; "
                      "without those that went through a spool.",
                      MetricType::Histogram},
                     labels, collector.latency);
        families.add(kSpoolMaxBytes, labels, collector.spool_max_octets);
    }
    for (const InputFigures& input : figures.inputs) {
        add_link(families, input);
    }
    for (const HeapUse& use : figures.heap) {
        const Labels labels{{"node", use.node ? std::to_string(*use.node) : "none"}};
        families.add({"tributary_heap_allocated_bytes",
                      "Of the heap, by the NUMA node of its arena: in use.", MetricType::Gauge},
                     labels, use.allocated);
        families.add(
            {"tributary_heap_resident_bytes", "The same: in physical memory.", MetricType::Gauge},
            labels, use.resident);
    }
    families.add({"tributary_build_info", "The version that runs.", MetricType::Gauge},
                 {{"version", figures.version}}, 1.0);
    families.add({"tributary_start_time_seconds", "Since 1970.", MetricType::Gauge}, {},
                 static_cast<double>(figures.started.time_since_epoch().count()));
}

}  // namespace

std::string to_prometheus(const Ledger& ledger, const ProbeFigures& figures) {
    Families families;
    for (const QueueLedger& queue : ledger.queues) {
        add_queue(families, queue);
    }
    for (const PortLedger& port : ledger.ports) {
        add_port(families, port);
    }
    for (const CollectorLedger& collector : ledger.collectors) {
        add_collector(families, collector);
    }
    if (ledger.spool) {
        add_spool(families, *ledger.spool);
    }
    add_figures(families, ledger, figures);
    return prometheus::TextSerializer().Serialize(families.all());
}

}  // namespace tributary
