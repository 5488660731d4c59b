// SPDX-License-Identifier: Apache-2.0
// The pipeline of one queue, fed from memory: buffers of a receive ring -> full parsing -> flow
// cache -> expiry -> record ring -> IPFIX encoder -> a sink that counts. One thread does it all.
//
//   cache_pipeline                       JSON on standard output
//   cache_pipeline --check               only checks that the records are right
//   cache_pipeline --count PACKETS       one cell, untimed, for callgrind
//                                        (--help: all options)
//
// Each cell of the matrix first brings its cache to the steady state: as many flows as it says,
// and those that new flows have replaced until they are idle. Then rounds of yardstick, source
// alone, and pipeline take turns. Packet time passes at the rate that was measured just before, so
// that expiry and new flows come as often as they would live.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perf/support/in_turn.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/reference_meter.hpp"
#include "perf/support/tell_failure.hpp"
#include "perf/support/this_thread.hpp"
#include "perf/support/yardstick.hpp"
#include "tests/support/allocation_counter.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<double, 2> kNewPerSecond{0, 0.1};
constexpr std::array<std::uint8_t, 2> kIpVersions{4, 6};

struct Settings {
    std::vector<std::uint32_t> flows{128, 16'384, 131'072, 1'000'000, 10'000'000, 20'000'000};
    std::uint64_t packets = 16'000'000;  ///< per round, and at least one per flow
    int rounds = 5;
    bool is_short = false;  ///< IPv4, uniform, uniflow only
    bool check_only = false;
    std::uint64_t count = 0;
    double new_per_second = 0;  ///< with `count`
    double packet_time = 30;    ///< with `count`, in nanoseconds
};

const char* name_of(Spread spread) { return spread == Spread::zipf ? "zipf" : "uniform"; }
const char* name_of(FlowDirection direction) {
    return direction == FlowDirection::biflow ? "biflow" : "uniflow";
}

/// @return  nanoseconds of CPU time per packet
template <class Work>
double time_per_packet(std::uint64_t packets, Work work) {
    const double start = cpu_time_of_this_thread();
    work();
    return (cpu_time_of_this_thread() - start) * 1e9 / static_cast<double>(packets);
}

void receive_only(FlowNic& nic, std::uint64_t packets) {
    for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
        keep(nic.receive());
        nic.release();
    }
}

class Cell {
public:
    Cell(const FlowTraffic& traffic, const Settings& settings, Yardstick& yardstick)
        : traffic_(traffic),
          packets_(std::max<std::uint64_t>(settings.packets, traffic.flows)),
          yardstick_(yardstick),
          source_alone_(traffic),
          resident_before_(resident_bytes()),
          metering_(std::make_unique<Metering>(traffic)) {
        constexpr double kFirstGuess = 30;
        metering_->fill();
        double packet_time = kFirstGuess;
        for (int turn = 0; turn < 2; ++turn) {
            metering_->set_packet_time(packet_time);
            packet_time = time_per_packet(packets_, [this] { metering_->run(packets_); });
        }
        metering_->set_packet_time(packet_time);
        source_alone_.set_packet_time(packet_time);
    }

    void measure(int rounds) {
        const std::uint64_t created = metering_->counters().flows_created.read();
        rounds_.reserve(static_cast<std::size_t>(rounds));
        const std::size_t allocations = test::allocations();
        const std::size_t export_allocations = metering_->export_allocations;
        for (int round = 0; round < rounds; ++round) {
            measure_round();
        }
        export_allocations_ = metering_->export_allocations - export_allocations;
        allocations_ = test::allocations() - allocations - export_allocations_;
        created_ = metering_->counters().flows_created.read() - created;
        const CacheCounters& counters = metering_->counters();
        entries_ = counters.entries.read();
        resident_ = resident_bytes() - resident_before_;
        demand(counters.lost_ring_full.read() == RecordTally{}, "the ring was full");
    }

    [[nodiscard]] Json to_json() const {
        const auto packets = static_cast<double>(packets_) * static_cast<double>(rounds_.size());
        return {{"flows", traffic_.flows},
                {"new_per_second", traffic_.new_per_second},
                {"ip_version", traffic_.ip_version},
                {"spread", name_of(traffic_.spread)},
                {"direction", name_of(traffic_.direction)},
                {"packets", packets_},
                {"mpps", 1e3 / middle(&Round::pipeline)},
                {"ns", middle(&Round::pipeline)},
                {"ns_least", least(&Round::pipeline)},
                {"ns_most", most(&Round::pipeline)},
                {"rewriting_ns", middle(&Round::source)},
                {"export_ns", middle(&Round::exporting)},
                {"total_ns", middle(&Round::total)},
                {"yardstick_mlines", 1e3 / middle(&Round::yardstick)},
                {"ratio", middle(&Round::ratio)},
                {"records_per_packet", static_cast<double>(created_) / packets},
                {"ended", ended_by_reason()},
                {"entries", entries_},
                {"max_flows", metering_->options().max_flows},
                {"resident_bytes", resident_},
                {"bytes_per_flow", static_cast<double>(resident_) / static_cast<double>(entries_)},
                {"allocations", allocations_},
                {"export_allocations", export_allocations_}};
    }

private:
    /// Nanoseconds per packet.
    struct Round {
        double yardstick{};
        double source{};
        double total{};
        double exporting{};
        double pipeline{};  ///< total less source and exporting
        double ratio{};     ///< of the pipeline's packets to the yardstick's lines
    };

