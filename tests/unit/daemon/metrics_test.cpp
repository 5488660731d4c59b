// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics.hpp"

#include <catch2/catch.hpp>

using namespace tributary;
using Catch::Contains;

namespace {

ProbeGauges gauges_of(const ThreadLoad& load) {
    return {.rings = {{.records = 3, .room = 8}},
            .threads = {&load},
            .max_flows = 1000,
            .started = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000)),
            .version = "1.2.3"};
}

Ledger one_queue(const char* name) {
    Ledger ledger;
    ledger.queues.resize(1);
    ledger.queues[0].name = name;
    ledger.queues[0].received = 17;
    ledger.queues[0].lost["ring_full"] = {2, 30, 400};
    return ledger;
}

}  // namespace

TEST_CASE("metrics: a queue's numbers with its labels", "[daemon][unit]") {
    ThreadLoad load{.thread = "in-0"};
    load.busy_cycles.add(70);
    load.idle_cycles.add(30);
    const std::string text = to_prometheus(one_queue("up/link/12"), gauges_of(load));
    CHECK_THAT(text, Contains("# TYPE tributary_received_packets_total counter\n"));
    CHECK_THAT(text,
               Contains("tributary_received_packets_total{input=\"up/link\",queue=\"12\"} 17\n"));
    CHECK_THAT(text, Contains("tributary_lost_bytes_total{input=\"up/link\",queue=\"12\","
                              "cause=\"ring_full\"} 400\n"));
    CHECK_THAT(text, Contains("# TYPE tributary_ring_records gauge\n"));
    CHECK_THAT(text, Contains("tributary_ring_records{input=\"up/link\",queue=\"12\"} 3\n"));
    CHECK_THAT(text, Contains("tributary_ring_room{input=\"up/link\",queue=\"12\"} 8\n"));
    CHECK_THAT(text,
               Contains("tributary_thread_cycles_total{thread=\"in-0\",state=\"busy\"} 70\n"));
    CHECK_THAT(text, Contains("tributary_build_info{version=\"1.2.3\"} 1\n"));
    CHECK_THAT(text, Contains("tributary_start_time_seconds 1700000000\n"));
}

TEST_CASE("metrics: names that an operator chose are quoted", "[daemon][unit]") {
    const ThreadLoad load;
    const std::string text = to_prometheus(one_queue("a\"b\\c\n/0"), gauges_of(load));
    CHECK_THAT(text, Contains("{input=\"a\\\"b\\\\c\\n\",queue=\"0\"} 17\n"));
}
