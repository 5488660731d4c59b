// SPDX-License-Identifier: Apache-2.0
#include "export/collector/collector_group.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/collector_group_harness.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("CollectorGroup: failover hands over records that have not arrived, and goes back",
          "[export][unit]") {
    GroupExport group(ExportMode::failover);
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(1000);
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports == numbers(0, 1000));
    CHECK(group.collectors[1].ports.empty());

    for (std::uint16_t number = 1000; number < 1300; ++number) {
        group.queue.put(record_of(number));
    }
    static_cast<void>(group.worker->step(at(group.uptime)));  // in the first one's open message
    group.collectors[0].go_away();
    group.run(milliseconds{2000});
    for (std::uint16_t number = 1300; number < 3000; ++number) {
        group.queue.put(record_of(number));
    }
    group.run(milliseconds{2000});
    CHECK(group.has(0) + group.has(1) == 3000);
    CHECK(group.collectors[0].ports.size() == group.has(0));
    std::vector<std::uint64_t> all = group.collectors[0].ports;
    all.insert(all.end(), group.collectors[1].ports.begin(), group.collectors[1].ports.end());
    CHECK(all == numbers(0, 3000));  // none missing, none twice
    CHECK(std::ranges::count(group.events, CollectorEventKind::takes_over) == 1);

    group.collectors[0].come_back();
    group.run(milliseconds{60'000});
    group.queue.put(record_of(3000));
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports.back() == 3000);
    CHECK(std::ranges::count(group.events, CollectorEventKind::takes_over) == 2);
    group.finish();
    CHECK(group.exported() == 3001);
}