    void measure_round() {
        Round round;
        round.yardstick = time_per_packet(packets_, [this] { yardstick_.work(packets_); });
        round.source = time_per_packet(packets_, [this] { receive_only(source_alone_, packets_); });
        const double export_before = metering_->export_side.nanoseconds();
        round.total = time_per_packet(packets_, [this] { metering_->run(packets_); });
        round.exporting =
            (metering_->export_side.nanoseconds() - export_before) / static_cast<double>(packets_);
        round.pipeline = round.total - round.source - round.exporting;
        round.ratio = round.yardstick / round.pipeline;
        rounds_.push_back(round);
    }

    [[nodiscard]] std::vector<double> values(double Round::*what) const {
        std::vector<double> all(rounds_.size());
        std::ranges::transform(rounds_, all.begin(), what);
        return all;
    }
    [[nodiscard]] double middle(double Round::*what) const { return median_of(values(what)); }
    [[nodiscard]] double least(double Round::*what) const { return std::ranges::min(values(what)); }
    [[nodiscard]] double most(double Round::*what) const { return std::ranges::max(values(what)); }

    [[nodiscard]] Json ended_by_reason() const {
        auto json = Json::array();
        for (const Counter& counter : metering_->counters().ended) {
            json.push_back(counter.read());
        }
        return json;
    }

    FlowTraffic traffic_;
    std::uint64_t packets_;
    Yardstick& yardstick_;
    FlowNic source_alone_;
    std::size_t resident_before_;
    std::unique_ptr<Metering> metering_;
    std::vector<Round> rounds_;
    std::uint64_t created_ = 0;
    std::uint64_t entries_ = 0;
    std::size_t resident_ = 0;
    std::size_t allocations_ = 0;  ///< in all rounds, by all but the export side
    std::size_t export_allocations_ = 0;
};

void meter(ReferenceMeter& reference, const Burst& burst) {
    for (const PacketView& packet : burst.packets) {
        PacketFields fields;
        demand(parse_packet(packet, {}, fields) == ParseStatus::ok, "parsing");
        reference.packet(fields, packet.ingress_interface, packet.seen_at);
    }
}

/// The pipeline's records against those of a slow meter that sees the same packets.
void check_records(const FlowTraffic& traffic) {
    constexpr std::uint64_t kPackets = 200'000;
    constexpr double kPacketTime = 500'000;  // 100 s in all: idle and active timeouts happen
    const std::string what = std::to_string(traffic.flows) + " flows, IPv" +
                             std::to_string(traffic.ip_version) + ", " + name_of(traffic.spread) +
                             ", " + name_of(traffic.direction);
    Metering metering(traffic);
    ReferenceMeter reference(metering.options());
    const RecordLayout layout = RecordLayout::of({}, traffic.direction);
    metering.export_side.on_record = [&reference, &layout](const FlowRecordCore& record) {
        reference.expect(record, layout);
    };
    FlowNic nic(traffic);
    const auto both = [&](std::uint64_t packets) {
        metering.run(packets);
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            meter(reference, nic.receive());
        }
    };
    metering.begin_fill();
    nic.fill(kIdleTimeout);
    while (!nic.filled()) {
        both(kBurstPackets);
    }
    metering.set_packet_time(kPacketTime);
    nic.set_packet_time(kPacketTime);
    both(kPackets);
    metering.finish();
    reference.finish(metering.now());
    reference.check(what);
    demand(metering.export_side.records() == metering.counters().flows_created.read(), what);
    demand(metering.counters().ended[5].read() == 0, what + ": flows were evicted");
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
            return cell.ip_version != 4 || cell.spread != Spread::uniform ||
                   cell.direction != FlowDirection::uniflow;
        });
    }
    return cells;
}

void check_all() {
    constexpr std::array<std::uint32_t, 2> kFlows{128, 5000};
    for (const std::uint32_t flows : kFlows) {
        std::ranges::for_each(cells_of(flows, false), check_records);
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
            std::cerr << json.back().dump() << "\n";  // so that it can be watched
        }
    }
    std::cout << json.dump(2) << "\n";
}

/// One cell for a program that counts instructions.
void run_counted(const Settings& settings, bool source_only) {
    const FlowTraffic traffic{.flows = settings.flows.front(),
                              .new_per_second = settings.new_per_second};
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
    app.add_flag("--short", settings.is_short, "IPv4, uniform traffic, uniflows only");
    app.add_option("--flows", settings.flows, "numbers of flows");
    app.add_option("--packets", settings.packets, "per round, and at least one per flow");
    app.add_option("--rounds", settings.rounds, "of which the median is taken");
    app.add_option("--count", settings.count, "work on so many packets, untimed");
    app.add_option("--new", settings.new_per_second, "with --count: new flows per second, a share");
    app.add_option("--packet-time", settings.packet_time, "with --count: nanoseconds per packet");
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
    return tributary::perf::tell_failure([=] { return tributary::perf::run(argc, argv); });
}
