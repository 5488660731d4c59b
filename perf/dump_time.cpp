// SPDX-License-Identifier: Apache-2.0
// How long a dump of one flow takes out of full rings, while two threads go on writing into them.
//
//   dump_time [--gibibytes N]      JSON on standard output
//   dump_time --check              small rings; only checks what is dumped
//
// Two rings have a share of a million flows each, with frames of 60 octets. Their threads write
// packets at a steady rate, as many as come; a packet that would wait longer than a NIC's 4096
// descriptors hold at that rate counts as missed. After each dump, packets are counted for as long
// again without one: no dump causes what is missed then.

#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/capture/capture_reader.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/machine/thread_priority.hpp"
#include "daemon/recorder/asked_flow.hpp"
#include "daemon/recorder/packet_dump.hpp"
#include "daemon/recorder/packet_hashes.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/report_failure.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFlows = 1'000'000;
constexpr Timestamp kStart{std::chrono::seconds(1'700'000'000)};
constexpr std::uint64_t kDescriptors = 4096;

/// Address of a flow's source, 10.0.0.0/8.
std::uint32_t address_of(std::uint64_t flow) {
    return __builtin_bswap32(0x0A00'0000U + static_cast<std::uint32_t>(flow));
}

/// One queue: a ring, and packets of its flows in an order that looks random.
class Queue {
public:
    Queue(std::size_t octets, std::uint64_t first_flow, FlowHasher hasher)
        : ring_(PacketRing::rounded(octets), std::nullopt, PageUse::offline),
          first_flow_(first_flow),
          hasher_(hasher),
          frame_(test::ethernet().ipv4().udp(5000, 6000).payload(18).build().captured) {
        fields_.ip_version = 4;
        fields_.protocol = ip_protocol::kUdp;
        fields_.source_port = L4Port{5000};
        fields_.destination_port = L4Port{6000};
        std::memcpy(fields_.destination.data(), frame_.data() + 30, 4);
    }
    /// @param packets  a multiple of a burst
    void write(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; ++done) {
            const std::uint32_t address = address_of(flow_of(number_++));
            std::memcpy(frame_.data() + 26, &address, sizeof address);
            std::memcpy(fields_.source.data(), &address, sizeof address);
            ring_.append({.seen_at = now_,
                          .wire_bytes = static_cast<std::uint32_t>(frame_.size()),
                          .flow_hash = symmetric_hash(hasher_, fields_),
                          .rss_hash = symmetric_rss_hash(fields_),
                          .link_type = LinkType::ethernet},
                         frame_);
        }
        now_ += std::chrono::nanoseconds(100 * packets);
        ring_.publish(now_);
    }
    void fill() {
        while (ring_.oldest_block() < 2) {
            write(kBurstPackets);
        }
    }
    [[nodiscard]] const PacketRing& ring() const noexcept { return ring_; }
    [[nodiscard]] std::uint64_t flow_of(std::uint64_t number) const noexcept {
        constexpr std::uint64_t kOdd = 2'654'435'761U;
        return first_flow_ + number * kOdd % (kFlows / 2);
    }
    /// Packets of a flow among those from `first` on, before `end`.
    [[nodiscard]] std::uint64_t count(std::uint64_t flow, std::uint64_t first,
                                      std::uint64_t end) const noexcept {
        std::uint64_t count = 0;
        for (std::uint64_t number = first; number < end; ++number) {
            count += flow_of(number) == flow ? 1 : 0;
        }
        return count;
    }

private:
    PacketRing ring_;
    std::uint64_t first_flow_;
    FlowHasher hasher_;
    std::vector<std::byte> frame_;
    PacketFields fields_;
    std::uint64_t number_ = 0;
    Timestamp now_ = kStart;
};

/// Packets that came for a queue, or for both.
struct Arrivals {
    std::uint64_t written = 0;  ///< into the ring
    std::uint64_t missed = 0;
    Arrivals& operator+=(const Arrivals& other) noexcept {
        written += other.written;
        missed += other.missed;
        return *this;
    }
    Arrivals operator-(const Arrivals& other) const noexcept {
        return {.written = written - other.written, .missed = missed - other.missed};
    }
};

/// Writes into a queue at a steady rate, until it is told to end.
class Traffic {
public:
    Traffic(Queue& queue, double packets_per_second, unsigned cpu)
        : thread_([this, &queue, packets_per_second, cpu] {
              cpu_set_t cpus;
              CPU_ZERO(&cpus);
              CPU_SET(cpu, &cpus);
              ::sched_setaffinity(0, sizeof cpus, &cpus);
              run(queue, packets_per_second);
          }) {}
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
    ~Traffic() {
        ends_ = true;
        thread_.join();
    }
    /// Since its start; from any thread.
    [[nodiscard]] Arrivals arrivals() const noexcept {
        return {.written = written_, .missed = missed_};
    }

private:
    void run(Queue& queue, double packets_per_second) {
        const Clock::time_point begin = Clock::now();
        while (!ends_) {
            const std::chrono::duration<double> passed = Clock::now() - begin;
            const auto due = static_cast<std::uint64_t>(passed.count() * packets_per_second);
            std::uint64_t waiting = due - std::min(due, written_ + missed_);
            if (waiting > kDescriptors) {
                missed_ += waiting - kDescriptors;
                waiting = kDescriptors;
            }
            if (waiting >= kBurstPackets) {
                queue.write(kBurstPackets);
                written_ += kBurstPackets;
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(20));  // as `poll: adaptive`
            }
        }
    }

    std::atomic<bool> ends_{false};
    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> missed_{0};
    std::thread thread_;
};

using Queues = std::array<std::unique_ptr<Queue>, 2>;
using Traffics = std::array<std::unique_ptr<Traffic>, 2>;

Arrivals sum_of(const Traffics& traffics) {
    Arrivals sum;
    for (const auto& traffic : traffics) {
        sum += traffic->arrivals();
    }
    return sum;
}

struct Dumped {
    double seconds{};
    std::uint64_t matched{};
    std::uint64_t overwritten{};
    Arrivals arrivals;  ///< for both queues meanwhile
};

/// Dumps one flow, and checks that it is whole.
Dumped dump(const Queues& queues, const Traffics& traffics, std::uint64_t flow, FlowHasher hasher) {
    const std::uint32_t address = __builtin_bswap32(address_of(flow));
    const std::string host = "10." + std::to_string(address >> 16U & 0xffU) + "." +
                             std::to_string(address >> 8U & 0xffU) + "." +
                             std::to_string(address & 0xffU);
    const std::string expression =
        "udp and host " + host + " and host 198.51.100.2 and port 5000 and port 6000";
    const Arrivals before = sum_of(traffics);
    const Clock::time_point begin = Clock::now();
    PacketFilter filter(expression, FilterLinks::ethernet);
    std::vector<DumpQueue> rings;
    for (const auto& queue : queues) {
        rings.push_back({.ring = &queue->ring(), .name = "q", .interface = "eth0"});
    }
    std::vector<std::byte> file;
    const std::uint64_t end = queues[flow / (kFlows / 2)]->ring().kept();
    PacketDump dump(std::move(rings),
                    {.since = kStart,
                     .filter = &filter,
                     .filter_text = expression,
                     .flows = hashes_of_asked_flow(expression, hasher)},
                    {.write =
                         [&file](std::span<const std::byte> octets) {
                             file.insert(file.end(), octets.begin(), octets.end());
                             return true;
                         },
                     .clock = [] { return kStart; },
                     .pause = [](auto time) { std::this_thread::sleep_for(time); },
                     .goes_on = [] { return true; }});
    demand(dump.run(), "the dump is whole");
    Dumped dumped{.seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
                  .arrivals = sum_of(traffics) - before};
    for (const DumpAccount& account : dump.accounts()) {
        dumped.matched += account.matched;
        dumped.overwritten += account.overwritten;
    }
    const Queue& queue = *queues[flow / (kFlows / 2)];
    const std::uint64_t oldest =
        queue.ring().look_at(queue.ring().oldest_block() + 1)->first_number;
    demand(dumped.matched >= queue.count(flow, oldest, end), "all packets of the flow are dumped");
    CaptureReader reader(file);
    CaptureFrame frame;
    std::uint64_t read = 0;
    for (auto item = reader.next(frame); item != CaptureItem::end; item = reader.next(frame)) {
        demand(item != CaptureItem::cut, "the file is not cut");
        if (item == CaptureItem::frame) {
            const std::uint32_t source = address_of(flow);
            demand(std::memcmp(frame.captured.data() + 26, &source, 4) == 0, "no other flow");
            ++read;
        }
    }
    demand(read == dumped.matched, "the file has what the account says");
    return dumped;
}

/// What each of two threads can write while the other one writes.
double packets_per_second(const Queues& queues) {
    constexpr std::uint64_t kPackets = std::uint64_t{1} << 22U;
    const auto write = [](Queue& queue) {
        for (std::uint64_t done = 0; done < kPackets; done += kBurstPackets) {
            queue.write(kBurstPackets);
        }
    };
    const Clock::time_point begin = Clock::now();
    std::thread other(write, std::ref(*queues[1]));
    write(*queues[0]);
    other.join();
    return kPackets / std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What comes for both queues in some time without a dump.
Arrivals arrivals_without_a_dump(const Traffics& traffics, double seconds) {
    const Arrivals before = sum_of(traffics);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return sum_of(traffics) - before;
}

/// Dumps some flows of both queues.
Json dump_flows(const Queues& queues, const Traffics& traffics, FlowHasher hasher) {
    std::vector<double> seconds;
    Arrivals meanwhile;
    Arrivals quietly;
    auto dumps = Json::array();
    for (const std::uint64_t flow : {1234U, 765'432U, 31U, 500'007U, 499'999U, 900'001U, 77'777U}) {
        const Dumped dumped = dump(queues, traffics, flow, hasher);
        const Arrivals quiet = arrivals_without_a_dump(traffics, dumped.seconds);
        seconds.push_back(dumped.seconds);
        meanwhile += dumped.arrivals;
        quietly += quiet;
        dumps.push_back({{"flow", flow},
                         {"seconds", dumped.seconds},
                         {"packets", dumped.matched},
                         {"overwritten", dumped.overwritten},
                         {"missed", dumped.arrivals.missed},
                         {"missed_without_a_dump", quiet.missed}});
    }
    return {{"written", meanwhile.written},
            {"missed", meanwhile.missed},
            {"written_without_a_dump", quietly.written},
            {"missed_without_a_dump", quietly.missed},
            {"seconds", median_of(seconds)},
            {"seconds_most", std::ranges::max(seconds)},
            {"dumps", dumps}};
}

int run(int argc, char** argv) {
    double gibibytes = 4;
    double rate = 0;
    bool check_only = false;
    CLI::App app("How long a dump of one flow takes");
    app.add_flag("--check", check_only, "small rings; only check what is dumped");
    app.add_option("--gibibytes", gibibytes, "of both rings together");
    app.add_option("--rate", rate,
                   "packets per second into each ring; 0: half of what is possible");
    CLI11_PARSE(app, argc, argv);
    if (check_only) {
        gibibytes = 1.0 / 16;
        rate = 2e5;
    }
    const auto octets = static_cast<std::size_t>(gibibytes * (std::size_t{1} << 29U));
    const FlowHasher hasher(11);
    const Queues queues{std::make_unique<Queue>(octets, 0, hasher),
                        std::make_unique<Queue>(octets, kFlows / 2, hasher)};
    for (const auto& queue : queues) {
        queue->fill();
    }
    const double most = packets_per_second(queues);
    rate = rate == 0 ? most / 2 : rate;
    const unsigned cpus = std::max(std::thread::hardware_concurrency(), 1U);
    Json json{{"gibibytes", gibibytes},
              {"packets_in_rings", queues[0]->ring().kept() + queues[1]->ring().kept()},
              {"most_written_per_second", most},
              {"rate_of_each", rate}};
    {
        const Traffics traffics{std::make_unique<Traffic>(*queues[0], rate, 0),
                                std::make_unique<Traffic>(*queues[1], rate, 1 % cpus)};
        let_others_go_first();  // as DumpCommand does
        json.update(dump_flows(queues, traffics, hasher));
    }
    if (check_only) {
        return EXIT_SUCCESS;
    }
    std::cout << json.dump(2) << "\n";
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
