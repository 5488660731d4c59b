// SPDX-License-Identifier: Apache-2.0
#include "export/collector/group_spool.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "tests/support/spooled_export.hpp"
#include "tests/support/spooled_group.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE(
    "GroupSpool: the first collector reached gets the records that none could take, each once",
    "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledGroup group(directory);
    group.start_with_none();
    group.put(0, 1000);
    group.run(milliseconds{2000});
    CHECK(group.account().spool_octets.read() == 0);  // they still have time
    group.run(milliseconds{4000});
    group.put(1000, 5000);
    group.run(milliseconds{3000});
    CHECK(group.told(CollectorEventKind::none_reached) == 1);
    CHECK(group.told(CollectorEventKind::spool_used) == 1);
    CHECK(group.account().spool_octets.read() > 5000 * 80);
    CHECK(group.exported() == 0);

    group.collectors[1].come_back();
    group.run(milliseconds{15'000});
    CHECK(group.told(CollectorEventKind::spool_emptied) == 1);
    group.put(5000, 6000);
    group.run(milliseconds{2000});
    CHECK(group.collectors[1].ports == numbers(0, 6000));  // in the old order
    CHECK(group.account().spool_octets.read() == 0);
    group.end(6000);
    CHECK(group.exported() == 6000);
    CHECK(group.spooled() == 0);
    CHECK(group.inherited() == 0);
    CHECK(spool_files_in(directory).empty());
}

TEST_CASE("GroupSpool: records that no collector has taken at the end are the next process's",
          "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpooledGroup group(directory);
        group.start_with_none();
        group.put(0, 3000);
        group.run(milliseconds{6000});
        group.put(3000, 3100);  // these are in memory at the end
        group.end(3100);
        CHECK(group.spooled() == 3100);
        CHECK(group.counters.queues[0].spooled.read().records == 3100);
    }
    {
        SpooledGroup group(directory);
        group.start_with_none();
        group.put(4000, 4500);
        group.run(milliseconds{6000});
        CHECK(group.inherited() == 3100);
        CHECK(group.told(CollectorEventKind::spool_found) == 1);
        group.end(500);
        CHECK(group.spooled() == 3600);
        CHECK(group.counters.queues[0].spooled.read().records == 500);
    }
    SpooledGroup group(directory);
    group.collectors[0].go_away();
    group.start();
    group.run(milliseconds{15'000});
    std::vector<std::uint64_t> expected = numbers(0, 3100);
    const std::vector<std::uint64_t> later = numbers(4000, 4500);
    expected.insert(expected.end(), later.begin(), later.end());
    CHECK(group.collectors[1].ports == expected);
    CHECK(group.has(1) == 3600);
    group.end(0);
    CHECK(group.inherited() == 3600);
    CHECK(group.handed_over() == 3600);
    CHECK(group.exported() == 0);  // they are none of this process
}

TEST_CASE("GroupSpool: a process that is killed leaves the records in the spool, and no others",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory copy;
    SpooledGroup group(directory);
    group.start_with_none();
    group.put(0, 2000);
    group.run(milliseconds{6000});  // these were in a collector's memory first
    group.put(2000, 3000);
    group.run(milliseconds{2000});
    for (const std::filesystem::path& file : spool_files_in(directory)) {
        std::filesystem::copy(file, copy / file.filename().string());
    }
    group.end(3000);

    SpooledGroup next(copy);
    next.start();
    next.run(milliseconds{4000});
    CHECK(next.all_received() == numbers(0, 3000));
    next.end(0);
    CHECK(next.inherited() == 3000);
    CHECK(spool_files_in(copy).empty());
}

TEST_CASE("GroupSpool: records that wait with collectors are on the disk before more come",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory copy;
    const bool hangs = GENERATE(false, true);
    SpooledGroup group(directory);
    group.all_go_away();
    if (hangs) {
        group.collectors[0].come_back();
        group.collectors[0].fall_silent();
    }
    group.start();
    group.run(milliseconds{500});
    group.put(0, 4000);
    group.run(milliseconds{hangs ? 33'000 : 5000});
    CHECK(group.told(CollectorEventKind::stalled) == (hangs ? 1 : 0));
    const std::uint64_t arrived = group.has(0);
    for (const std::filesystem::path& file : spool_files_in(directory)) {
        std::filesystem::copy(file, copy / file.filename().string());
    }
    group.collectors[0].wake_up();
    group.end(4000);

    SpooledGroup next(copy);
    next.start();
    next.run(milliseconds{4000});
    CHECK(next.all_received() == numbers(arrived, 4000));
    next.end(0);
    CHECK(next.inherited() == 4000 - arrived);
}

TEST_CASE("GroupSpool: of a batch that is several messages a kill leaves each record once",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory copy;
    SpooledGroup group(directory, 1);
    group.options.collectors[0].format = RecordFormatKind::json;  // four messages
    group.start_with_none(milliseconds{3500});
    group.put(0, 400);
    group.run(milliseconds{2000});
    REQUIRE(group.account().spool_octets.read() > 400 * 80);
    group.collectors[0].come_back();
    group.collectors[0].fall_silent();
    group.run(milliseconds{3000});
    REQUIRE(group.counters.collectors[0].messages.read() > 0);
    REQUIRE(group.handed_over() == 400);
    const std::uint64_t arrived = group.has(0);
    REQUIRE(arrived < 400);
    group.collectors[0].die();
    group.run(milliseconds{2000});
    CHECK(group.has(0) == arrived);
    for (const std::filesystem::path& file : spool_files_in(directory)) {
        std::filesystem::copy(file, copy / file.filename().string());
    }
    group.end(400);
    CHECK(group.spooled() == 400 - arrived);

    SpooledGroup next(copy, 1);
    next.start();
    next.run(milliseconds{4000});
    CHECK(next.all_received() == numbers(arrived, 400));
    CHECK(next.inherited() == 400 - arrived);
    next.end(0);
}

TEST_CASE("GroupSpool: records of another layout are lost by name, and never read as today's",
          "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpooledGroup group(directory);
        group.start_with_none();
        group.put(0, 1000);
        group.end(1000);
        CHECK(group.spooled() == 1000);
    }
    const RecordLayout biflow = RecordLayout::of({}, FlowDirection::biflow);
    ExportCounters counters(1, 1);
    RecordAccounting accounting(counters, 1);
    const ExportOptions options = [&] {
        ExportOptions with_spool;
        with_spool.spool.directory = directory.path();
        return with_spool;
    }();
    std::vector<CollectorEventKind> events;
    GroupSpool spool(options, {.layout = biflow}, accounting,
                     [&](const CollectorEvent& event) { events.push_back(event.kind); });
    CHECK_FALSE(spool.holds_records());
    spool.advance(at(milliseconds{0}));
    CHECK(counters.group_spool.inherited.read().records == 1000);
    CHECK(counters.group_spool.read_lost(ExportLoss::spool_unusable).records == 1000);
    CHECK(std::ranges::count(events, CollectorEventKind::spool_unusable) == 1);
    CHECK_FALSE(spool.holds_records());
    CHECK(spool_files_in(directory).empty());
}

TEST_CASE("GroupSpool: a full spool loses the oldest by name", "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledGroup group(directory, 2, 1U << 23U, 65'536);
    group.start_with_none(milliseconds{3500});
    for (int round = 0; round < 2; ++round) {
        group.queue.put_many(60'000);
        group.run(milliseconds{3000});
    }
    const std::uint64_t lost = group.lost_in_spool(ExportLoss::spool_full);
    CHECK(lost > 30'000);
    CHECK(group.account().spool_octets.read() <= 1U << 23U);
    CHECK(group.told(CollectorEventKind::spool_full) > 0);
    group.collectors[0].come_back();
    group.run(milliseconds{15'000});
    CHECK(group.has(0) == 120'000 - lost);
    CHECK(group.collectors[0].ports.size() == 120'000 - lost);
    group.end(120'000);
    CHECK(group.lost(ExportLoss::spool_full) == lost);
}

TEST_CASE("GroupSpool: damage costs the batches that it is in", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpooledGroup group(directory);
        group.start_with_none(milliseconds{3500});
        group.put(0, 20'000);
        group.run(milliseconds{2000});
        group.end(20'000);
    }
    const std::vector<std::filesystem::path> files = spool_files_in(directory);
    REQUIRE(files.size() > 1);
    flip_octet(files[0], 20'000);   // of a batch
    flip_octet(files[1], 16 + 40);  // of a frame's header
    SpooledGroup group(directory);
    group.start();
    group.run(milliseconds{4000});
    group.end(0);
    const std::uint64_t lost = group.lost_in_spool(ExportLoss::spool_damaged);
    CHECK(lost >= 2);
    CHECK(lost < 1000);
    CHECK(group.inherited() == group.handed_over() + lost);
    const std::vector<std::uint64_t> received = group.all_received();
    CHECK(received.size() == group.handed_over());
    CHECK(std::ranges::adjacent_find(received) == received.end());
    CHECK(received.size() > 19'000);
}

TEST_CASE("GroupSpool: a collector that is left halfway has no record twice", "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledGroup group(directory, 2, std::uint64_t{1} << 26U, 1U << 20U);
    group.start_with_none(milliseconds{3500});
    group.queue.put_many(60'000);
    group.run(milliseconds{2000});
    group.collectors[0].come_back();
    for (int steps = 0; steps < 20'000 && group.has(0) == 0; ++steps) {
        group.uptime += milliseconds{1};
        static_cast<void>(group.worker->step(at(group.uptime)));
        if (steps % 16 == 0) {
            group.collectors[0].hear();
        }
    }
    REQUIRE(group.has(0) > 0);
    REQUIRE(group.has(0) < 60'000);
    group.collectors[0].go_away();
    group.run(milliseconds{2000});
    const std::uint64_t first = group.collectors[0].ports.size();
    SECTION("the other one gets the rest") {
        group.collectors[1].come_back();
        group.run(milliseconds{15'000});
        CHECK(group.collectors[1].ports.size() == 60'000 - first);
        group.end(60'000);
        CHECK(group.exported() == 60'000);
    }
    SECTION("the next process has the rest") {
        group.end(60'000);
        CHECK(group.exported() == first);
        CHECK(group.spooled() == 60'000 - first);
        group.worker.reset();  // it has a lock on the directory
        SpooledGroup next(directory);
        next.start();
        next.run(milliseconds{4000});
        next.end(0);
        CHECK(next.inherited() == 60'000 - first);
        CHECK(next.all_received().size() == 60'000 - first);
    }
}

TEST_CASE("GroupSpool: a reload changes its limit, and keeps its records", "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledGroup group(directory, 2, 1U << 26U, 65'536);
    group.start_with_none(milliseconds{3500});
    group.put(0, 5000);
    group.run(milliseconds{2000});
    ExportOptions wanted = group.options;
    wanted.spool.directory += "2";
    const std::vector<std::size_t> accounts{0, 1};
    CHECK_THROWS_WITH(group.worker->change(wanted, accounts),
                      "export.spool.directory would change; that needs a restart");
    wanted = group.options;
    wanted.spool.max_octets = 1U << 23U;
    wanted.collectors[1].observation_domain = 7;
    group.worker->change(wanted, accounts);
    CHECK(group.account().spool_max_octets.read() == 1U << 23U);
    group.collectors[1].come_back();
    group.run(milliseconds{15'000});
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    CHECK(group.collectors[1].domains == std::set<std::uint32_t>{7});
    group.end(5000);
    CHECK(group.exported() == 5000);
}

TEST_CASE("GroupSpool: a disk that refuses lets records wait, and they are lost by name at the end",
          "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledGroup group(directory, 1, std::uint64_t{1} << 26U, 65'536);
    group.start_with_none(milliseconds{3500});
    std::filesystem::remove_all(directory.path());
    group.queue.put_many(10'000);
    group.run(milliseconds{3000});
    CHECK(group.told(CollectorEventKind::spool_failed) > 0);
    SECTION("a collector comes") {
        group.collectors[0].come_back();
        group.run(milliseconds{15'000});
        group.end(10'000);
        CHECK(group.exported() == 10'000);
        CHECK(group.collectors[0].ports.size() == 10'000);
    }
    SECTION("none comes") {
        group.end(10'000);
        CHECK(group.exported() == 0);
        CHECK(group.lost(ExportLoss::write_failed) + group.lost(ExportLoss::collector_away) ==
              10'000);
        CHECK(group.lost(ExportLoss::write_failed) > 0);
    }
}
