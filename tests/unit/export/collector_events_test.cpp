// SPDX-License-Identifier: Apache-2.0
#include "export/collector_events.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/allocation_counter.hpp"

using namespace tributary;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

namespace {

constexpr std::string_view kName = "udp [2001:db8::1]:4739: ";

struct Told {
    void tell(CollectorEventKind kind, int second, std::string_view detail = {}) {
        events.report(kind, seconds{second}, detail);
    }
    /// The lines since the last call.
    Lines take() { return std::exchange(lines, {}); }

    static CollectorOptions collector() {
        CollectorOptions options;
        options.host = "2001:db8::1";
        options.port = 4739;
        return options;
    }

    Lines lines;
    CollectorCounters counters;
    CollectorEvents events{collector(), counters, [this](const CollectorEvent& event) {
                               lines.push_back(event.text.starts_with(kName)
                                                   ? event.text.substr(kName.size())
                                                   : "without name: " + event.text);
                           }};
};

}  // namespace

TEST_CASE("CollectorEvents: a repeated failure is logged once a minute, and counted always",
          "[export][unit]") {
    Told told;
    for (int second = 0; second < 60; ++second) {
        told.tell(CollectorEventKind::unreachable, second, "No route to host");
        told.events.advance(seconds{second});
    }
    CHECK(told.take() == Lines{"unreachable, records wait (No route to host)"});
    told.events.advance(seconds{60});  // though it does not come again
    CHECK(told.take() == Lines{"unreachable, records wait (No route to host), 59 times more"});
    told.events.advance(seconds{120});
    told.events.end();
    CHECK(told.take().empty());
    CHECK(told.counters.errors.read() == 60);
}

TEST_CASE("CollectorEvents: another cause is logged at once", "[export][unit]") {
    Told told;
    told.tell(CollectorEventKind::connect_failed, 0, "Connection refused");
    told.tell(CollectorEventKind::connect_failed, 1, "Connection refused");
    told.tell(CollectorEventKind::connect_failed, 3, "Connection refused");
    told.tell(CollectorEventKind::connect_failed, 7, "certificate has expired");
    told.tell(CollectorEventKind::connect_failed, 9, "hostname mismatch");
    CHECK(told.take() == Lines{"no connection (Connection refused)",
                               "no connection (Connection refused), 2 times more",
                               "no connection (certificate has expired)",
                               "no connection (hostname mismatch)"});
}

TEST_CASE("CollectorEvents: a failure that had ended is logged again", "[export][unit]") {
    Told told;
    told.tell(CollectorEventKind::connect_failed, 0, "Connection refused");
    told.tell(CollectorEventKind::connected, 1);
    told.tell(CollectorEventKind::connection_lost, 2, "closed by the collector");
    told.tell(CollectorEventKind::connect_failed, 3, "Connection refused");
    told.tell(CollectorEventKind::connect_failed, 4, "Connection refused");
    told.tell(CollectorEventKind::connected, 5);
    CHECK(told.take() == Lines{"no connection (Connection refused)", "ready",
                               "connection lost (closed by the collector)",
                               "no connection (Connection refused)",
                               "no connection (Connection refused), once more", "ready"});
    CHECK(told.counters.connected.read() == 1);
    CHECK(told.counters.reconnects.read() == 1);
    told.tell(CollectorEventKind::refused, 6);
    CHECK(told.counters.connected.read() == 0);
    CHECK(told.counters.refused.read() == 1);
    CHECK(told.counters.errors.read() == 4);
    CHECK(told.events.failure().empty());
}

TEST_CASE("CollectorEvents: the spool's use and its end are logged each time", "[export][unit]") {
    Told told;
    for (int second = 0; second < 8; second += 4) {
        told.tell(CollectorEventKind::spool_used, second);
        told.tell(CollectorEventKind::spool_failed, second + 1, "Permission denied");
        told.tell(CollectorEventKind::spool_works, second + 2);
        told.tell(CollectorEventKind::spool_emptied, second + 3);
    }
    const Lines once{"records go to the spool", "the spool failed (Permission denied)",
                     "the spool's disk takes records again", "the spool is empty again"};
    Lines twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    CHECK(told.take() == twice);
}

TEST_CASE(
    "CollectorEvents: a state that flaps is logged ten times a minute, and its count within it",
    "[export][unit]") {
    Told told;
    for (int second = 0; second < 40; second += 2) {
        told.tell(CollectorEventKind::connected, second);
        told.tell(CollectorEventKind::connection_lost, second + 1, "reset");
    }
    CHECK(told.take().size() == 20);
    told.tell(CollectorEventKind::connected, 40);
    told.events.advance(seconds{59});
    CHECK(told.take().empty());
    told.events.advance(seconds{60});
    // In the order of their last events: it is connected now.
    CHECK(told.take() == Lines{"connection lost (reset), 10 times more", "ready, 11 times more"});
    told.tell(CollectorEventKind::connection_lost, 61, "reset");
    CHECK(told.take() == Lines{"connection lost (reset)"});
}

