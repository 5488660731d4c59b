// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/pipeline/ledger_rows.hpp"

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

constexpr Metric kRingRecords{"tributary_ring_records", "Records that wait for the export thread.",
                              MetricType::Gauge};
constexpr Metric kRingRoom{"tributary_ring_room", "Records that the ring holds at most.",
                           MetricType::Gauge};
constexpr Metric kMaxFlows{"tributary_max_flows", "Room of the flow cache.", MetricType::Gauge};

Metric metric_of(const MetricWords& words) {
    return {words.name, words.help, words.is_gauge ? MetricType::Gauge : MetricType::Counter};
}

std::string node_text(const NumaNode& node) { return node ? std::to_string(*node) : "none"; }

Labels with_label(Labels labels, const char* label, const std::string& name) {
    labels.push_back({label, name});
    return labels;
}

void add(Families& families, const CounterWords& words, const Labels& labels, std::uint64_t count) {
    families.add(metric_of(words.metrics[0]), labels, count);
}

/// An unknown count is absent: a 0 would mean "none".
void add(Families& families, const CounterWords& words, const Labels& labels,
         std::optional<std::uint64_t> count) {
    if (count) {
        add(families, words, labels, *count);
    }
}
void add(Families& families, const CounterWords& words, const Labels& labels,
         std::optional<Timestamp::duration> time) {
    if (time) {
        families.add(metric_of(words.metrics[0]), labels, seconds(*time));
    }
}

void add(Families& families, const CounterWords& words, const Labels& labels,
         const NamedCounts& counts) {
    for (const auto& [name, count] : counts) {
        add(families, words, with_label(labels, words.label, name), count);
    }
}

void add(Families& families, const CounterWords& words, const Labels& labels,
         const RecordTally& tally) {
    for (const MetricWords& metric : words.metrics) {
        families.add(metric_of(metric), labels, tally.*metric.part);
    }
}
void add(Families& families, const CounterWords& words, const Labels& labels,
         const LostByCause& lost) {
    for (const auto& [cause, tally] : lost) {
        add(families, words, with_label(labels, words.label, cause), tally);
    }
}

template <class Rows, class Owner>
void add_all(Families& families, const Rows& rows, const Labels& labels, const Owner& ledger) {
    for_each_metric(rows, ledger, [&](const CounterWords& words, const auto& numbers) {
        add(families, words, labels, numbers);
    });
}

