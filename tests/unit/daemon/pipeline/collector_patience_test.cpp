// SPDX-License-Identifier: Apache-2.0
// Which collectors a run waits for, and how long.
#include "daemon/pipeline/collector_patience.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "daemon/pipeline/pipeline_end.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

struct Counts {
    std::uint64_t ended{};
    std::uint64_t exported{};
    std::uint64_t connected{};
    std::uint64_t refused{};
};

Ledger ledger_of(const Counts& counts) {
    Ledger ledger;
    QueueLedger& queue = ledger.queues.emplace_back();
    queue.ended[0] = counts.ended;
    queue.exported.records = counts.exported;
    ledger.collectors.push_back({.name = "udp h:1", .counts = {}, .lost_by_cause = {}});
    ledger.collectors.back().counts = {{"connected", counts.connected},
                                       {"refused", counts.refused}};
    return ledger;
}

constexpr CollectorPatience::Clock::time_point kBegin{1h};

TEST_CASE("CollectorPatience: records that wait for a collector that is away, wait so long",
          "[daemon][unit]") {
    CollectorPatience patience(5s, kBegin);
    const Ledger waits = ledger_of({.ended = 10});
    CHECK_FALSE(patience.is_over(waits, kBegin + 4s));
    CHECK(patience.is_over(waits, kBegin + 5s));
}

TEST_CASE("CollectorPatience: a collector that is connected may be slow", "[daemon][unit]") {
    CollectorPatience patience(5s, kBegin);
    const Ledger slow = ledger_of({.ended = 10, .connected = 1});
    CHECK_FALSE(patience.is_over(slow, kBegin + 100s));
    const Ledger gone = ledger_of({.ended = 10});
    CHECK_FALSE(patience.is_over(gone, kBegin + 104s));
    CHECK(patience.is_over(gone, kBegin + 105s));
}

TEST_CASE("CollectorPatience: one that is tried and refuses again and again is away",
          "[daemon][unit]") {
    CollectorPatience patience(3s, kBegin);
    bool is_over = false;
    for (std::uint64_t second = 1; second <= 3; ++second) {
        is_over = patience.is_over(ledger_of({.ended = 10, .connected = 1, .refused = second}),
                                   kBegin + std::chrono::seconds(second));
        CHECK(is_over == (second == 3));
    }
}

TEST_CASE("CollectorPatience: without waiting records, or while some leave, it does not end",
          "[daemon][unit]") {
    CollectorPatience patience(5s, kBegin);
    CHECK_FALSE(patience.is_over(ledger_of({}), kBegin + 100s));
    CHECK_FALSE(patience.is_over(ledger_of({.ended = 10, .exported = 10}), kBegin + 200s));
    for (std::uint64_t records = 1; records < 9; ++records) {
        CHECK_FALSE(patience.is_over(ledger_of({.ended = 10, .exported = records}),
                                     kBegin + 200s + records * 10s));
    }
}

TEST_CASE("CollectorPatience: records of other tables count as those of the main one",
          "[daemon][unit]") {
    CollectorPatience patience(5s, kBegin);
    Ledger ledger = ledger_of({.ended = 10, .exported = 10});
    ledger.tables.resize(1);
    CHECK_FALSE(patience.is_over(ledger, kBegin));
    CHECK_FALSE(patience.is_over(ledger, kBegin + 100s));  // none waits
    ledger.tables[0].ended[0] = 10;
    CHECK_FALSE(patience.is_over(ledger, kBegin + 104s));
    ledger.tables[0].exported.records = 1;  // some leave
    CHECK_FALSE(patience.is_over(ledger, kBegin + 108s));
    CHECK_FALSE(patience.is_over(ledger, kBegin + 112s));
    CHECK(patience.is_over(ledger, kBegin + 113s));
    ledger.tables[0].lost["collector_away"].records = 9;
    CHECK_FALSE(patience.is_over(ledger, kBegin + 200s));
}

TEST_CASE("wait_of_end: records, the collectors that they wait for, and the longest time",
          "[daemon][unit]") {
    Ledger ledger = ledger_of({});
    CHECK(wait_of_end(ledger, 5s) == "the end waits until files are finished");
    ledger.queues[0].metered.records = 12;
    ledger.queues[0].exported.records = 5;
    const auto expect = [&ledger](const char* collectors) {
        CHECK(wait_of_end(ledger, 2500ms) ==
              std::string("the end waits: 7 flow records are to leave for ") + collectors +
                  "; a collector is given up after 2.5 s without a sign of life, and after 25 s in "
                  "any case (export.drain-timeout)");
    };
    expect("udp h:1 (not connected)");
    ledger.queues[0].exported.records = 9;  // the others are of another table
    ledger.tables.resize(1);
    ledger.tables[0].created.records = 4;
    expect("udp h:1 (not connected)");
    ledger.tables.clear();
    ledger.queues[0].exported.records = 5;
    ledger.collectors.push_back({.name = "tcp h:2", .counts = {}, .lost_by_cause = {}});
    expect("udp h:1 (not connected), tcp h:2 (not connected)");
    ledger.collectors[1].counts = {{"connected", 1}, {"waiting_octets", 9}};
    expect("tcp h:2");
    ledger.collectors[1].counts = {{"connected", 1}};
    ledger.collectors[0].is_removed = true;
    expect("the collectors");
    ledger.queues[0].exported.records = 12;
    ledger.collectors[1].counts = {{"connected", 0}, {"waiting_octets", 9}};
    CHECK_THAT(wait_of_end(ledger, 5s),
               Catch::Contains("records that other collectors have are to leave for tcp h:2 (not"));
}

}  // namespace
}  // namespace tributary
