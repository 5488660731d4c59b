// SPDX-License-Identifier: Apache-2.0
// The pipeline of one queue, fed from memory: buffers of a receive ring -> full parsing -> flow
// cache -> expiry -> record ring -> IPFIX encoder -> a sink that counts. One thread does it all.
//
//   cache_pipeline                       JSON on standard output
//   cache_pipeline --check               only checks that the records are right
//   cache_pipeline --count PACKETS       one cell, untimed, for callgrind
//                                        (--help: all options)
//
// Each cell of the matrix first brings its cache to the steady state: its number of flows, and the
// replaced ones that are not yet idle. Then rounds of yardstick, source alone, and pipeline take
// turns. PipelineBench describes how packet time passes.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perf/support/in_turn.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/pipeline_bench.hpp"
#include "perf/support/record_check.hpp"
#include "perf/support/report_failure.hpp"
#include "perf/support/yardstick.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<double, 2> kNewPerSecond{0, 0.1};
constexpr std::array<std::uint8_t, 2> kIpVersions{4, 6};

struct Settings {
    std::vector<std::uint32_t> flows{128, 16'384, 131'072, 1'000'000, 10'000'000, 20'000'000};
    std::uint64_t packets = 16'000'000;  ///< per round, and at least one per flow
    int rounds = 5;
    bool is_short = false;  ///< IPv4, uniform
    bool check_only = false;
    std::uint64_t count = 0;
    double new_per_second = 0;  ///< with `count`
    bool biflow = false;        ///< with `count`
    double packet_time = 30;    ///< with `count`, in nanoseconds
};

const char* name_of(Spread spread) { return spread == Spread::zipf ? "zipf" : "uniform"; }
const char* name_of(FlowDirection direction) {
    return direction == FlowDirection::biflow ? "biflow" : "uniflow";
}

class Cell {
public:
    Cell(const FlowTraffic& traffic, const Settings& settings, Yardstick& yardstick)
        : traffic_(traffic),
          yardstick_(yardstick),
          bench_(traffic, std::max<std::uint64_t>(settings.packets, traffic.flows)) {}

    void measure(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            const std::uint64_t packets = bench_.packets();
            lines_.push_back(time_per_packet(packets, [&] { yardstick_.work(packets); }));
            bench_.measure_round();
        }
        entries_ = bench_.metering().counters().entries.read();
    }

    [[nodiscard]] Json to_json() const {
        const auto resident = bench_.resident();
        return {{"flows", traffic_.flows},
                {"new_per_second", traffic_.new_per_second},
                {"ip_version", traffic_.ip_version},
                {"spread", name_of(traffic_.spread)},
                {"direction", name_of(traffic_.direction)},
                {"packets", bench_.packets()},
                {"mpps", 1e3 / bench_.middle(&Round::pipeline)},
                {"ns", bench_.middle(&Round::pipeline)},
                {"ns_least", bench_.least(&Round::pipeline)},
                {"ns_most", bench_.most(&Round::pipeline)},
                {"rewriting_ns", bench_.middle(&Round::source)},
                {"export_ns", bench_.middle(&Round::exporting)},
                {"total_ns", bench_.middle(&Round::total)},
                {"yardstick_mlines", 1e3 / median_of(lines_)},
                {"ratio", ratio()},
                {"records_per_packet", bench_.records_per_packet()},
                {"ended", ended_by_reason()},
                {"entries", entries_},
                {"max_flows", bench_.metering().options().max_flows},
                {"resident_bytes", resident},
                {"bytes_per_flow", static_cast<double>(resident) / static_cast<double>(entries_)},
                {"allocations", bench_.allocations()},
                {"export_allocations", bench_.export_allocations()}};
    }

private:
    using Round = PipelineBench::Round;

    /// The pipeline's packets to the yardstick's lines.
    [[nodiscard]] double ratio() const {
        std::vector<double> ratios = lines_;
        const std::vector<double> pipeline = bench_.values(&Round::pipeline);
        std::ranges::transform(ratios, pipeline, ratios.begin(), std::divides<>());
        return median_of(ratios);
    }
    [[nodiscard]] Json ended_by_reason() const {
        auto json = Json::array();
        for (const Counter& counter : bench_.metering().counters().ended) {
            json.push_back(counter.read());
        }
        return json;
    }

    FlowTraffic traffic_;
    Yardstick& yardstick_;
    PipelineBench bench_;
    std::vector<double> lines_;  ///< of the yardstick: nanoseconds per line, by round
    std::uint64_t entries_ = 0;
};