TEST_CASE("CollectorEvents: a count waits while unrelated lines are logged", "[export][unit]") {
    Told told;
    for (int second = 0; second < 6; second += 2) {
        told.tell(CollectorEventKind::ends_each, second, "three");
        told.tell(CollectorEventKind::connected, second + 1);
    }
    const Lines lines = told.take();
    REQUIRE(lines.size() == 4);
    CHECK(lines[2] == "ready");
    told.events.end();
    REQUIRE(told.lines.size() == 1);
    CHECK_THAT(told.lines[0], Catch::EndsWith("(three), 2 times more"));
}

TEST_CASE("CollectorEvents: causes that alternate are bounded, and the count reports it",
          "[export][unit]") {
    Told told;
    for (int second = 0; second < 30; ++second) {
        told.tell(CollectorEventKind::connect_failed, second, second % 2 == 0 ? "one" : "other");
    }
    CHECK(told.take().size() == 10);
    told.events.advance(seconds{61});
    CHECK(told.take() == Lines{"no connection (other), 20 times more, also for other causes"});
}

TEST_CASE("CollectorEvents: losses beyond the limit of lines are logged in records",
          "[export][unit]") {
    Told told;
    const auto lose = [&](int second, std::uint64_t records) {
        told.events.report_loss(CollectorEventKind::spool_full, seconds{second}, "a limit",
                                records);
    };
    lose(0, 1000);
    lose(1, 1001);
    lose(2, 1002);
    CHECK(told.take() ==
          Lines{"the spool is full, its oldest records are lost (1000 records; a limit)"});
    SECTION("at the end of the minute") { told.events.advance(seconds{60}); }
    SECTION("at the end of the run") { told.events.end(); }
    CHECK(told.take() ==
          Lines{"the spool is full, its oldest records are lost (2003 records more; a limit)"});
}

TEST_CASE("CollectorEvents: a full spool is logged again when it was empty in between",
          "[export][unit]") {
    Told told;
    told.events.report_loss(CollectorEventKind::spool_full, seconds{0}, {}, 7);
    told.tell(CollectorEventKind::spool_emptied, 1);
    told.events.report_loss(CollectorEventKind::spool_full, seconds{2}, {}, 9);
    CHECK(told.take() == Lines{"the spool is full, its oldest records are lost (7 records)",
                               "the spool is empty again",
                               "the spool is full, its oldest records are lost (9 records)"});
}

TEST_CASE("CollectorEvents: lines without memory are logged within a minute", "[export][unit]") {
    Told told;
    std::int64_t calls = 0;
    {
        const test::NoLargeMemory none(0, calls);
        told.events.report_loss(CollectorEventKind::spool_full, seconds{5}, {}, 12);
    }
    CHECK(told.take().empty());
    told.events.advance(seconds{65});
    CHECK(told.take() == Lines{"the spool is full, its oldest records are lost (12 records)"});
}

TEST_CASE(
    "CollectorEvents: that records wait for their pace is logged once a minute, without count",
    "[export][unit]") {
    Told told;
    for (int second = 0; second <= 60; ++second) {
        told.tell(CollectorEventKind::held_back, second);
    }
    told.events.end();
    const std::string line = "records come faster than they may leave, and wait for the pace";
    CHECK(told.take() == Lines{line, line});
}

TEST_CASE("CollectorEvents: brokers that are away within a session are no lost connection",
          "[export][unit]") {
    Told told;
    told.tell(CollectorEventKind::connected, 0);
    told.tell(CollectorEventKind::connect_failed, 1, "refused");
    CHECK(told.counters.connected.read() == 0);
    told.tell(CollectorEventKind::reached_again, 2);
    CHECK(told.counters.connected.read() == 1);
    told.tell(CollectorEventKind::connect_failed, 3, "refused");  // it had ended: no repetition
    told.tell(CollectorEventKind::reached_again, 4);
    CHECK(told.take() == Lines{"ready", "no connection (refused)", "ready again",
                               "no connection (refused)", "ready again"});
    CHECK(told.counters.reconnects.read() == 0);
    CHECK(told.counters.errors.read() == 2);
    CHECK(is_good_news(CollectorEventKind::reached_again));
}

TEST_CASE("describe: a collector's name in logs", "[export][unit]") {
    CollectorOptions collector;
    collector.host = "flows.example";
    collector.port = 4739;
    collector.transport = TransportKind::tcp;
    CHECK(describe(collector) == "tcp flows.example:4739");
    collector.transport = TransportKind::tls;
    CHECK(describe(collector) == "tls flows.example:4739");
    collector.transport = TransportKind::file;
    collector.path = "/tmp/x.ipfix";
    CHECK(describe(collector) == "file /tmp/x.ipfix");
}
