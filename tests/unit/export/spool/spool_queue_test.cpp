// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool_queue.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/small_spool.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// One collector's spool, with its account and its log.
struct OverflowIn {
    explicit OverflowIn(const TemporaryDirectory& directory)
        : overflow({.directory = directory.path(), .max_octets = 1U << 23U}, 0,
                   {.fingerprint = kFingerprint}, accounting, events) {
        overflow.advance(now);
    }
    void store(std::uint64_t number) {
        OutgoingMessage message = message_of(number);
        REQUIRE(overflow.store(message, none, now));
    }
    /// The oldest message; the log is empty then.
    OutgoingMessage take() {
        std::optional<OutgoingMessage> message = overflow.take(now);
        REQUIRE(message);
        lines.clear();
        return std::move(*message);
    }
    [[nodiscard]] const CollectorCounters& account() const { return counters.collectors[0]; }

    const ExportTime now = at(std::chrono::milliseconds{0});
    ExportCounters counters{kRecords, 1};
    std::vector<std::string> lines;
    CollectorEvents events{CollectorOptions{}, counters.collectors[0],
                           [this](const CollectorEvent& event) { lines.push_back(event.text); }};
    RecordAccounting accounting{counters, 1};
    MessageStages none;
    SpoolQueue overflow;
};

}  // namespace

TEST_CASE("SpoolQueue: own records of a message that is refused are lost, and logged",
          "[export][unit]") {
    const TemporaryDirectory directory;
    OverflowIn in(directory);
    in.store(1);
    OutgoingMessage message = in.take();
    in.overflow.refuse(message, in.now);
    CHECK(in.account().read_lost(ExportLoss::spool_damaged) == tally_of(message_of(1)));
    REQUIRE(in.lines.size() == 1);
    CHECK_THAT(in.lines[0], Catch::Contains("2 records are lost since the start"));
    CHECK_FALSE(std::filesystem::exists(file_in(directory)));
}

TEST_CASE("SpoolQueue: inherited records of a message that is refused are lost as such",
          "[export][unit]") {
    const TemporaryDirectory directory;
    write_file(file_in(directory), whole_file());
    OverflowIn in(directory);
    OutgoingMessage message = in.take();
    in.overflow.refuse(message, in.now);
    CHECK(in.account().inherited.read().records == kMessages * kRecords);
    CHECK(in.account().read_lost(ExportLoss::spool_damaged) == tally_of(message_of(0)));
    CHECK_THAT(in.lines.back(), Catch::Contains("2 records are lost since the start"));
}

TEST_CASE("SpoolQueue: damage without memory for its line is logged later", "[export][unit]") {
    const TemporaryDirectory directory;
    OverflowIn in(directory);
    in.store(0);
    OutgoingMessage message = in.take();
    {
        std::int64_t calls = 0;
        const NoLargeMemory none(0, calls);
        in.overflow.refuse(message, in.now);
    }
    CHECK(in.account().read_lost(ExportLoss::spool_damaged) == tally_of(message_of(0)));
    CHECK(in.lines.empty());
    in.overflow.advance(in.now);
    REQUIRE(in.lines.size() == 1);
    CHECK_THAT(in.lines[0], Catch::Contains("2 records are lost since the start"));
}
