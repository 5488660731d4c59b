// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <string>

#include "tests/support/spooled_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("spool: records for an absent collector wait there, and come in order",
          "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, 20'000);
    exports.run(milliseconds{2000});
    CHECK(exports.queue.left() == 0);
    CHECK(exports.told(CollectorEventKind::spool_used));
    const CollectorCounters& account = exports.counters.collectors[0];
    const std::uint64_t on_disk = account.spool_octets.read();
    CHECK(on_disk > 500'000);
    CHECK(account.spool_max_octets.read() == std::uint64_t{1} << 26U);
    exports.collectors[0].come_back();
    exports.run(milliseconds{10'000});
    exports.put(20'000, 21'000);
    exports.run(milliseconds{20'000});
    exports.finish();
    CHECK(account.spool_octets.read() < on_disk / 2);
    // Those that were on disk are not in it.
    const LatencyHistogram::Reading latency = account.latency.read();
    const std::uint64_t timed =
        std::accumulate(latency.records.begin(), latency.records.end(), std::uint64_t{0});
    CHECK(timed >= 1000);
    CHECK(timed < 10'000);
    CHECK(exports.collectors[0].ports == numbers(0, 21'000));
    CHECK(exports.exported() == 21'000);
    CHECK(exports.has(0) == 21'000);
    CHECK(exports.spooled() == 0);
    CHECK(exports.told(CollectorEventKind::spool_emptied));
}

TEST_CASE("spool: connections that come and go lose only records that a kernel had taken",
          "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory);
    exports.start();
    for (std::uint16_t round = 0; round < 8; ++round) {
        const auto first = static_cast<std::uint16_t>(round * 5000);
        exports.put(first, static_cast<std::uint16_t>(first + 5000));
        exports.run(milliseconds{1000});
        exports.collectors[0].go_away();  // after reading all there was
        exports.run(milliseconds{200});
        exports.collectors[0].come_back();
    }
    exports.run(milliseconds{90'000});
    exports.finish();
    CHECK(exports.exported() == 40'000);
    CHECK(std::ranges::is_sorted(exports.collectors[0].ports));
    CHECK(exports.collectors[0].ports == numbers(0, 40'000));
}

TEST_CASE("spool: records left at the end are the next process's, sent first", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpooledExport exports(directory);
        exports.collectors[0].go_away();
        exports.start();
        exports.put(0, 10'000);
        exports.run(milliseconds{500});
        exports.finish();
        CHECK(exports.exported() == 0);
        CHECK(exports.spooled() == 10'000);
        CHECK(exports.counters.collectors[0].spooled.read() ==
              RecordTally{10'000, 100'000, 10'000'000});
        CHECK(exports.lost(ExportLoss::collector_away) == 0);
    }
    SpooledExport next(directory);
    next.start();
    next.put(10'000, 12'000);
    next.run(milliseconds{20'000});
    next.finish();
    CHECK(next.collectors[0].ports == numbers(0, 12'000));
    CHECK(next.counters.collectors[0].inherited.read().records == 10'000);
    CHECK(next.has(0) == 12'000);
    CHECK(next.exported() == 2000);  // the others are in the former process's ledger
    CHECK(next.spooled() == 0);
    CHECK(next.told(CollectorEventKind::spool_found));
}

TEST_CASE("spool: a few records that never filled the buffer are kept too", "[export][unit]") {
    const TemporaryDirectory directory;
    leave_in_spool(directory, 10);
    SpooledExport next(directory);
    next.start();
    next.run(milliseconds{2000});
    next.finish();
    CHECK(next.collectors[0].ports == numbers(0, 10));
}

TEST_CASE("spool: when it is full, the oldest records are lost by name", "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory, std::uint64_t{1} << 20U);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, 40'000);
    exports.run(milliseconds{2000});
    CHECK(exports.queue.left() == 0);
    const std::uint64_t lost = exports.lost(ExportLoss::spool_full);
    CHECK(lost > 10'000);
    CHECK(exports.told(CollectorEventKind::spool_full));
    exports.collectors[0].come_back();
    exports.run(milliseconds{60'000});
    exports.finish();
    CHECK(exports.exported() == 40'000 - lost);
    const std::vector<std::uint64_t>& ports = exports.collectors[0].ports;
    CHECK(std::ranges::is_sorted(ports));
    CHECK(ports.size() == 40'000 - lost);
    CHECK(ports.back() == 39'999);
}

TEST_CASE("spool: records of other templates are lost by name", "[export][unit]") {
    const TemporaryDirectory directory;
    leave_in_spool(directory, 100);
    SpooledExport next(directory);
    next.options.timestamps = TimestampUnit::nanoseconds;
    next.start();
    next.run(milliseconds{2000});
    next.finish();
    CHECK(next.collectors[0].ports.empty());
    CHECK(next.counters.collectors[0].inherited.read().records == 100);
    CHECK(next.lost_to(0, ExportLoss::spool_unusable) == 100);
    CHECK(next.lost(ExportLoss::spool_unusable) == 0);
}

TEST_CASE("spool: one collector's costs another one nothing", "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory, std::uint64_t{1} << 26U, 2);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, 20'000);
    exports.run(milliseconds{3000});
    CHECK(exports.collectors[1].ports == numbers(0, 20'000));
    exports.finish();
    CHECK(exports.exported() == 20'000);
    CHECK(exports.spooled() == 0);  // they are exported
    CHECK(exports.counters.collectors[0].spooled.read().records == 20'000);
}

TEST_CASE("spool: a disk that refuses costs no record while they can wait elsewhere",
          "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory);
    exports.options.collectors[0].buffer = std::size_t{4} << 20U;
    exports.collectors[0].go_away();
    exports.start();
    auto* const before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = old.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    for (int i = 0; i < 3; ++i) {
        exports.put(0, 50'000);
    }
    exports.run(milliseconds{3000});
    const std::uint64_t errors = exports.counters.collectors[0].errors.read();
    CHECK(exports.queue.left() > 0);  // they wait where they are
    CHECK(exports.lost(ExportLoss::write_failed) == 0);
    CHECK(exports.told(CollectorEventKind::spool_failed));
    CHECK(errors < 20);  // tries: of the disk, one a second, and of the connection
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
    std::signal(SIGXFSZ, before);
    exports.run(milliseconds{3000});
    CHECK(exports.queue.left() == 0);
    exports.collectors[0].come_back();
    exports.run(milliseconds{60'000});
    exports.finish();
    CHECK(exports.exported() == 150'000);
    CHECK(exports.collectors[0].ports.size() == 150'000);
}

TEST_CASE("spool: a file removed while its messages are in memory loses them only at the end",
          "[export][unit]") {
    const TemporaryDirectory directory;
    std::uint64_t lost = 0;
    {
        SpooledExport exports(directory, std::uint64_t{1} << 18U);
        exports.collectors[0].go_away();
        exports.start();
        exports.put(0, 20'000);  // four times what fits
        exports.run(milliseconds{2000});
        exports.finish();
        lost = exports.lost(ExportLoss::spool_full);
        CHECK(lost > 10'000);
        CHECK(exports.spooled() == 20'000 - lost);
    }
    SpooledExport next(directory, std::uint64_t{1} << 18U);
    next.start();
    next.run(milliseconds{20'000});
    next.finish();
    CHECK(next.collectors[0].ports == numbers(lost, 20'000));
}

TEST_CASE("spool: a collector that gives up first leaves the other one's records alone",
          "[export][unit]") {
    for (const bool other_reads : {true, false}) {
        const TemporaryDirectory directory;
        SpooledExport exports(directory, std::uint64_t{1} << 26U, 2);
        exports.collectors[0].go_away();
        if (!other_reads) {
            exports.collectors[1].go_away();
        }
        exports.start();
        exports.put(0, 1000);
        exports.finish();
        CHECK(exports.exported() == (other_reads ? 1000 : 0));
        CHECK(exports.spooled() == (other_reads ? 0 : 1000));
        CHECK(exports.lost(ExportLoss::collector_away) == 0);
        CHECK(exports.counters.collectors[0].spooled.read().records == 1000);
    }
}

TEST_CASE("spool: records in a removed file are not counted as kept", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/spool";
    SpooledExport exports(directory);
    exports.options.collectors[0].spool.directory = path;
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, 5000);
    exports.run(milliseconds{500});
    std::filesystem::remove_all(path);
    exports.put(5000, 10'000);
    exports.run(milliseconds{500});
    CHECK(exports.told(CollectorEventKind::spool_failed));
    exports.finish();
    CHECK(exports.spooled() == 0);
    CHECK(exports.exported() == 0);
    CHECK(exports.lost(ExportLoss::spool_damaged) > 0);
    CHECK(exports.lost(ExportLoss::spool_damaged) + exports.lost(ExportLoss::write_failed) +
              exports.lost(ExportLoss::collector_away) ==
          10'000);
}

TEST_CASE("spool: records in a removed file are delivered as long as the process runs",
          "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, 5000);
    exports.run(milliseconds{500});
    for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
        std::filesystem::remove(file);
    }
    exports.put(5000, 10'000);  // into a new file
    exports.run(milliseconds{500});
    exports.collectors[0].come_back();
    exports.run(milliseconds{20'000});
    exports.finish();
    CHECK(exports.collectors[0].ports == numbers(0, 10'000));
    CHECK(exports.exported() == 10'000);
}