TEST_CASE("CollectorGroup: failover logs once that no collector can be reached, and which one is",
          "[export][unit]") {
    const auto told = [](const GroupExport& group, CollectorEventKind kind) {
        return std::ranges::count(group.events, kind);
    };
    GroupExport group(ExportMode::failover);
    for (TcpCollector& collector : group.collectors) {
        collector.go_away();
    }
    group.start();
    group.queue.put_many(10);
    group.run(milliseconds{2900});
    CHECK(told(group, CollectorEventKind::none_reached) == 0);  // they still have time
    group.run(milliseconds{10'000});
    CHECK(told(group, CollectorEventKind::none_reached) == 1);
    CHECK(told(group, CollectorEventKind::takes_over) == 0);

    group.collectors[0].come_back();
    group.run(milliseconds{60'000});
    CHECK(group.collectors[0].ports == numbers(0, 10));
    CHECK(told(group, CollectorEventKind::takes_over) == 1);
    group.collectors[0].go_away();
    group.run(milliseconds{2000});
    CHECK(told(group, CollectorEventKind::none_reached) == 2);
    CHECK(told(group, CollectorEventKind::takes_over) == 1);

    group.collectors[1].come_back();
    group.queue.put(record_of(10));
    group.run(milliseconds{60'000});
    CHECK(group.collectors[1].ports.back() == 10);
    CHECK(told(group, CollectorEventKind::takes_over) == 2);
    CHECK(told(group, CollectorEventKind::none_reached) == 2);
    group.finish();
    CHECK(group.exported() == 11);
    CHECK_FALSE(is_good_news(CollectorEventKind::none_reached));
    CHECK(is_good_news(CollectorEventKind::takes_over));
}

TEST_CASE("CollectorGroup: where a single failover target is full, it is not logged as away",
          "[export][unit]") {
    GroupExport group(ExportMode::failover, 1, 65'536);
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(60'000);
    for (int steps = 0; steps < 1000; ++steps) {  // it does not read
        static_cast<void>(group.worker->step(at(group.uptime)));
    }
    CHECK(std::ranges::count(group.events, CollectorEventKind::none_reached) == 0);
    group.run(milliseconds{2000});
    group.finish();
    CHECK(group.exported() == 60'000);
}

TEST_CASE(
    "CollectorGroup: failover rescues what a collector held that was left because it was slow",
    "[export][unit]") {
    GroupExport group(ExportMode::failover, 2, 65'536);
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(60'000);
    // The first one stops reading; when its kernel and its buffer are full, the second one has the
    // rest.
    for (int steps = 0; steps < 3000 && group.has(1) == 0; ++steps) {
        static_cast<void>(group.worker->step(at(group.uptime)));
        group.collectors[1].hear();
    }
    REQUIRE(group.has(1) > 0);
    group.collectors[0].die();
    group.run(milliseconds{3000});
    CHECK(group.has(0) + group.has(1) == 60'000);
    CHECK(group.collectors[1].ports.size() == group.has(1));
    group.finish();
    CHECK(group.exported() == 60'000);
    CHECK(group.lost(ExportLoss::collector_away) == 0);
}

TEST_CASE("CollectorGroup: failover leaves a file that fails for good, and takes its records along",
          "[export][unit]") {
    GroupExport group(ExportMode::failover);
    group.options.collectors[0].transport = TransportKind::file;
    group.options.collectors[0].path = "/dev/full";
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    group.finish();
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    CHECK(group.exported() == 5000);
    CHECK(group.worker->error().empty());
}

TEST_CASE("CollectorGroup: a collector that takes nothing is logged, and left for another one",
          "[export][unit]") {
    GroupExport group(ExportMode::failover);
    group.collectors[0].fall_silent();
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(5000);
    group.run(milliseconds{29'000});
    CHECK(group.collectors[1].ports.empty());  // such a short pause does not count
    CHECK(std::ranges::count(group.events, CollectorEventKind::stalled) == 0);
    group.run(milliseconds{3000});
    CHECK(std::ranges::count(group.events, CollectorEventKind::stalled) == 1);
    CHECK(std::ranges::count(group.events, CollectorEventKind::connection_lost) == 1);
    CHECK(std::ranges::count(group.events, CollectorEventKind::takes_over) == 1);
    const std::uint64_t taken = group.has(0);  // what its kernel has acknowledged
    CHECK(taken < 5000);
    CHECK(group.collectors[1].ports == numbers(taken, 5000));
    CHECK(group.counters.collectors[0].standby.read() == 1);
    CHECK(group.counters.collectors[1].standby.read() == 0);

    group.run(milliseconds{50'000});  // it is not tried again for a minute
    CHECK(std::ranges::count(group.events, CollectorEventKind::takes_over) == 1);
    group.collectors[0].drop_connection();
    group.collectors[0].wake_up();
    group.run(milliseconds{15'000});
    group.queue.put(record_of(5000));
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports == numbers(5000, 5001));
    group.finish();
    CHECK(group.exported() == 5001);
}

TEST_CASE("CollectorGroup: a collector that takes nothing keeps its session where no other can",
          "[export][unit]") {
    GroupExport group(ExportMode::failover);
    group.collectors[0].fall_silent();
    group.collectors[1].go_away();
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(5000);
    group.run(milliseconds{40'000});
    CHECK(std::ranges::count(group.events, CollectorEventKind::stalled) == 1);
    CHECK(std::ranges::count(group.events, CollectorEventKind::connection_lost) == 0);
    group.collectors[0].wake_up();
    group.run(milliseconds{5000});
    CHECK(group.collectors[0].ports == numbers(0, 5000));
    group.finish();
    CHECK(group.exported() == 5000);
}

TEST_CASE("CollectorGroup: at the end another collector that is ready has an absent one's records",
          "[export][unit]") {
    GroupExport group(ExportMode::failover);
    group.options.drain_timeout = milliseconds{1000};
    group.collectors[0].go_away();
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{200});  // less than the time that the first one has at the start
    CHECK(group.collectors[1].ports.empty());
    group.finish();
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    CHECK(group.exported() == 5000);
    CHECK(group.uptime < milliseconds{200 + 1000});
}

TEST_CASE("CollectorGroup: at the end another collector has what a silent one did not take",
          "[export][unit]") {
    for (const std::size_t silent : {std::size_t{0}, std::size_t{1}}) {
        GroupExport group(ExportMode::failover);
        group.options.drain_timeout = milliseconds{500};
        group.collectors[silent].fall_silent();
        group.collectors[1 - silent].go_away();
        group.start();
        group.queue.put_many(5000);
        group.run(milliseconds{4000});
        group.collectors[1 - silent].come_back();
        for (int calls = 0; calls < 1000 && !group.worker->finish(at(group.uptime)); ++calls) {
            group.uptime += milliseconds{10};
            group.hear();
            std::this_thread::sleep_for(milliseconds{1});
        }
        group.hear();
        const std::uint64_t taken = group.has(silent);  // what its kernel has acknowledged
        CHECK(taken < 5000);
        CHECK(group.collectors[1 - silent].ports == numbers(taken, 5000));
        CHECK(group.exported() == 5000);
        CHECK(group.lost(ExportLoss::collector_away) == 0);
    }
}
