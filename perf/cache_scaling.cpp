// SPDX-License-Identifier: Apache-2.0
// The pipeline of cache_pipeline with 1 to N queues, each on a CPU of its own with its own flows:
// whether queues slow each other down.
//
//   cache_scaling                        JSON on standard output
//   cache_scaling --check                only checks that no queue loses anything
//                                        (--help: all options)
//
// All queues start together; the rate is that of all packets until the last queue has finished.
// Source and export side are part of it, because each queue's thread does both.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <barrier>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/machine/pinned_thread.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/report_failure.hpp"
#include "perf/support/this_thread.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;

struct Settings {
    std::vector<std::uint32_t> flows{16'384, 1'000'000};  ///< of each queue
    std::size_t queues = 0;                               ///< most; 0: one per CPU
    std::uint64_t packets = 16'000'000;                   ///< per queue and round
    int rounds = 5;
    bool check_only = false;
};

class Queues {
public:
    /// @param cpus  one for each queue
    Queues(std::vector<std::uint32_t> cpus, const FlowTraffic& traffic) : cpus_(std::move(cpus)) {
        constexpr double kPacketTime = 30;
        for (std::size_t i = 0; i < cpus_.size(); ++i) {
            queues_.push_back(std::make_unique<Metering>(traffic));
        }
        on_each(cpus_.size(), [](Metering& queue) {
            queue.fill();
            queue.set_packet_time(kPacketTime);
        });
    }

    /// @return  packets per second of the first `count` queues together
    double rate(std::size_t count, std::uint64_t packets) {
        const double seconds = on_each(count, [packets](Metering& queue) { queue.run(packets); });
        return static_cast<double>(count) * static_cast<double>(packets) / seconds;
    }
    /// Ends all flows and throws unless every packet and every flow is in a record.
    void finish() {
        on_each(cpus_.size(), [](Metering& queue) { queue.finish(); });
        for (const auto& queue : queues_) {
            const CacheCounters& counters = queue->counters();
            demand(queue->export_side.records() == counters.flows_created.read(), "records");
            demand(queue->packets == counters.packets.read(), "packets in records");
            demand(counters.lost_ring_full.read() == RecordTally{}, "the ring was full");
        }
    }

private:
    /// Runs the first `count` queues at the same time, each in its own thread.
    ///
    /// @return  seconds from their common start to the last one's end
    template <class Work>
    double on_each(std::size_t count, Work work) {
        using Clock = std::chrono::steady_clock;
        // The last thread to arrive reads the clock before it releases the others. This thread does
        // neither: it shares a CPU with a queue, and may be late.
        Clock::time_point start;
        std::barrier together(static_cast<std::ptrdiff_t>(count),
                              [&start]() noexcept { start = Clock::now(); });
        std::vector<Clock::time_point> ends(count);
        std::vector<std::unique_ptr<PinnedThread>> threads;
        for (std::size_t i = 0; i < count; ++i) {
            const ThreadPlace place{.name = "queue-" + std::to_string(i), .cpu = cpus_[i]};
            threads.push_back(std::make_unique<PinnedThread>(place, [&, i] {
                together.arrive_and_wait();
                work(*queues_[i]);
                ends[i] = Clock::now();
            }));
        }
        threads.clear();
        return std::chrono::duration<double>(std::ranges::max(ends) - start).count();
    }

    std::vector<std::uint32_t> cpus_;
    std::vector<std::unique_ptr<Metering>> queues_;
};

/// A usable CPU for each queue; with fewer CPUs, queues share them.
std::vector<std::uint32_t> cpus_for(std::size_t queues) {
    const std::vector<std::uint32_t> usable = usable_cpus();
    std::vector<std::uint32_t> cpus(queues);
    for (std::size_t i = 0; i < queues; ++i) {
        cpus[i] = usable[i % usable.size()];
    }
    return cpus;
}

void check() {
    constexpr std::uint64_t kPackets = 100'000;
    Queues queues(cpus_for(2), {.flows = 1000, .new_per_second = 0.1});
    for (std::size_t count = 1; count <= 2; ++count) {
        demand(queues.rate(count, kPackets) > 0, "rate");
    }
    queues.finish();
}

/// Millions of packets per second of 1 to `most` queues, one after the other in each round.
std::vector<std::vector<double>> measure_rates(Queues& queues, std::size_t most,
                                               const Settings& settings) {
    std::vector<std::vector<double>> rates(most);
    for (int round = 0; round < settings.rounds; ++round) {
        for (std::size_t count = 1; count <= most; ++count) {
            rates[count - 1].push_back(queues.rate(count, settings.packets) / 1e6);
        }
    }
    return rates;
}

void measure(const Settings& settings) {
    auto json = Json::array();
    const std::size_t most = settings.queues != 0 ? settings.queues : usable_cpus().size();
    for (const std::uint32_t flows : settings.flows) {
        Queues queues(cpus_for(most), {.flows = flows});
        std::size_t count = 0;
        for (const std::vector<double>& rates : measure_rates(queues, most, settings)) {
            json.push_back({{"flows_per_queue", flows},
                            {"queues", ++count},
                            {"mpps", median_of(rates)},
                            {"mpps_least", std::ranges::min(rates)},
                            {"mpps_most", std::ranges::max(rates)}});
        }
        queues.finish();
    }
    std::cout << json.dump(2) << "\n";
}

int run(int argc, char** argv) {
    Settings settings;
    CLI::App app("The pipeline with 1 to N queues");
    app.add_flag("--check", settings.check_only, "only check that no queue loses anything");
    app.add_option("--flows", settings.flows, "of each queue");
    app.add_option("--queues", settings.queues, "at the most; 0: one per CPU");
    app.add_option("--packets", settings.packets, "per queue and round");
    app.add_option("--rounds", settings.rounds, "of which the median is taken");
    CLI11_PARSE(app, argc, argv);
    check();
    if (!settings.check_only) {
        measure(settings);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
