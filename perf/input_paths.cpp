// SPDX-License-Identifier: Apache-2.0
// The whole pipeline, fed from memory by each of the three input paths: packet lengths by numbers
// of flows, as in figures 3 to 6 of Velan and Puš, "High-Density Network Flow Monitoring" (2015).
//
//   input_paths [--check | --rounds N]     JSON on standard output
//
// One queue: its input thread on the first CPU of the process, the export thread on the second.
// Packets come as fast as they are taken, with the times of 10 Gbit/s; flows end after one second
// of that time. The source's own cost is measured apart, in the same rounds.

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/base/options.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/unified_header_reader.hpp"
#include "parsers/parse_packet.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/memory_nic.hpp"
#include "perf/support/report_failure.hpp"
#include "perf/support/this_thread.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::nanoseconds;

constexpr std::uint16_t kTrimLength = 128;
constexpr std::array<std::uint16_t, 4> kPacketBytes{64, 128, 256, 512};
constexpr std::array<std::uint32_t, 3> kFlows{128, 16'384, 131'072};
constexpr std::array kModes{ParseMode::full, ParseMode::trimmed, ParseMode::unified_header};

const char* name_of(ParseMode mode) {
    switch (mode) {
        case ParseMode::full:
            return "full";
        case ParseMode::trimmed:
            return "trimmed";
        case ParseMode::unified_header:
            break;
    }
    return "unified header";
}

/// Seconds of one run.
struct RunTimes {
    double wall{};
    double input_cpu{};
    double export_cpu{};
};

/// One queue's pipeline from its start to the end of its source.
class Run {
public:
    Run(const Traffic& traffic, PacketReader& path) : traffic_(traffic) {
        FlowCacheOptions flows;
        flows.max_flows = 262'144;
        flows.active_timeout = std::chrono::seconds{1};
        std::vector<std::unique_ptr<QueueWorker>> queues;
        queues.push_back(make_queue_worker(
            path, {.flows = flows, .layout = {}, .numa_node = {}, .pages = PageUse::live},
            FlowHasher(1)));
        ExportOptions options;
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = "/dev/null";
        pipeline_ = std::make_unique<Pipeline>(
            Pipeline::Parts{.queues = std::move(queues),
                            .export_options = std::move(options),
                            .metering = {},
                            .wall_clock = [this] { return export_clock(); },
                            .on_collector_event = [](const CollectorEvent&) {}});
    }