/// @param queue  INPUT/NUMBER
Labels labels_of(const std::string& queue) {
    const std::size_t slash = queue.rfind('/');
    return {{"input", queue.substr(0, slash)}, {"queue", queue.substr(slash + 1)}};
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

void add_collector(Families& families, const CollectorLedger& collector) {
    const Labels labels{{"collector", collector.name}};
    for (const CollectorRow& row : kCollectorRows) {
        const bool is_former_state = collector.is_removed && row.metric.is_gauge;
        const auto count = collector.counts.find(row.key);
        // Counters of a removed collector stay; its state is not exported.
        if (row.metric.name != nullptr && !is_former_state && count != collector.counts.end()) {
            families.add(metric_of(row.metric), labels, count->second);
        }
    }
    add(families, {.metrics = {{kCollectorLost}}, .label = "cause"}, labels,
        collector.lost_by_cause);
    for (const auto& [table, counts] : collector.tables) {
        for (const CollectorTableRow& row : kCollectorTableRows) {
            const auto count = counts.find(row.key);
            if (row.metric.name != nullptr && count != counts.end()) {
                families.add(metric_of(row.metric), with_label(labels, "table", table),
                             count->second);
            }
        }
    }
}

void add_spool(Families& families, const GroupSpoolLedger& spool) {
    for_each_metric(kSpoolRows, spool, [&](const CounterWords& words, const auto& numbers) {
        const bool is_as_collector = words.metric_group == SpoolMetricGroup::kAsCollector;
        add(families, words, is_as_collector ? Labels{{"collector", "failover"}} : Labels{},
            numbers);
    });
}

/// Threads of one name, such as those of commands, are one sample: their times are added up.
struct HelperSum {
    std::uint64_t threads = 0;
    std::optional<std::chrono::nanoseconds> cpu_time = std::chrono::nanoseconds{0};
    std::optional<bool> hangs;

    void add(const ProcessThread& thread) {
        ++threads;
        cpu_time = cpu_time && thread.cpu_time ? std::optional(*cpu_time + *thread.cpu_time)
                                               : std::nullopt;
        if (thread.hangs) {
            hangs = hangs.value_or(false) || *thread.hangs;
        }
    }
};

void add_helpers(Families& families, const std::vector<HelperFigures>& helpers) {
    std::map<std::pair<std::string, const char*>, HelperSum> by_name;
    std::map<std::array<std::string, 4>, std::uint64_t> places;
    for (const HelperFigures& helper : helpers) {
        const ProcessThread& thread = helper.thread;
        by_name[{thread.name, name_of(thread.role)}].add(thread);
        ++places[{thread.name, name_of(thread.role), cpu_list(thread.cpus),
                  node_text(helper.node)}];
    }
    for (const auto& [place, threads] : places) {
        families.add(
            {"tributary_helper_threads",
             "Threads that are neither input nor export threads, with the cores that they "
             "may run on and the NUMA node of these.",
             MetricType::Gauge},
            {{"thread", place[0]}, {"role", place[1]}, {"cpus", place[2]}, {"node", place[3]}},
            threads);
    }
    for (const auto& [name, sum] : by_name) {
        const Labels labels{{"thread", name.first}, {"role", name.second}};
        if (sum.cpu_time) {
            families.add({"tributary_helper_cpu_seconds_total",
                          "CPU time of helper threads, in steps of the kernel's clock ticks; "
                          "absent: unknown."},
                         labels, seconds(*sum.cpu_time));
        }
        if (sum.hangs) {
            families.add({"tributary_helper_hangs",
                          "Whether its present work takes longer than it may; absent: it may take "
                          "any time.",
                          MetricType::Gauge},
                         labels, *sum.hangs ? 1.0 : 0.0);
        }
    }
}

void add_memory(Families& families, const std::vector<MemoryPart>& memory) {
    for (const MemoryPart& part : memory) {
        const Labels labels{{"part", part.part}, {"node", node_text(part.node)}};
        families.add({"tributary_memory_bytes",
                      "Memory outside the heap by what it is for and by NUMA node: reserved.",
                      MetricType::Gauge},
                     labels, part.octets);
        if (part.used) {
            families.add({"tributary_memory_used_bytes", "The same: in use; absent: unknown.",
                          MetricType::Gauge},
                         labels, *part.used);
        }
    }
}

void add_figures(Families& families, const Ledger& ledger, const ProbeFigures& figures) {
    for (std::size_t index = 0; index < figures.rings.size(); ++index) {
        const Labels labels = labels_of(ledger.queues.at(index).name);
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
        families.add(metric_of(kSpoolMaxBytes), labels, collector.spool_max_octets);
    }
    for (const InputFigures& input : figures.inputs) {
        add_link(families, input);
    }
    add_helpers(families, figures.helpers);
    add_memory(families, figures.memory);
    for (const HeapUse& use : figures.heap) {
        const Labels labels{{"node", node_text(use.node)}};
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
        add_all(families, kQueueRows, labels_of(queue.name), queue);
    }
    for (const TableLedger& table : ledger.tables) {
        add_all(families, kTableRows, {{"table", table.name}}, table);
    }
    if (ledger.recorder) {
        for (const RecorderQueueLedger& queue : ledger.recorder->queues) {
            add_all(families, kRecorderRows, labels_of(queue.name), queue);
        }
        if (!ledger.recorder->queues.empty()) {
            add_all(families, kDumpRows, {}, ledger.recorder->dumps);
        }
        for (const TriggerLedger& trigger : ledger.recorder->triggers) {
            add_all(families, kTriggerRows, {{"trigger", trigger.name}}, trigger);
        }
    }
    for (const PortLedger& port : ledger.ports) {
        add_all(families, kPortRows, {{"input", port.name}}, port);
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
