// SPDX-License-Identifier: Apache-2.0
#include "export/collector/collector_group.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <utility>

#include "tests/support/collector_group_harness.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("CollectorGroup: copy gives each collector each record, in its own format",
          "[export][unit]") {
    GroupExport group(ExportMode::copy, 3);
    group.options.collectors[1].observation_domain = 77;
    group.options.collectors[2].timestamps = TimestampUnit::nanoseconds;
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    group.finish();
    for (const TcpCollector& collector : group.collectors) {
        CHECK(collector.ports == numbers(0, 5000));
    }
    CHECK(group.collectors[0].domains == std::set<std::uint32_t>{1});
    CHECK(group.collectors[1].domains == std::set<std::uint32_t>{77});
    CHECK(group.collectors[1].elements.contains(152));
    CHECK(group.collectors[2].elements.contains(156));
    CHECK_FALSE(group.collectors[2].elements.contains(152));
    CHECK(group.counters.queues[0].exported.read() == RecordTally{5000, 50'000, 5'000'000});
    CHECK(group.has(0) == 5000);
    CHECK(group.has(1) == 5000);
    CHECK(group.has(2) == 5000);
}

TEST_CASE("CollectorGroup: a collector that is away costs another one nothing", "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.options.collectors[1].buffer = 65'536;
    group.collectors[1].go_away();
    group.start();
    group.run(milliseconds{500});  // that buffer holds some 1200 records
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports == numbers(0, 5000));
    CHECK(group.exported() == 5000);
    CHECK(group.has(1) == 0);
    const std::uint64_t too_many = group.lost_to(1, ExportLoss::buffer_full);
    CHECK(too_many > 3000);

    group.collectors[1].come_back();
    group.run(milliseconds{60'000});
    group.finish();
    CHECK(group.collectors[1].ports == numbers(0, 5000 - too_many));  // the waiting ones, in order
    CHECK(group.has(1) == 5000 - too_many);
    CHECK(group.exported() == 5000);  // counted once
    CHECK(group.lost(ExportLoss::buffer_full) == 0);
}

TEST_CASE("CollectorGroup: each collector has the latencies of its records", "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.options.flush_interval = milliseconds{700};
    group.collectors[1].go_away();
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(10);
    group.run(milliseconds{1500});  // one waits for the flush, the other one for its collector
    group.collectors[1].come_back();
    group.run(milliseconds{60'000});
    const LatencyHistogram::Reading prompt = group.counters.collectors[0].latency.read();
    CHECK(prompt.records == std::array<std::uint64_t, 12>{0, 0, 0, 0, 0, 0, 10});
    CHECK(prompt.seconds >= 7.0);
    CHECK(prompt.seconds < 10.0);
    const LatencyHistogram::Reading late = group.counters.collectors[1].latency.read();
    CHECK(late.seconds >= 15.0);
    CHECK(std::accumulate(late.records.begin(), late.records.end(), std::uint64_t{0}) == 10);
}

TEST_CASE("CollectorGroup: while no collector takes records, they wait", "[export][unit]") {
    GroupExport group(ExportMode::copy, 2, 65'536);
    group.collectors[0].go_away();
    group.collectors[1].go_away();
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    CHECK(group.queue.left() > 3000);
    CHECK(group.lost_to(0, ExportLoss::buffer_full) + group.lost_to(1, ExportLoss::buffer_full) ==
          0);
    group.collectors[1].come_back();
    group.run(milliseconds{60'000});
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    CHECK(group.exported() == 5000);
    group.finish();
    CHECK(group.lost_to(0, ExportLoss::collector_away) +
              group.lost_to(0, ExportLoss::buffer_full) ==
          5000);
    CHECK(group.lost(ExportLoss::collector_away) == 0);  // the other one has them
}

TEST_CASE("CollectorGroup: a record that no collector gets is lost once", "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.collectors[0].go_away();
    group.collectors[1].go_away();
    group.start();
    group.queue.put_many(5000);
    group.finish();
    CHECK(group.exported() == 0);
    CHECK(group.counters.queues[0].read_lost(ExportLoss::collector_away) ==
          RecordTally{5000, 50'000, 5'000'000});
    CHECK(group.lost_to(0, ExportLoss::collector_away) == 5000);
    CHECK(group.lost_to(1, ExportLoss::collector_away) == 5000);
}

TEST_CASE(
    "CollectorGroup: a collector that is given up gets nothing more, while another one drains",
    "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.options.drain_timeout = milliseconds{1000};
    group.start();
    group.run(milliseconds{500});
    // The second one takes what its kernel takes, and wakes up when it has been given up.
    group.queue.put_many(60'000);
    for (int steps = 0; steps < 2000; ++steps) {
        static_cast<void>(group.worker->step(at(group.uptime)));
        group.collectors[0].hear();
    }
    bool ended = false;
    for (int calls = 0; !ended; ++calls) {
        REQUIRE(calls < 100'000);
        group.uptime += milliseconds{10};
        ended = group.worker->finish(at(group.uptime));
        group.collectors[0].hear();
        if (calls > 200) {
            group.collectors[1].hear();
        }
    }
    group.hear();
    CHECK(group.exported() == 60'000);
    CHECK(group.collectors[0].ports.size() == 60'000);
    CHECK(group.lost_to(1, ExportLoss::collector_away) > 0);
    CHECK(group.has(1) + group.lost_to(1, ExportLoss::collector_away) == 60'000);
    CHECK(group.collectors[1].ports.size() <= group.has(1));
}

TEST_CASE("CollectorGroup: balance gives both directions of a flow to one collector, in each run",
          "[export][unit]") {
    std::array<std::map<std::uint64_t, std::size_t>, 2> places;  // by source port
    for (auto& place : places) {
        GroupExport group(ExportMode::balance, 3);
        group.start();
        for (std::uint16_t number = 1000; number < 4000; ++number) {
            Record there = record_of(number);
            there.core.key.destination_port = {60'000};
            Record back = there;
            std::swap(back.core.key.source, back.core.key.destination);
            std::swap(back.core.key.source_port, back.core.key.destination_port);
            back.core.key.ingress_interface = {8};
            group.queue.put(there);
            group.queue.put(back);
            group.queue.put(there);
        }
        group.run(milliseconds{2000});
        group.finish();
        CHECK(group.exported() == 9000);
        for (std::size_t i = 0; i < 3; ++i) {
            const std::vector<std::uint64_t>& ports = group.collectors[i].ports;
            CHECK(ports.size() == group.has(i));
            CHECK(ports.size() > 2700);
            CHECK(ports.size() < 3300);
            const auto from_60000 = std::ranges::count(ports, 60'000U);
            CHECK(static_cast<std::size_t>(from_60000) * 3 == ports.size());
            for (const std::uint64_t port : ports) {
                if (port != 60'000) {
                    CHECK(place.emplace(port, i).first->second == i);
                }
            }
        }
    }
    CHECK(places[0] == places[1]);
}

TEST_CASE("CollectorGroup: a file that has failed does not keep the others from waiting",
          "[export][unit]") {
    GroupExport group(ExportMode::copy, 2, 65'536);
    group.options.collectors[0].transport = TransportKind::file;
    group.options.collectors[0].path = "/dev/full";
    group.collectors[1].go_away();
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    CHECK(group.queue.left() > 3000);
    group.collectors[1].come_back();
    group.run(milliseconds{60'000});
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    group.finish();
    CHECK(group.exported() == 5000);
    CHECK(group.lost_to(0, ExportLoss::write_failed) == 5000);
}

TEST_CASE("CollectorGroup: one collector that fails for good is not the export's end",
          "[export][unit]") {
    ExportOptions options = without_options_records();
    options.collectors.resize(2);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = "/dev/full";
    options.collectors[1] = options.collectors[0];
    options.collectors[1].path = "/dev/null";
    RecordQueue queue;
    queue.put_many(1000);
    ExportCounters counters(1, 2);
    ExportWorker worker(options, {}, {&queue}, counters, {});
    milliseconds uptime{0};
    while (!worker.finish(at(uptime))) {
        REQUIRE(uptime < milliseconds{60'000});
        uptime += milliseconds{10};
    }
    CHECK(worker.error().empty());
    CHECK(counters.queues[0].exported.read().records == 1000);
    CHECK(counters.collectors[0].read_lost(ExportLoss::write_failed).records == 1000);
    CHECK(counters.queues[0].read_lost(ExportLoss::write_failed).records == 0);
}
