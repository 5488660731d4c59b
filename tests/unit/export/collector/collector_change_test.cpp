// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "tests/support/collector_group_harness.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// An export whose options name some of its three collectors.
struct ChangingExport : GroupExport {
    explicit ChangingExport(ExportMode mode, const std::vector<std::size_t>& chosen)
        : GroupExport(mode, 3), all(options.collectors) {
        options.drain_timeout = milliseconds{1000};
        choose(chosen);
        // Accounts are those of all three, whichever are chosen.
        REQUIRE(chosen.front() == 0);
        start();
        run(milliseconds{200});
    }
    void choose(const std::vector<std::size_t>& chosen) {
        options.collectors.clear();
        for (const std::size_t index : chosen) {
            options.collectors.push_back(all[index]);
        }
    }
    void change(const std::vector<std::size_t>& chosen) {
        choose(chosen);
        worker->change(options, chosen);
    }
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            queue.put(record_of(number));
        }
    }
    /// Takes a collector away, and lets so many records wait for it.
    void leave_waiting(std::size_t collector, std::uint16_t records) {
        collectors[collector].go_away();
        run(milliseconds{200});
        put(0, records);
        run(milliseconds{500});
    }
    [[nodiscard]] std::uint64_t lost_at_all() const {
        std::uint64_t sum = 0;
        for (std::size_t cause = 0; cause < kExportLossCount; ++cause) {
            sum += lost(static_cast<ExportLoss>(cause));
        }
        return sum;
    }

    std::vector<CollectorOptions> all;
};

}  // namespace

TEST_CASE("change: a new collector gets the next records, the others go on", "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1});
    group.put(0, 3000);
    group.run(milliseconds{500});
    group.change({0, 1, 2});
    CHECK_FALSE(group.worker->is_retiring());
    group.put(3000, 5000);
    group.run(milliseconds{2000});
    group.finish();
    CHECK(group.collectors[0].ports == numbers(0, 5000));
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    CHECK(group.collectors[2].ports == numbers(3000, 5000));
    CHECK(group.counters.collectors[0].reconnects.read() == 0);
    CHECK(std::ranges::count(group.events, CollectorEventKind::connected) == 3);
    CHECK(group.exported() == 5000);
    CHECK(group.lost_at_all() == 0);
}

TEST_CASE("change: records on their way to a removed collector still arrive", "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1});
    group.put(0, 3000);
    static_cast<void>(group.worker->step(at(group.uptime)));  // far from all of it is taken
    group.change({0});
    CHECK(group.worker->is_retiring());
    group.put(3000, 4000);
    group.run(milliseconds{2000});
    CHECK_FALSE(group.worker->is_retiring());
    group.finish();
    CHECK(group.collectors[0].ports == numbers(0, 4000));
    const std::size_t before = group.collectors[1].ports.size();
    CHECK(before >= 256);
    CHECK(group.collectors[1].ports == numbers(0, before));
    CHECK(group.has(1) == before);
    CHECK(group.counters.collectors[1].connected.read() == 0);
    CHECK(group.exported() == 4000);
    CHECK(group.lost_at_all() == 0);
}

TEST_CASE("change: a collector removed while it is away loses its waiting records, by name",
          "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1});
    group.leave_waiting(1, 1000);
    group.change({0});
    group.put(1000, 2000);
    group.run(milliseconds{3000});
    CHECK_FALSE(group.worker->is_retiring());
    group.finish();
    CHECK(group.collectors[0].ports == numbers(0, 2000));
    CHECK(group.lost_to(1, ExportLoss::collector_away) == 1000);
    CHECK(group.exported() == 2000);
    CHECK(group.lost_at_all() == 0);
}

TEST_CASE("change: options of one collector give it a new session, and the same account",
          "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1});
    group.put(0, 1000);
    group.run(milliseconds{500});
    group.all[1].port = group.collectors[2].port();
    group.change({0, 1});
    group.put(1000, 2000);
    group.run(milliseconds{2000});
    group.finish();
    CHECK(group.collectors[1].ports == numbers(0, 1000));
    CHECK(group.collectors[2].ports == numbers(1000, 2000));
    CHECK(group.has(1) == 2000);
    CHECK(group.counters.collectors[1].connected.read() == 1);
}

TEST_CASE("change: modes change, and every record is counted once", "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1, 2});
    constexpr std::array kModes{ExportMode::balance, ExportMode::copy,     ExportMode::failover,
                                ExportMode::balance, ExportMode::failover, ExportMode::copy};
    std::uint16_t next = 0;
    for (const ExportMode mode : kModes) {
        group.put(next, static_cast<std::uint16_t>(next + 700));
        next = static_cast<std::uint16_t>(next + 700);
        static_cast<void>(group.worker->step(at(group.uptime)));
        group.options.mode = mode;
        if (mode == ExportMode::failover || group.worker->is_retiring()) {
            group.run(milliseconds{2000});  // their one connection each is still in use
        }
        group.change({0, 1, 2});
        for (TcpCollector& collector : group.collectors) {
            collector.hear();
        }
    }
    group.run(milliseconds{4000});
    group.finish();
    CHECK(group.exported() + group.lost_at_all() == next);
    CHECK(group.queue.left() == 0);
}

