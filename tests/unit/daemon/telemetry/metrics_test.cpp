// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/metrics.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace tributary;
using Catch::Contains;

namespace {

ProbeFigures figures_of(const ThreadLoad& load) {
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
    const std::string text = to_prometheus(one_queue("up/link/12"), figures_of(load));
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

TEST_CASE("metrics: how long records took, in buckets that add up", "[daemon][unit]") {
    LatencyHistogram latency;
    latency.add(std::chrono::microseconds{1000}, 3);  // still in the first bucket
    latency.add(std::chrono::milliseconds{1500}, 2);
    latency.add(std::chrono::minutes{2}, 1);
    const ThreadLoad load;
    ProbeFigures figures = figures_of(load);
    figures.collectors = {{.name = "c", .latency = latency.read(), .spool_max_octets = 1'000'000}};
    const std::string text = to_prometheus(one_queue("up/0"), figures);
    const std::string name = "tributary_export_latency_seconds";
    CHECK_THAT(text, Contains("# TYPE " + name + " histogram\n"));
    for (const auto& [bound, records] : std::vector<std::pair<const char*, int>>{
             {"0.001", 3}, {"0.005", 3}, {"1", 3}, {"2", 5}, {"60", 5}, {"+Inf", 6}}) {
        CHECK_THAT(text, Contains(name + "_bucket{collector=\"c\",le=\"" + bound + "\"} " +
                                  std::to_string(records) + "\n"));
    }
    CHECK_THAT(text, Contains(name + "_count{collector=\"c\"} 6\n"));
    CHECK_THAT(text, Contains(name + "_sum{collector=\"c\"} 123.003\n"));
    CHECK_THAT(text, Contains("tributary_collector_spool_max_bytes{collector=\"c\"} 1000000\n"));
}

TEST_CASE("metrics: names that an operator chose are quoted", "[daemon][unit]") {
    const ThreadLoad load;
    const std::string text = to_prometheus(one_queue("a\"b\\c\n/0"), figures_of(load));
    CHECK_THAT(text, Contains("{input=\"a\\\"b\\\\c\\n\",queue=\"0\"} 17\n"));
}

TEST_CASE("metrics: helper threads, those of one name added up", "[daemon][unit]") {
    using std::chrono::milliseconds;
    const ThreadLoad load;
    ProbeFigures figures = figures_of(load);
    const auto thread = [](const char* name, ThreadRole role, int id) {
        return ProcessThread{.name = name,
                             .role = role,
                             .id = id,
                             .cpus = {1, 3},
                             .cpu = 1,
                             .cpu_time = {},
                             .hangs = {}};
    };
    const auto add = [&figures, &thread](const char* name, ThreadRole role, int milli) {
        ProcessThread each = thread(name, role, static_cast<int>(figures.helpers.size()));
        each.cpu_time = milliseconds(milli);
        figures.helpers.push_back({.thread = each, .node = 0});
    };
    add("main", ThreadRole::main, 1500);
    add("command", ThreadRole::helper, 20);
    add("command", ThreadRole::helper, 30);
    figures.helpers.push_back({.thread = thread("rdk:main", ThreadRole::library, 9), .node = {}});
    add("files", ThreadRole::helper, 10);
    figures.helpers.back().thread.hangs = true;
    add("control", ThreadRole::helper, 10);
    figures.helpers.back().thread.hangs = false;
    const std::string text = to_prometheus(one_queue("up/0"), figures);
    CHECK_THAT(text, Contains("tributary_helper_threads{thread=\"command\",role=\"helper\",cpus="
                              "\"1,3\",node=\"0\"} 2\n"));
    CHECK_THAT(text, Contains("tributary_helper_threads{thread=\"rdk:main\",role=\"library\",cpus="
                              "\"1,3\",node=\"none\"} 1\n"));
    const std::string name = "tributary_helper_cpu_seconds_total{thread=";
    CHECK_THAT(text, Contains(name + "\"main\",role=\"main\"} 1.5\n"));
    CHECK_THAT(text, Contains(name + "\"command\",role=\"helper\"} 0.05\n"));
    CHECK_THAT(text, !Contains(name + "\"rdk:main\""));  // unknown
    CHECK_THAT(text, Contains("tributary_helper_hangs{thread=\"files\",role=\"helper\"} 1\n"));
    CHECK_THAT(text, Contains("tributary_helper_hangs{thread=\"control\",role=\"helper\"} 0\n"));
    CHECK_THAT(text, !Contains("tributary_helper_hangs{thread=\"command\""));
}

TEST_CASE("metrics: the memory of each part", "[daemon][unit]") {
    const ThreadLoad load;
    ProbeFigures figures = figures_of(load);
    figures.memory = {{.part = "flow caches", .node = 1, .octets = 300, .used = 20},
                      {.part = "DPDK", .node = {}, .octets = 64, .used = {}}};
    const std::string text = to_prometheus(one_queue("up/0"), figures);
    CHECK_THAT(text, Contains("tributary_memory_bytes{part=\"flow caches\",node=\"1\"} 300\n"));
    CHECK_THAT(text, Contains("tributary_memory_used_bytes{part=\"flow caches\",node=\"1\"} 20\n"));
    CHECK_THAT(text, Contains("tributary_memory_bytes{part=\"DPDK\",node=\"none\"} 64\n"));
    CHECK_THAT(text, !Contains("tributary_memory_used_bytes{part=\"DPDK\""));
}

TEST_CASE("metrics: what is unknown is absent", "[daemon][unit]") {
    Ledger ledger = one_queue("tap/0");
    ledger.queues[0].nic_queue_errors.reset();
    ledger.ports = {{.name = "tap", .missed = std::nullopt}, {.name = "up", .missed = 0}};
    const ThreadLoad load;
    ProbeFigures figures = figures_of(load);
    figures.inputs = {{.name = "tap", .link = LinkState::unknown},
                      {.name = "up", .link = LinkState::down},
                      {.name = "off", .link = LinkState::gone}};
    const std::string text = to_prometheus(ledger, figures);
    CHECK_THAT(text, !Contains("tributary_nic_missed_packets_total{input=\"tap\"}"));
    CHECK_THAT(text, Contains("tributary_nic_missed_packets_total{input=\"up\"} 0\n"));
    CHECK_THAT(text, !Contains("tributary_nic_queue_error_packets_total"));
    CHECK_THAT(text, !Contains("tributary_input_link_up{input=\"tap\"}"));
    CHECK_THAT(text, Contains("tributary_input_link_up{input=\"up\"} 0\n"));
    CHECK_THAT(text, Contains("tributary_input_gone{input=\"up\"} 0\n"));
    CHECK_THAT(text, Contains("tributary_input_gone{input=\"off\"} 1\n"));
}

TEST_CASE("metrics: each number is its own", "[daemon][unit]") {
    Ledger ledger = one_queue("up/0");
    QueueLedger& queue = ledger.queues[0];
    queue.filtered = 101;
    queue.ignored = {{"arp", 102}};
    queue.ignored_octets = 103;
    queue.bad_timestamp = 104;
    queue.nic_queue_errors = 105;
    queue.unified_headers_missing = 106;
    queue.unified_headers_untracked = 107;
    queue.cut_headers = {{"tcp", 108}};
    queue.fragments = {{"first", 109}};
    queue.metered = {5000, 2000, 3000};
    queue.exported = {201, 202, 203};
    queue.lost = {{"ring_full", {301, 302, 303}}};
    queue.ended = {0, 401, 402, 403, 404, 405};
    ledger.ports = {{.name = "up", .missed = 501, .no_buffer = 502, .errors = 503}};
    ledger.collectors = {{.name = "c",
                          .counts = {{"connected", 1},
                                     {"errors", 602},
                                     {"failed", 0},
                                     {"inherited", 604},
                                     {"messages", 605},
                                     {"octets", 606},
                                     {"pace", 612},
                                     {"reconnects", 607},
                                     {"records", 608},
                                     {"refused", 609},
                                     {"spool_estimated", 612},
                                     {"spool_octets", 611},
                                     {"waiting_octets", 613}},
                          .lost_by_cause = {{"buffer_full", 610}}}};
    const ThreadLoad load{.thread = "export"};
    const std::string text = to_prometheus(ledger, figures_of(load));
    const std::string labels = "{input=\"up\",queue=\"0\"";
    for (const auto& [name, more, value] : std::vector<std::tuple<const char*, const char*, int>>{
             {"received_packets_total", "", 17},
             {"filtered_packets_total", "", 101},
             {"ignored_packets_total", ",reason=\"arp\"", 102},
             {"ignored_bytes_total", "", 103},
             {"bad_timestamp_packets_total", "", 104},
             {"nic_queue_error_packets_total", "", 105},
             {"missing_unified_headers_total", "", 106},
             {"untracked_unified_headers_total", "", 107},
             {"cut_headers_total", ",header=\"tcp\"", 108},
             {"fragments_total", ",kind=\"first\"", 109},
             {"created_flow_records_total", "", 5000},
             {"metered_packets_total", "", 2000},
             {"metered_bytes_total", "", 3000},
             {"exported_flow_records_total", "", 201},
             {"exported_packets_total", "", 202},
             {"exported_bytes_total", "", 203},
             {"lost_flow_records_total", ",cause=\"ring_full\"", 301},
             {"lost_packets_total", ",cause=\"ring_full\"", 302},
             {"lost_bytes_total", ",cause=\"ring_full\"", 303},
             {"active_flow_records", "", 5000 - 201 - 301},
             {"active_packets", "", 2000 - 202 - 302},
             {"active_bytes", "", 3000 - 203 - 303},
             {"cached_flow_records", "", 5000 - 401 - 402 - 403 - 404 - 405},
             {"ended_flow_records_total", ",reason=\"idle\"", 401},
             {"ended_flow_records_total", ",reason=\"active\"", 402},
             {"ended_flow_records_total", ",reason=\"end\"", 403},
             {"ended_flow_records_total", ",reason=\"forced\"", 404},
             {"ended_flow_records_total", ",reason=\"lack_of_resources\"", 405},
             {"max_flows", "", 1000}}) {
        CHECK_THAT(text, Contains("tributary_" + std::string(name) + labels + more + "} " +
                                  std::to_string(value) + "\n"));
    }
    for (const auto& [line, value] : std::vector<std::pair<const char*, int>>{
             {"nic_missed_packets_total{input=\"up\"}", 501},
             {"nic_no_buffer_packets_total{input=\"up\"}", 502},
             {"nic_error_packets_total{input=\"up\"}", 503},
             {"collector_connected{collector=\"c\"}", 1},
             {"collector_failed{collector=\"c\"}", 0},
             {"collector_errors_total{collector=\"c\"}", 602},
             {"collector_inherited_flow_records_total{collector=\"c\"}", 604},
             {"collector_spool_estimated_flow_records_total{collector=\"c\"}", 612},
             {"collector_messages_total{collector=\"c\"}", 605},
             {"collector_bytes_total{collector=\"c\"}", 606},
             {"collector_reconnects_total{collector=\"c\"}", 607},
             {"collector_flow_records_total{collector=\"c\"}", 608},
             {"collector_refused_total{collector=\"c\"}", 609},
             {"collector_spool_bytes{collector=\"c\"}", 611},
             {"collector_lost_flow_records_total{collector=\"c\",cause=\"buffer_full\"}", 610}}) {
        CHECK_THAT(text,
                   Contains("tributary_" + std::string(line) + " " + std::to_string(value) + "\n"));
    }
}

TEST_CASE("metrics: the spool of mode failover has the names that collectors' spools have",
          "[daemon][unit]") {
    const ThreadLoad load;
    Ledger ledger = one_queue("a/0");
    CHECK_THAT(to_prometheus(ledger, figures_of(load)), !Contains("failover"));
    ledger.spool = GroupSpoolLedger{.inherited = 100,
                                    .stored = 20,
                                    .handed_over = 30,
                                    .lost_by_cause = {{"spool_full", 4}},
                                    .spooled = 0,
                                    .estimated = 5,
                                    .octets = 6000,
                                    .max_octets = 7000,
                                    .errors = 8};
    const std::string text = to_prometheus(ledger, figures_of(load));
    for (const char* const line :
         {"tributary_collector_spool_bytes{collector=\"failover\"} 6000\n",
          "tributary_collector_spool_max_bytes{collector=\"failover\"} 7000\n",
          "tributary_collector_inherited_flow_records_total{collector=\"failover\"} 100\n",
          "tributary_collector_spool_estimated_flow_records_total{collector=\"failover\"} 5\n",
          "tributary_collector_errors_total{collector=\"failover\"} 8\n",
          "tributary_collector_lost_flow_records_total{collector=\"failover\","
          "cause=\"spool_full\"} 4\n",
          "tributary_spool_waiting_flow_records 86\n",
          "tributary_spool_stored_flow_records_total 20\n",
          "tributary_spool_handed_over_flow_records_total 30\n"}) {
        CHECK_THAT(text, Contains(line));
    }
    CHECK_THAT(text, !Contains("tributary_collector_connected"));
}

TEST_CASE("metrics: a queue's clock, where there is a host's beside it", "[daemon][unit]") {
    ThreadLoad load{.thread = "in-0"};
    Ledger ledger = one_queue("a/0");
    CHECK_THAT(to_prometheus(ledger, figures_of(load)), !Contains("tributary_clock_"));
    ledger.queues[0].clock =
        ClockLedger{.lead = std::chrono::milliseconds{3600'500}, .times_set_back = 2};
    const std::string text = to_prometheus(ledger, figures_of(load));
    CHECK_THAT(text, Contains("tributary_clock_lead_seconds{input=\"a\",queue=\"0\"} 3600.5\n"));
    CHECK_THAT(text, Contains("tributary_clock_set_back_total{input=\"a\",queue=\"0\"} 2\n"));
}

TEST_CASE("metrics: the numbers of a table with its name", "[daemon][unit]") {
    const ThreadLoad load;
    Ledger ledger = one_queue("a/0");
    CHECK_THAT(to_prometheus(ledger, figures_of(load)), !Contains("table"));
    TableLedger& table = ledger.tables.emplace_back();
    table.name = "nets";
    table.metered = 101;
    table.filtered = 102;
    table.filter_not_ready = 103;
    table.without_field = 104;
    table.matched = 105;
    table.refused = {{"full", 106}};
    table.created = {5000, 2000, 3000};
    table.exported = {201, 202, 203};
    table.lost = {{"ring_full", {301, 302, 303}}};
    table.ended = {0, 401, 402, 403, 404, 405};
    ledger.collectors = {{.name = "c",
                          .counts = {},
                          .lost_by_cause = {},
                          .tables = {{"nets", {{"records", 501}, {"lost", 502}}}}}};
    const std::string text = to_prometheus(ledger, figures_of(load));
    for (const auto& [name, more, value] : std::vector<std::tuple<const char*, const char*, int>>{
             {"metered_packets_total", "", 101},
             {"filtered_packets_total", "", 102},
             {"filter_not_ready_packets_total", "", 103},
             {"without_field_packets_total", "", 104},
             {"matched_packets_total", "", 105},
             {"refused_packets_total", ",cause=\"full\"", 106},
             {"created_flow_records_total", "", 5000},
             {"packets_total", "", 2000},
             {"bytes_total", "", 3000},
             {"exported_flow_records_total", "", 201},
             {"exported_packets_total", "", 202},
             {"exported_bytes_total", "", 203},
             {"lost_flow_records_total", ",cause=\"ring_full\"", 301},
             {"lost_packets_total", ",cause=\"ring_full\"", 302},
             {"lost_bytes_total", ",cause=\"ring_full\"", 303},
             {"active_flow_records", "", 5000 - 201 - 301},
             {"active_packets", "", 2000 - 202 - 302},
             {"active_bytes", "", 3000 - 203 - 303},
             {"cached_flow_records", "", 5000 - 401 - 402 - 403 - 404 - 405},
             {"ended_flow_records_total", ",reason=\"active\"", 402}}) {
        CHECK_THAT(text, Contains("tributary_table_" + std::string(name) + "{table=\"nets\"" +
                                  more + "} " + std::to_string(value) + "\n"));
    }
    CHECK_THAT(text, Contains("tributary_collector_table_flow_records_total{collector=\"c\",table="
                              "\"nets\"} 501\n"));
    CHECK_THAT(text, Contains("tributary_collector_table_lost_flow_records_total{collector=\"c\","
                              "table=\"nets\"} 502\n"));
    CHECK_THAT(text, Contains("tributary_metered_packets_total{input=\"a\",queue=\"0\"} 0\n"));
}
