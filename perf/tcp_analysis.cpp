// SPDX-License-Identifier: Apache-2.0
// The cost of the analysis of TCP: the pipeline of cache_pipeline with TCP segments, with
// continuous sequence numbers in a flow, without the analysis, with it, and with faulty segments.
//
//   tcp_analysis                       JSON on standard output
//   tcp_analysis --check               only checks the records and their counts of segments
//                                      (--help: all options)
//
// All kinds of one number of flows exist at once, and their rounds take turns. The faults of the
// source are compared with the records, also in the timed rounds.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perf/support/in_turn.hpp"
#include "perf/support/kinds_run.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/pipeline_bench.hpp"
#include "perf/support/record_check.hpp"
#include "perf/support/report_failure.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;
using Round = PipelineBench::Round;

struct Kind {
    const char* name;
    bool is_analysed;
    SegmentFaults faults;
    bool all_judged = true;  ///< the cache has room to analyse all faults
};

constexpr std::array<double, 2> kNewPerSecond{0, 0.1};  ///< in the checks

/// The cache has room to analyse a tenth of the flows with faults; with faults in all flows it is
/// soon exceeded.
constexpr std::array kKinds{
    Kind{"plain pipeline", false, {}}, Kind{"analysis, undisturbed", true, {}},
    Kind{"analysis, 2 % wrong, in a tenth of the flows", true, {0.01, 0.005, 0.005, 10}},
    Kind{"analysis, 2 % wrong, in all flows", true, {0.01, 0.005, 0.005, 1}, false}};

/// The sums of the records' counts of segments.
struct RecordedSegments {
    RecordTally tally;
    std::uint64_t segments{};
    std::uint64_t data_segments{};
    std::uint64_t retransmissions{};
    std::uint64_t retransmitted_octets{};
    std::uint64_t duplicates{};
    std::uint64_t out_of_order{};
    std::uint64_t zero_windows{};

    void add(const FlowRecordCore& record, const RecordLayout& layout) {
        tally += record.tally();
        if (layout.at<TcpAnalysisGroup>() == 0) {
            return;
        }
        TcpAnalysisGroup group;
        std::memcpy(&group,
                    reinterpret_cast<const std::byte*>(&record) + layout.at<TcpAnalysisGroup>(),
                    sizeof group);
        segments += group.segments;
        data_segments += group.data_segments;
        retransmissions += group.retransmissions;
        retransmitted_octets += group.retransmitted_octets;
        duplicates += group.duplicates;
        out_of_order += group.out_of_order;
        zero_windows += group.zero_windows;
    }
    /// Adds each record; this outlives the listener.
    [[nodiscard]] Metering::Listener listener() {
        return [this](const FlowRecordCore& record, const RecordLayout& layout) {
            add(record, layout);
        };
    }
    [[nodiscard]] std::uint64_t wrong() const noexcept {
        return retransmissions + duplicates + out_of_order;
    }
};

/// If not all was judged: each faulty segment is counted by its fault, or as not judged. One out of
/// order counts up to twice as not judged, because the hole before it was not judged either.
void check_bounds(const RecordedSegments& recorded, const SentSegments& sent,
                  std::uint64_t unjudged, const std::string& what) {
    const std::uint64_t wrong = sent.retransmissions + sent.duplicates + sent.out_of_order;
    demand(recorded.retransmissions <= sent.retransmissions, what + ": retransmissions");
    demand(recorded.duplicates <= sent.duplicates, what + ": duplicates");
    demand(recorded.out_of_order <= sent.out_of_order, what + ": out of order");
    demand(recorded.wrong() + unjudged >= wrong, what + ": too little was recorded");
}

/// @param metering  after finish()
void check_recorded(const Metering& metering, const Kind& kind, const RecordedSegments& recorded,
                    const std::string& what) {
    const SentSegments sent = metering.sent();
    const CacheCounters& counters = metering.counters();
    demand(counters.lost_ring_full.read() == RecordTally{}, what + ": the ring was full");
    demand(metering.packets == sent.segments, what + ": packets that were sent");
    demand(counters.packets.read() == sent.segments, what + ": metered packets");
    demand(recorded.tally.packets == sent.segments, what + ": packets in records");
    if (!kind.is_analysed) {
        return;
    }
    demand(counters.tcp_segments_unread.read() == 0, what + ": a segment was not read");
    demand(recorded.segments == sent.segments, what + ": segments");
    demand(recorded.zero_windows == 0, what + ": a window that is not zero");
    demand(recorded.retransmitted_octets == recorded.retransmissions * TcpSender::kPayloadBytes,
           what + ": retransmitted octets");
    const std::uint64_t unjudged = counters.tcp_segments_unjudged.read();
    if (!kind.all_judged) {
        check_bounds(recorded, sent, unjudged, what);
        return;
    }
    demand(recorded.data_segments == sent.segments, what + ": segments with data");
    demand(recorded.retransmissions == sent.retransmissions, what + ": retransmissions");
    demand(recorded.duplicates == sent.duplicates, what + ": duplicates");
    demand(recorded.out_of_order == sent.out_of_order, what + ": out of order");
    demand(unjudged == 0, what + ": a segment was not judged");
}

