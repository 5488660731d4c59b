// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/status_line.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

using namespace tributary;
using std::chrono::milliseconds;

namespace {

Ledger ledger_of(std::uint64_t received, std::uint64_t exported) {
    Ledger ledger;
    ledger.queues.resize(2);
    ledger.queues[0].received = received - 1;
    ledger.queues[1].received = 1;
    ledger.queues[1].metered = {exported + 30, 0, 0};
    ledger.queues[1].exported = {exported, 0, 0};
    ledger.queues[1].lost["ring_full"] = {20, 0, 0};
    ledger.ports = {{.name = "a", .missed = 3, .no_buffer = 4, .errors = 5}};
    ledger.collectors = {{.name = "x", .counts = {{"connected", 1}}, .lost_by_cause = {}},
                         {.name = "y", .counts = {{"connected", 0}}, .lost_by_cause = {}}};
    return ledger;
}

}  // namespace

TEST_CASE("status line: rates, what is active, what is lost, who is reached", "[daemon][unit]") {
    CHECK(status_line(ledger_of(1000, 100), ledger_of(4001, 160), milliseconds{2000}) ==
          "1501 packets/s, 10 flows active, 30 records/s exported, 1 of 2 collectors reached; lost "
          "so far: 20 records, 7 packets by NICs");
}

TEST_CASE("status line: what waits in spools is told", "[daemon][unit]") {
    Ledger ledger = ledger_of(1000, 100);
    GroupSpoolLedger& spool = ledger.spool.emplace();
    spool.inherited = 5;
    spool.stored = 10;
    spool.handed_over = 3;
    CHECK_THAT(status_line(ledger, ledger, {}),
               Catch::Contains(" 1 of 2 collectors reached, 12 records in the spool; lost so far"));
    spool.handed_over = 15;
    CHECK_THAT(status_line(ledger, ledger, {}), Catch::Contains(" collectors reached; lost"));
    ledger.collectors[1].counts["spool_octets"] = 1025;
    CHECK_THAT(status_line(ledger, ledger, {}),
               Catch::Contains(" reached, 2 KiB in collectors' spools; lost"));
}

TEST_CASE("status line: at the beginning there are no rates", "[daemon][unit]") {
    const Ledger ledger = ledger_of(1000, 100);
    CHECK(status_line(ledger, ledger, {}).starts_with("0 packets/s, 10 flows active, 0 records/s"));
}

TEST_CASE("status line: what one of the NICs cannot tell is unknown", "[daemon][unit]") {
    Ledger ledger = ledger_of(1000, 100);
    ledger.ports.push_back({.name = "tap", .missed = std::nullopt});
    CHECK(status_line(ledger, ledger, {}).ends_with("20 records, unknown + 7 packets by NICs"));
    ledger.ports = {{.name = "tap", .missed = std::nullopt}};
    CHECK(status_line(ledger, ledger, {}).ends_with("20 records, unknown packets by NICs"));
}

TEST_CASE("status line: any counts and times, have rates that 64 bits say", "[daemon][unit]") {
    using std::chrono::nanoseconds;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 2;
    const auto line = [](std::uint64_t received, nanoseconds time) {
        return status_line(ledger_of(1, 0), ledger_of(received, 0), time);
    };
    CHECK(line(kMost, std::chrono::seconds{1}).starts_with("9223372036854775806 packets/s"));
    CHECK(line(kMost, nanoseconds{1}).starts_with("18446744073709551615 packets/s"));
    CHECK(line(4, nanoseconds::max()).starts_with("0 packets/s"));
    CHECK(line(kMost, nanoseconds{-1}).starts_with("0 packets/s"));
    CHECK(line(4, std::chrono::seconds{2}).starts_with("2 packets/s"));  // 1.5 is rounded
}
