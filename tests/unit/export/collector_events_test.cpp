// SPDX-License-Identifier: Apache-2.0
#include "export/collector_events.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

using namespace tributary;
using std::chrono::seconds;

namespace {

struct Told {
    std::vector<std::string> lines;
    CollectorCounters counters;
    CollectorEvents events{collector(), counters,
                           [this](const CollectorEvent& event) { lines.push_back(event.text); }};

    static CollectorOptions collector() {
        CollectorOptions options;
        options.host = "2001:db8::1";
        options.port = 4739;
        return options;
    }
};

}  // namespace

TEST_CASE("CollectorEvents: a repeated trouble is told once a minute, and counted always",
          "[export][unit]") {
    Told told;
    for (int second = 0; second <= 60; ++second) {
        told.events.tell(CollectorEventKind::unreachable, seconds{second}, "No route to host");
    }
    CHECK(told.lines == std::vector<std::string>{
                            "udp [2001:db8::1]:4739: unreachable, records wait (No route to host)",
                            "udp [2001:db8::1]:4739: unreachable, records wait (No route to host), "
                            "and 59 times before"});
    CHECK(told.counters.errors.read() == 61);
}

TEST_CASE("CollectorEvents: kinds do not mute each other, connections are always told",
          "[export][unit]") {
    Told told;
    told.events.tell(CollectorEventKind::connected, seconds{0}, {});
    told.events.tell(CollectorEventKind::connection_lost, seconds{1}, "Broken pipe");
    CHECK(told.counters.connected.read() == 0);
    told.events.tell(CollectorEventKind::connected, seconds{2}, {});
    told.events.tell(CollectorEventKind::refused, seconds{2}, {});
    CHECK(told.lines.size() == 4);
    CHECK(told.counters.connected.read() == 0);  // refused
    CHECK(told.counters.reconnects.read() == 1);
    CHECK(told.counters.refused.read() == 1);
    CHECK(told.counters.errors.read() == 1);
    CHECK(told.events.failure().empty());
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