void check_kind(const Kind& kind, const FlowTraffic& traffic, double packet_time) {
    const std::string what = std::to_string(traffic.flows) + " flows, " +
                             std::to_string(traffic.new_per_second) + " new/s, " + kind.name;
    Metering metering(traffic, kind.is_analysed);
    RecordedSegments recorded;
    metering.listen(recorded.listener());
    check_records(metering, traffic, packet_time, what);
    check_recorded(metering, kind, recorded, what);
    const bool has_faults = kind.faults.retransmitted > 0;
    const SentSegments sent = metering.sent();
    demand(!has_faults || std::min({sent.retransmissions, sent.duplicates, sent.out_of_order}) > 0,
           what + ": no faults");
}

void check_all() {
    constexpr double kSlow = 500'000;  // 128 flows: 100 s in all, which the active timeout cuts
    constexpr double kFast = 10'000;   // 5000 flows: each sends every 50 ms
    for (const Kind& kind : kKinds) {
        for (const double new_per_second : kNewPerSecond) {
            FlowTraffic traffic{.flows = 128, .new_per_second = new_per_second, .tcp = kind.faults};
            check_kind(kind, traffic, kSlow);
            traffic.flows = 5000;
            check_kind(kind, traffic, kFast);
        }
    }
}

/// A measured kind.
class Subject {
public:
    Subject(const Kind& kind, const FlowTraffic& traffic, std::uint64_t packets)
        : kind_(kind), bench_(traffic, packets, kind.is_analysed, recorded_.listener()) {}
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    ~Subject() = default;

    void measure_round() { bench_.measure_round(); }

    /// Ends all flows, and throws unless their records agree with the sent segments.
    void finish() {
        Metering& metering = bench_.metering();
        entries_ = metering.counters().entries.read();
        records_per_packet_ = bench_.records_per_packet();
        metering.finish();
        check_recorded(metering, kind_, recorded_, kind_.name);
    }

    /// After finish(). @param plain  of the same rounds; may be this
    [[nodiscard]] Json to_json(const Subject& plain) const {
        const double resident =
            static_cast<double>(bench_.resident()) - static_cast<double>(bench_.source_resident());
        const std::vector<double> ratios = ratios_to(plain.bench_);
        return {{"name", kind_.name},
                {"packets", bench_.packets()},
                {"mpps", 1e3 / bench_.middle(&Round::pipeline)},
                {"ns", bench_.middle(&Round::pipeline)},
                {"ns_least", bench_.least(&Round::pipeline)},
                {"ns_most", bench_.most(&Round::pipeline)},
                {"ratio", median_of(ratios)},
                {"ratio_least", std::ranges::min(ratios)},
                {"ratio_most", std::ranges::max(ratios)},
                {"rewriting_ns", bench_.middle(&Round::source)},
                {"export_ns", bench_.middle(&Round::exporting)},
                {"records_per_packet", records_per_packet_},
                {"entries", entries_},
                {"bytes_per_flow", resident / static_cast<double>(entries_)},
                {"allocations", bench_.allocations()},
                {"export_allocations", bench_.export_allocations()},
                {"sent", sent()},
                {"told", recorded()}};
    }

private:
    [[nodiscard]] std::vector<double> ratios_to(const PipelineBench& plain) const {
        std::vector<double> ratios = bench_.values(&Round::pipeline);
        const std::vector<double> of_plain = plain.values(&Round::pipeline);
        std::ranges::transform(ratios, of_plain, ratios.begin(), std::divides<>());
        return ratios;
    }
    [[nodiscard]] Json sent() const {
        const SentSegments sent = bench_.metering().sent();
        return {{"segments", sent.segments},
                {"retransmissions", sent.retransmissions},
                {"duplicates", sent.duplicates},
                {"out_of_order", sent.out_of_order}};
    }
    [[nodiscard]] Json recorded() const {
        return {{"segments", recorded_.segments},
                {"retransmissions", recorded_.retransmissions},
                {"duplicates", recorded_.duplicates},
                {"out_of_order", recorded_.out_of_order},
                {"unjudged", bench_.metering().counters().tcp_segments_unjudged.read()}};
    }

    Kind kind_;
    RecordedSegments recorded_;
    PipelineBench bench_;
    std::uint64_t entries_ = 0;  ///< this and the rest: before the end of all flows
    double records_per_packet_ = 0;
};

/// All kinds with so many flows, in turn.
Json measure(std::uint32_t flows, const KindsSettings& settings) {
    const std::uint64_t packets = std::max<std::uint64_t>(settings.packets, flows);
    std::vector<std::unique_ptr<Subject>> subjects;
    for (const Kind& kind : kKinds) {
        const FlowTraffic traffic{
            .flows = flows, .new_per_second = settings.new_per_second, .tcp = kind.faults};
        subjects.push_back(std::make_unique<Subject>(kind, traffic, packets));
    }
    for (int round = 0; round < settings.rounds; ++round) {
        std::ranges::for_each(subjects, &Subject::measure_round,
                              [](const auto& subject) -> Subject& { return *subject; });
    }
    auto kinds = Json::array();
    for (const auto& subject : subjects) {
        subject->finish();
        kinds.push_back(subject->to_json(*subjects.front()));
    }
    return {{"flows", flows}, {"new_per_second", settings.new_per_second}, {"kinds", kinds}};
}

int run(int argc, char** argv) {
    return run_kinds(argc, argv, {.flows = {128, 16'384, 1'000'000}},
                     "What the analysis of TCP costs", "only check what the records tell",
                     check_all, measure);
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