TEST_CASE("change: a file in use is refused, and nothing has changed", "[export][unit]") {
    const TemporaryDirectory directory;
    ChangingExport group(ExportMode::copy, {0, 1});
    CollectorOptions file;
    file.transport = TransportKind::file;
    file.path = directory.path() + "/out.ipfix";
    group.all[2] = file;
    group.change({0, 2});
    group.put(0, 100);
    group.run(milliseconds{500});
    group.options.collectors[1].timestamps = TimestampUnit::nanoseconds;
    const std::array<std::size_t, 2> accounts{0, 2};
    CHECK_THROWS_WITH(group.worker->change(group.options, accounts),
                      Catch::Contains("file or spool is in use"));
    group.options.collectors[0].host = "192.0.2.1";
    group.options.collectors[1] = file;
    group.options.collectors[1].path = "/dev/null/file";
    CHECK_THROWS_AS(group.worker->change(group.options, accounts), ExportError);
    group.put(100, 200);
    group.run(milliseconds{500});
    group.finish();
    CHECK(group.collectors[0].ports == numbers(0, 200));
    CHECK(group.has(2) == 200);
}

TEST_CASE("change: losses are in the account of their collector, wherever it stands in the list",
          "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1, 2});
    for (CollectorOptions& collector : group.all) {
        collector.buffer = 65'536;
    }
    group.change({0, 1, 2});
    group.run(milliseconds{1000});
    group.change({1, 2});
    group.run(milliseconds{1000});
    group.collectors[1].go_away();
    group.run(milliseconds{500});
    for (int round = 0; round < 5; ++round) {
        group.put(0, 1000);
        group.run(milliseconds{300});
    }
    CHECK(group.lost_to(1, ExportLoss::buffer_full) > 0);
    CHECK(group.lost_to(0, ExportLoss::buffer_full) == 0);
    CHECK(group.lost_to(2, ExportLoss::buffer_full) == 0);
    group.finish();
}

TEST_CASE("change: a collector that was away before failover keeps no records to hand on",
          "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1});
    group.leave_waiting(1, 1000);
    group.options.mode = ExportMode::failover;
    group.all[0].port = group.collectors[2].port();  // a collector with a free connection
    group.change({0});
    group.run(milliseconds{3000});
    group.put(1000, 1500);
    group.run(milliseconds{2000});
    group.finish();
    CHECK(group.lost_to(1, ExportLoss::collector_away) == 1000);
    CHECK(group.exported() == 1500);
    CHECK(group.collectors[2].ports == numbers(1000, 1500));
}

TEST_CASE("change: records for an absent collector wait on, from its old session",
          "[export][unit]") {
    ChangingExport group(ExportMode::copy, {0, 1});
    group.leave_waiting(1, 1000);
    group.options.timestamps = TimestampUnit::nanoseconds;
    group.all[0].port = group.collectors[2].port();  // a collector with a free connection
    group.change({0, 1});
    group.run(milliseconds{20'000});  // many drain timeouts
    CHECK(group.worker->is_retiring());
    CHECK(group.lost_to(1, ExportLoss::collector_away) == 0);
    group.collectors[1].come_back();
    group.run(milliseconds{30'000});
    CHECK(group.has(1) == 1000);
    CHECK_FALSE(group.worker->is_retiring());
    group.finish();
    CHECK(group.lost_at_all() == 0);
}

TEST_CASE("change: rotated files stay to the end", "[export][unit]") {
    const TemporaryDirectory directory;
    ChangingExport group(ExportMode::copy, {0, 1});
    CollectorOptions file;
    file.transport = TransportKind::file;
    file.path = directory.path() + "/out.ipfix";
    file.rotation.interval = std::chrono::seconds(60);
    group.all[2] = file;
    group.change({0, 2});
    group.options.collectors.pop_back();
    const std::array<std::size_t, 1> accounts{0};
    CHECK_THROWS_WITH(
        group.worker->change(group.options, accounts),
        Catch::Contains("would be removed, and its files are rotated; that needs a restart"));
    group.run(milliseconds{1000});
    group.finish();
}

TEST_CASE("change: records in a refused collector's spool are counted once, when it is accepted",
          "[export][unit]") {
    const TemporaryDirectory directory;
    leave_in_spool(directory, 1000);
    ChangingExport group(ExportMode::copy, {0});
    group.all[1].spool = {.directory = directory.path(), .max_octets = std::uint64_t{1} << 26U};
    group.all[2].transport = TransportKind::file;
    group.all[2].path = directory.path() + "/missing/out.ipfix";
    const CollectorCounters& account = group.counters.collectors[1];
    CHECK_THROWS_AS(group.change({0, 1, 2}), ExportError);
    CHECK_THROWS_AS(group.change({0, 1, 2}), ExportError);
    CHECK(account.inherited.read() == RecordTally{});
    CHECK(account.spool_max_octets.read() == 0);
    group.all[2].path = directory.path() + "/out.ipfix";
    group.change({0, 1, 2});
    group.run(milliseconds{5000});
    CHECK(account.inherited.read().records == 1000);
    CHECK(group.has(1) == 1000);
    group.finish();
    CHECK(group.collectors[1].ports == numbers(0, 1000));
    CHECK(group.lost_at_all() == 0);
}