    RunTimes times() {
        const std::vector<std::uint32_t> cpus = usable_cpus();
        const auto start = std::chrono::steady_clock::now();
        pipeline_->start({.inputs = {{.name = "input", .cpu = cpus.front()}},
                          .export_thread = {.name = "export", .cpu = cpus.back()}},
                         [this] { input_ended(); });
        while (!ended_.load(std::memory_order_acquire)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        pipeline_->stop();
        check();
        return {.wall = std::chrono::duration<double>(end_ - start).count(),
                .input_cpu = input_cpu_,
                .export_cpu = export_cpu_};
    }

private:
    /// Called by the input thread, when its last record is in the ring.
    void input_ended() {
        end_ = std::chrono::steady_clock::now();
        input_cpu_ = cpu_time_of_this_thread();
        ended_.store(true, std::memory_order_release);
    }

    /// Called by the export thread, continually.
    Timestamp export_clock() {
        export_cpu_ = cpu_time_of_this_thread();
        return Timestamp{std::chrono::seconds{1'700'000'000}};
    }

    void check() const {
        Ledger ledger;
        ledger.queues.resize(1);
        pipeline_->read(ledger);
        const QueueLedger& queue = ledger.queues.front();
        demand(imbalance(ledger).empty(), imbalance(ledger));
        demand(queue.metered.packets == traffic_.packets, "not every packet was metered");
        demand(queue.metered.octets == traffic_.packets * traffic_.ip_bytes(), "octets");
        demand(queue.metered.records >= traffic_.flows - traffic_.flows / 1024, "too few records");
        demand(queue.exported == queue.metered, "records were lost");
    }

    Traffic traffic_;
    std::unique_ptr<Pipeline> pipeline_;
    std::chrono::steady_clock::time_point end_;
    double input_cpu_ = 0;
    double export_cpu_ = 0;
    std::atomic<bool> ended_{false};
};

/// The source alone, in this thread. @return seconds
template <class Source>
double time_source(Source source) {
    const double start = cpu_time_of_this_thread();
    while (!source.exhausted()) {
        const FrameBurst burst = source.receive();
        keep(burst);
        source.release(burst);
    }
    return cpu_time_of_this_thread() - start;
}

struct Measured {
    RunTimes run;
    double source{};
};

Measured run_once(const Traffic& traffic, ParseMode mode) {
    if (mode == ParseMode::unified_header) {
        UnifiedHeaderNic source(traffic);
        UnifiedHeaderReader<UnifiedHeaderNic, PacketTimes> path(source, WorkerShare{});
        return {.run = Run(traffic, path).times(),
                .source = time_source(UnifiedHeaderNic(traffic))};
    }
    const std::size_t most_bytes = mode == ParseMode::trimmed ? kTrimLength : kBufferBytes;
    MemoryNic source(traffic, most_bytes);
    FrameReader<MemoryNic> path(source, {.parse = parse_options({}, mode, kTrimLength)});
    return {.run = Run(traffic, path).times(),
            .source = time_source(MemoryNic(traffic, most_bytes))};
}

/// A cell of the matrix, with the results of its rounds.
struct Cell {
    Traffic traffic;
    ParseMode mode{};
    std::vector<double> packets_per_second{};
    std::vector<double> input_ns{};   ///< of CPU time per packet, the source's share included
    std::vector<double> source_ns{};  ///< the source's share of it
    std::vector<double> export_ns{};

    void add(const Measured& measured) {
        const auto packets = static_cast<double>(traffic.packets);
        packets_per_second.push_back(packets / measured.run.wall);
        input_ns.push_back(measured.run.input_cpu * 1e9 / packets);
        source_ns.push_back(measured.source * 1e9 / packets);
        export_ns.push_back(measured.run.export_cpu * 1e9 / packets);
    }
    [[nodiscard]] Json to_json() const {
        return {{"packet_bytes", traffic.packet_bytes},
                {"flows", traffic.flows},
                {"path", name_of(mode)},
                {"packets", traffic.packets},
                {"packets_per_second", median_of(packets_per_second)},
                {"least", *std::ranges::min_element(packets_per_second)},
                {"most", *std::ranges::max_element(packets_per_second)},
                {"input_ns", median_of(input_ns)},
                {"source_ns", median_of(source_ns)},
                {"export_ns", median_of(export_ns)},
                {"line_rate_10g", 1e9 / static_cast<double>(traffic.interval().count())}};
    }
};

void add_modes(std::vector<Cell>& cells, const Traffic& traffic) {
    for (const ParseMode mode : kModes) {
        cells.push_back({.traffic = traffic, .mode = mode});
    }
}

/// @param packet_time  of a run's packets; longer if that is needed to reach every flow
std::vector<Cell> all_cells(nanoseconds packet_time) {
    constexpr std::uint64_t kPacketsPerFlow = 16;
    std::vector<Cell> cells;
    for (const std::uint16_t packet_bytes : kPacketBytes) {
        for (const std::uint32_t flows : kFlows) {
            Traffic traffic{.packet_bytes = packet_bytes, .flows = flows, .packets = 0};
            traffic.packets = std::max<std::uint64_t>(
                static_cast<std::uint64_t>(packet_time / traffic.interval()),
                kPacketsPerFlow * flows);
            add_modes(cells, traffic);
        }
    }
    return cells;
}

int run(std::span<char*> arguments) {
    const bool check_only = arguments.size() == 2 && std::string_view(arguments[1]) == "--check";
    const bool has_rounds = arguments.size() == 3 && std::string_view(arguments[1]) == "--rounds";
    if (arguments.size() != 1 && !check_only && !has_rounds) {
        std::cerr << "usage: input_paths [--check | --rounds N]\n";
        return EXIT_FAILURE;
    }
    // Checked with little traffic, measured with two and a half seconds of it.
    std::vector<Cell> cells = all_cells(std::chrono::milliseconds(check_only ? 1 : 2500));
    const int rounds = check_only ? 1 : has_rounds ? std::stoi(arguments[2]) : 5;
    for (int round = 0; round < rounds; ++round) {
        for (Cell& cell : cells) {
            cell.add(run_once(cell.traffic, cell.mode));
        }
    }
    auto json = Json::array();
    for (const Cell& cell : cells) {
        json.push_back(cell.to_json());
    }
    if (!check_only) {
        std::cout << json.dump(2) << "\n";
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([argc, argv] {
        return tributary::perf::run({argv, static_cast<std::size_t>(argc)});
    });
}
