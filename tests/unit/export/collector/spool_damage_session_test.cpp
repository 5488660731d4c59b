// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "export/spool/spool.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("spool: damage of a file in use is lost by name, and exactly", "[export][unit]") {
    for (const bool is_cut : {false, true}) {
        const TemporaryDirectory directory;
        SpooledExport exports(directory, std::uint64_t{1} << 23U);
        exports.collectors[0].go_away();
        exports.start();
        exports.put(0, 6000);
        exports.run(milliseconds{500});
        const std::vector<std::filesystem::path> files = spool_files_in(directory);
        REQUIRE(files.size() >= 3);
        if (is_cut) {
            std::filesystem::resize_file(files[1], 70'000);
        } else {
            flip_octet(files[1], 24);
        }
        exports.collectors[0].come_back();
        exports.run(milliseconds{20'000});
        exports.finish();
        const std::uint64_t lost = exports.lost(ExportLoss::spool_damaged);
        CHECK(lost > 0);
        CHECK(lost < (is_cut ? 2000 : 200));  // of one message
        CHECK(exports.told(CollectorEventKind::spool_failed));
        CHECK(exports.exported() == 6000 - lost);
        CHECK(exports.collectors[0].ports.size() == 6000 - lost);
        CHECK(exports.has(0) == 6000 - lost);
        CHECK(exports.lost_to(0, ExportLoss::spool_damaged) == lost);
        CHECK(exports.counters.queues[0].read_lost(ExportLoss::spool_damaged) ==
              RecordTally{lost, 10 * lost, 1000 * lost});
        CHECK(spool_files_in(directory).empty());
    }
}

TEST_CASE("spool: damaged records that another collector has are not lost", "[export][unit]") {
    const TemporaryDirectory directory;
    SpooledExport exports(directory, std::uint64_t{1} << 23U, 2);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, 3000);
    exports.run(milliseconds{1000});
    exports.collectors[1].go_away();  // and loses records without room in its buffer
    exports.put(3000, 8000);
    exports.run(milliseconds{1000});
    for (const std::filesystem::path& file : spool_files_in(directory)) {
        std::filesystem::resize_file(file, 0);
    }
    exports.finish();
    CHECK(exports.exported() > 2000);
    CHECK(exports.lost_to(0, ExportLoss::spool_damaged) +
              exports.counters.collectors[0].spooled.read().records ==
          8000);
    RecordTally all = exports.counters.queues[0].exported.read();
    all += exports.counters.queues[0].spooled.read();
    for (const RecordCounter& cause : exports.counters.queues[0].lost) {
        all += cause.read();
    }
    CHECK(all == RecordTally{8000, 80'000, 8'000'000});
    CHECK(exports.lost(ExportLoss::spool_damaged) > 0);
}

TEST_CASE("spool: messages of sets that no collector has the template of are damaged",
          "[export][unit]") {
    const TemporaryDirectory directory;
    leave_in_spool(directory, 100);
    std::uint64_t fingerprint = 0;
    {
        std::ifstream file(spool_files_in(directory).at(0), std::ios::binary);
        file.seekg(8);
        file.read(reinterpret_cast<char*>(&fingerprint), sizeof fingerprint);
    }
    {
        Spool spool({.directory = directory.path(), .max_octets = std::uint64_t{1} << 26U},
                    {.fingerprint = fingerprint});
        spool.adopt();
        for (const std::byte set :
             {std::byte{0x7F}, std::byte{1}}) {  // far away; of a part of a record
            OutgoingMessage message;
            message.octets.assign(24, std::byte{0});
            message.octets[1] = std::byte{10};
            message.octets[3] = std::byte{24};
            message.octets[16] = set;
            message.octets[19] = std::byte{8};
            message.entries.push_back({.number = 0, .queue = 0, .packets = 1, .octets = 1});
            message.data_records = 1;
            message.latest_end = kFirstTimestamp;
            REQUIRE(spool.append(message, false));
        }
    }
    SpooledExport next(directory);
    next.start();
    next.run(milliseconds{5000});
    next.finish();
    CHECK(next.collectors[0].ports == numbers(0, 100));
    CHECK(next.counters.collectors[0].inherited.read().records == 102);
    CHECK(next.lost_to(0, ExportLoss::spool_damaged) == 2);
    CHECK(next.has(0) == 100);
    CHECK(spool_files_in(directory).empty());
}

TEST_CASE("spool: a start that fails leaves the damage for the next one to count",
          "[export][unit]") {
    const TemporaryDirectory directory;
    leave_in_spool(directory, 2000);
    const std::filesystem::path file = spool_files_in(directory).at(0);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    flip_octet(file, 24);  // of the first message's header
    {
        SpooledExport refused(directory, std::uint64_t{1} << 26U, 2);
        refused.options.collectors[1].source_address = "192.0.2.1";  // of no interface here
        CHECK_THROWS_WITH(refused.start(), Catch::Contains("source address"));
        CHECK(refused.counters.collectors[0].inherited.read().records == 0);
        CHECK(refused.counters.collectors[0].spool_max_octets.read() == 0);
    }
    {
        SpooledExport fails_later(directory);  // as where a port cannot be opened
        fails_later.start();
        CHECK(fails_later.counters.collectors[0].inherited.read().records == 0);
    }
    SpooledExport next(directory);
    next.start();
    next.run(milliseconds{5000});
    next.finish();
    const std::uint64_t lost = next.lost_to(0, ExportLoss::spool_damaged);
    CHECK(lost > 0);
    CHECK(next.told(CollectorEventKind::spool_failed));
    CHECK(next.counters.collectors[0].inherited.read().records == next.has(0) + lost);
    CHECK(next.collectors[0].ports.size() == next.has(0));
    // The first message's records are an estimate.
    CHECK(next.has(0) + lost > 1900);
    CHECK(next.has(0) + lost < 2100);
}