void check_cell(const FlowTraffic& traffic) {
    constexpr double kPacketTime = 500'000;  // 100 s in all: idle and active timeouts happen
    const std::string what = std::to_string(traffic.flows) + " flows, IPv" +
                             std::to_string(traffic.ip_version) + ", " + name_of(traffic.spread) +
                             ", " + name_of(traffic.direction);
    Metering metering(traffic);
    check_records(metering, traffic, kPacketTime, what);
}

/// The matrix's cells of one number of flows.
std::vector<FlowTraffic> cells_of(std::uint32_t flows, bool is_short) {
    std::vector<FlowTraffic> cells;
    constexpr unsigned kCells = 16;  // four choices of two, a bit each
    for (unsigned cell = 0; cell < kCells; ++cell) {
        cells.push_back(
            {.flows = flows,
             .new_per_second = kNewPerSecond[cell & 1U],
             .ip_version = kIpVersions[cell >> 2U & 1U],
             .spread = (cell & 2U) != 0 ? Spread::zipf : Spread::uniform,
             .direction = (cell & 8U) != 0 ? FlowDirection::biflow : FlowDirection::uniflow});
    }
    if (is_short) {
        std::erase_if(cells, [](const FlowTraffic& cell) {
            return cell.ip_version != 4 || cell.spread != Spread::uniform;
        });
    }
    return cells;
}

void check_all() {
    constexpr std::array<std::uint32_t, 2> kFlows{128, 5000};
    for (const std::uint32_t flows : kFlows) {
        std::ranges::for_each(cells_of(flows, false), check_cell);
    }
    Yardstick(1000).check();
}

void measure_all(const Settings& settings) {
    auto json = Json::array();
    for (const std::uint32_t flows : settings.flows) {
        Yardstick yardstick(flows);
        for (const FlowTraffic& traffic : cells_of(flows, settings.is_short)) {
            Cell cell(traffic, settings, yardstick);
            cell.measure(settings.rounds);
            json.push_back(cell.to_json());
            std::cerr << json.back().dump() << "\n";  // to follow the progress
        }
    }
    std::cout << json.dump(2) << "\n";
}

/// One cell for a program that counts instructions.
void run_counted(const Settings& settings, bool source_only) {
    const FlowTraffic traffic{
        .flows = settings.flows.front(),
        .new_per_second = settings.new_per_second,
        .direction = settings.biflow ? FlowDirection::biflow : FlowDirection::uniflow};
    if (source_only) {
        FlowNic nic(traffic);
        nic.set_packet_time(settings.packet_time);
        receive_only(nic, settings.count);
        return;
    }
    Metering metering(traffic);
    metering.fill();
    metering.set_packet_time(settings.packet_time);
    metering.run(settings.count);
}

int run(int argc, char** argv) {
    Settings settings;
    bool source_only = false;
    CLI::App app("The pipeline of one queue, fed from memory");
    app.add_flag("--check", settings.check_only, "only check that the records are right");
    app.add_flag("--short", settings.is_short, "IPv4, uniform traffic");
    app.add_option("--flows", settings.flows, "numbers of flows");
    app.add_option("--packets", settings.packets, "per round, and at least one per flow");
    app.add_option("--rounds", settings.rounds, "of which the median is taken");
    app.add_option("--count", settings.count, "work on so many packets, untimed");
    app.add_option("--new", settings.new_per_second, "with --count: new flows per second, a share");
    app.add_option("--packet-time", settings.packet_time, "with --count: nanoseconds per packet");
    app.add_flag("--biflow", settings.biflow, "with --count: biflows in place of uniflows");
    app.add_flag("--source", source_only, "with --count: the source alone");
    CLI11_PARSE(app, argc, argv);
    if (settings.count > 0) {
        run_counted(settings, source_only);
        return EXIT_SUCCESS;
    }
    check_all();
    if (!settings.check_only) {
        measure_all(settings);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
