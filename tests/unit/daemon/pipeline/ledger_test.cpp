// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/ledger.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace tributary;

namespace {

/// Ten packets received: six metered in three records, one of them exported, one lost, one still
/// active.
QueueLedger some_queue() {
    QueueLedger queue;
    queue.name = "uplink/0";
    queue.received = 10;
    queue.filtered = 1;
    queue.bad_timestamp = 2;
    queue.frames_cut = 9;
    queue.length_unknown = 10;
    queue.kept = 5;
    queue.kept_held = 2;
    queue.keep_refused = 6;
    queue.cut_headers = {{"transport_header", 1}};
    queue.fragments = {{"first", 1}, {"later", 2}};
    queue.tcp_unanalysed = {{"unread", 1}, {"unjudged", 3}};
    queue.nic_queue_errors = 3;
    queue.unified_headers_missing = 7;
    queue.unified_headers_untracked = 8;
    queue.ignored = {{"arp", 2}, {"llc", 1}};
    queue.ignored_octets = 150;
    queue.metered = {3, 6, 600};
    queue.exported = {1, 3, 300};
    queue.lost = {{"ring_full", {1, 2, 200}}, {"send_refused", {}}};
    queue.ended[static_cast<std::size_t>(FlowEndReason::idle_timeout)] = 2;
    return queue;
}

/// 20 packets metered, of which ten matched and are in five records: two exported, one lost, one in
/// a spool, one still active.
TableLedger some_table(const std::string& name) {
    TableLedger table;
    table.name = name;
    table.metered = 20;
    table.filtered = 5;
    table.filter_not_ready = 3;
    table.without_field = 2;
    table.matched = 10;
    table.created = {5, 10, 1000};
    table.exported = {2, 4, 400};
    table.spooled = {1, 2, 200};
    table.lost = {{"no_collector", {1, 3, 300}}, {"ring_full", {}}};
    table.ended[static_cast<std::size_t>(FlowEndReason::idle_timeout)] = 3;
    table.ended[static_cast<std::size_t>(FlowEndReason::forced_end)] = 1;
    return table;
}

}  // namespace

TEST_CASE("ledger: its line names TCP segments that were not analysed", "[daemon][unit]") {
    Ledger ledger;
    ledger.queues = {some_queue(), some_queue()};
    CHECK(to_line(ledger).ends_with(" 2 active; TCP segments: 6 unjudged, 2 unread"));
    for (QueueLedger& queue : ledger.queues) {
        queue.tcp_unanalysed = {{"unread", 1}, {"unjudged", 0}};
    }
    CHECK(to_line(ledger).ends_with(" 2 active; TCP segments: 2 unread"));
    for (QueueLedger& queue : ledger.queues) {
        queue.tcp_unanalysed = {{"unread", 0}, {"unjudged", 0}};
    }
    CHECK(to_line(ledger).ends_with(" 2 active"));
}

TEST_CASE("ledger: its line tells what is in the spool from what is active", "[daemon][unit]") {
    Ledger ledger;
    ledger.queues = {some_queue()};
    ledger.queues[0].tcp_unanalysed = {};
    CHECK(to_line(ledger).ends_with("1 lost, 1 active"));
    ledger.queues[0].spooled = ledger.queues[0].active();
    CHECK(to_line(ledger).ends_with("1 exported, 1 lost, 1 in the spool, 0 active"));
}

TEST_CASE("ledger: JSON has the fields of the design, per queue and in total", "[daemon][unit]") {
    const Ledger ledger{.captures_cut = 0,
                        .queues = {some_queue(), some_queue()},
                        .ports = {{.name = "uplink", .missed = 7, .no_buffer = 8, .errors = 9}},
                        .collectors = {{.name = "udp 192.0.2.1:4739",
                                        .counts = {{"records", 2}},
                                        .lost_by_cause = {{"write_failed", 1}}}}};
    const auto json = nlohmann::json::parse(to_json(ledger));
    const auto expected_packets = nlohmann::json::parse(R"({
        "received": 20, "metered": 12, "ignored": 6, "filtered": 2,
        "ignored_by_reason": {"arp": 4, "llc": 2}, "exported": 6, "lost": 4, "active": 2, "spooled": 0,
        "nic_missed": 7, "nic_no_buffer": 8, "nic_errors": 9, "nic_queue_errors": 6, "bad_timestamp": 4,
        "frames_cut": 18, "length_unknown": 20, "kept": 10, "kept_held": 4, "keep_refused": 12,
        "cut_headers": {"transport_header": 2},
        "fragments": {"first": 2, "later": 4},
        "tcp_unanalysed": {"unread": 2, "unjudged": 6},
        "unified_headers_missing": 14, "unified_headers_untracked": 16})");
    CHECK(json["packets"] == expected_packets);
    CHECK(
        json["octets"] ==
        nlohmann::json::parse(
            R"({"metered": 1200, "ignored": 300, "exported": 600, "lost": 400, "active": 200, "spooled": 0})"));
    CHECK(json["flows"] == nlohmann::json::parse(R"({
        "created": 6, "exported": 2, "lost": 2, "lost_by_cause": {"ring_full": 2, "send_refused": 0},
        "active": 2, "spooled": 0, "ended_by_reason": {"idle": 4, "active": 0, "end": 0, "forced": 0,
        "lack_of_resources": 0}})"));
    CHECK(json["collectors"][0] == nlohmann::json{{"name", "udp 192.0.2.1:4739"},
                                                  {"records", 2},
                                                  {"lost_by_cause", {{"write_failed", 1}}}});
    CHECK(json["queues"].size() == 2);
    CHECK(json["queues"][1]["name"] == "uplink/0");
    CHECK(json["queues"][1]["packets"]["metered"] == 6);
}

TEST_CASE("ledger: the numbers that a collector will never get", "[daemon][unit]") {
    Ledger ledger;
    ledger.collectors.resize(2);
    ledger.collectors[1].numbers = LostNumbers::Reading{
        .next = {.stream = 0xAB, .sequence = 9},
        .ranges = {{.stream = 0xAB, .first = 3, .last = 5, .cause = "unconfirmed"}},
        .unlisted = 2};
    const auto json = nlohmann::json::parse(to_json(ledger));
    CHECK_FALSE(json["collectors"][0].contains("numbers"));
    CHECK(json["collectors"][1]["numbers"] == nlohmann::json::parse(R"({
        "stream": "00000000000000ab", "next": 9, "unlisted": 2,
        "lost": [{"stream": "00000000000000ab", "first": 3, "last": 5, "cause": "unconfirmed"}]})"));
}

TEST_CASE("ledger: a sum of which a part is unknown is unknown", "[daemon][unit]") {
    Ledger ledger;
    ledger.queues = {some_queue(), some_queue()};
    ledger.queues[1].nic_queue_errors.reset();
    ledger.ports = {{.name = "up", .missed = 7, .no_buffer = 8},
                    {.name = "tap", .missed = std::nullopt, .no_buffer = 1}};
    const auto json = nlohmann::json::parse(to_json(ledger));
    CHECK(json["packets"]["nic_missed"].is_null());
    CHECK(json["packets"]["nic_queue_errors"].is_null());
    CHECK(json["packets"]["nic_no_buffer"] == 9);
    CHECK(json["ports"][0]["nic_missed"] == 7);
    CHECK(json["ports"][1]["nic_missed"].is_null());
    CHECK(json["queues"][0]["packets"]["nic_queue_errors"] == 3);
    CHECK(json["queues"][1]["packets"]["nic_queue_errors"].is_null());
    CHECK_THAT(to_line(ledger), Catch::Contains(" unknown NIC missed, 9 no buffer,"));
    CHECK_FALSE(metering_totals(ledger).dropped_packets.has_value());
    ledger.ports.pop_back();
    CHECK(metering_totals(ledger).dropped_packets == 15);
}

TEST_CASE("ledger: imbalance names packets and records that went astray", "[daemon][unit]") {
    QueueLedger queue = some_queue();
    queue.exported += {1, 1, 100};  // now nothing is active
    CHECK(imbalance({.captures_cut = 0, .queues = {queue}, .ports = {}, .collectors = {}}).empty());

    QueueLedger vanished = queue;
    vanished.received += 1;
    CHECK(imbalance({.captures_cut = 0, .queues = {vanished}, .ports = {}, .collectors = {}}) ==
          "received 11 packets but metered, ignored and filtered 10");

    CHECK(imbalance({.captures_cut = 0, .queues = {some_queue()}, .ports = {}, .collectors = {}}) ==
          "1 records with 1 packets and 100 octets were created but neither exported, lost "
          "nor spooled");
    QueueLedger kept = some_queue();
    kept.spooled = {1, 1, 100};
    CHECK(imbalance({.captures_cut = 0, .queues = {kept}, .ports = {}, .collectors = {}}).empty());
}

TEST_CASE("ledger: the spool of mode failover has an account that adds up", "[daemon][unit]") {
    Ledger ledger;
    CHECK_FALSE(nlohmann::json::parse(to_json(ledger)).contains("spool"));
    ledger.spool = GroupSpoolLedger{.inherited = 100,
                                    .stored = 20,
                                    .handed_over = 30,
                                    .lost_by_cause = {{"spool_damaged", 6}, {"spool_full", 4}},
                                    .spooled = 70,
                                    .max_octets = 7000};
    const nlohmann::json spool = nlohmann::json::parse(to_json(ledger)).at("spool");
    CHECK(spool.at("lost") == 10);
    CHECK(spool.at("waiting") == 10);
    CHECK(spool.at("lost_by_cause").at("spool_damaged") == 6);
    CHECK(spool.at("max_octets") == 7000);
    CHECK(imbalance(ledger) ==
          "10 records of the group's spool were neither handed over, lost nor spooled");
    ledger.spool->spooled = 80;
    CHECK(imbalance(ledger).empty());
}

TEST_CASE("ledger: what a worker counts arrives under its names", "[daemon][unit]") {
    CacheCounters cache;
    cache.packets.add(3);
    cache.octets.add(300);
    cache.flows_created.add(1);
    cache.lost_ring_full.add({1, 3, 300});
    InputCounters counters;
    counters.received.add(5);
    counters.ignored[static_cast<std::size_t>(ParseStatus::bad_ipv6_version)].add(2);
    counters.cut_headers[static_cast<std::size_t>(CutHeader::ipv4_options)].add(1);
    counters.fragments.first.add(1);
    counters.fragments.later.add(2);
    counters.fragments.without_first.add(3);
    counters.fragments.forgotten.add(4);
    QueueLedger queue;
    read_cache(cache, queue);
    read_input(counters, queue);
    CHECK(queue.received == 5);
    CHECK(queue.ignored.at("bad_ipv6_version") == 2);
    CHECK(queue.fragments ==
          NamedCounts{{"first", 1}, {"later", 2}, {"without_first", 3}, {"forgotten", 4}});
    CHECK(queue.ignored.size() == kParseStatusCount);  // all but `ok`, and `filter_not_ready`
    CHECK(queue.cut_headers.at("ipv4_options") == 1);
    CHECK(queue.cut_headers.size() == kCutHeaderCount - 1);
    CHECK(queue.metered == RecordTally{1, 3, 300});
    CHECK(queue.lost.at("ring_full") == RecordTally{1, 3, 300});
    CHECK(imbalance({.captures_cut = 0, .queues = {queue}, .ports = {}, .collectors = {}}).empty());
}

TEST_CASE("ledger: JSON has an account of each further table, and none where there is none",
          "[daemon][unit]") {
    Ledger ledger;
    ledger.queues = {some_queue()};
    ledger.collectors = {{.name = "udp h:1", .counts = {{"records", 5}}, .lost_by_cause = {}}};
    const std::string without = to_json(ledger);
    CHECK_FALSE(nlohmann::json::parse(without).contains("tables"));
    CHECK(without.find("tables") == std::string::npos);

    ledger.tables = {some_table("nets"), some_table("ports")};
    ledger.tables[1].matched = 7;
    ledger.tables[1].refused = {{"full", 4}, {"late", 1}};
    ledger.collectors[0].tables = {{"main", {{"lost", 0}, {"records", 3}, {"spooled", 0}}},
                                   {"nets", {{"lost", 1}, {"records", 2}, {"spooled", 4}}}};
    const auto json = nlohmann::ordered_json::parse(to_json(ledger));
    CHECK(json["tables"].size() == 2);
    CHECK(json["tables"]["nets"].dump() == nlohmann::ordered_json::parse(R"({
        "packets": {"metered": 20, "filtered": 5, "filter_not_ready": 3, "without_field": 2,
                    "matched": 10, "refused": 0, "refused_by_cause": {}, "in_records": 10,
                    "exported": 4, "lost": 3, "active": 3, "spooled": 2},
        "octets": {"in_records": 1000, "exported": 400, "lost": 300, "active": 300,
                   "spooled": 200},
        "flows": {"created": 5, "exported": 2, "lost": 1,
                  "lost_by_cause": {"no_collector": 1, "ring_full": 0}, "active": 2, "spooled": 1,
                  "ended_by_reason": {"active": 0, "end": 0, "forced": 1, "idle": 3,
                                      "lack_of_resources": 0}}})")
                                               .dump());
    CHECK(json["tables"]["ports"]["packets"]["refused"] == 5);
    CHECK(json["tables"]["ports"]["packets"]["refused_by_cause"]["full"] == 4);
    CHECK(json["collectors"][0]["tables"] == nlohmann::ordered_json::parse(R"({
        "main": {"lost": 0, "records": 3, "spooled": 0},
        "nets": {"lost": 1, "records": 2, "spooled": 4}})"));
    // The main ledger is that of the main table alone.
    CHECK(json["flows"]["created"] == 3);
    CHECK(json["packets"]["metered"] == 6);
}

TEST_CASE("ledger: imbalance names the table whose sums do not add up", "[daemon][unit]") {
    Ledger ledger;
    ledger.queues = {some_queue()};
    ledger.queues[0].exported += {1, 1, 100};
    ledger.tables = {some_table("nets"), some_table("ports")};
    CHECK(imbalance(ledger) ==
          "table nets: 1 records with 1 packets and 100 octets were created but neither exported, "
          "lost nor spooled");
    for (TableLedger& table : ledger.tables) {
        table.exported += {1, 1, 100};
    }
    CHECK(imbalance(ledger).empty());
    ledger.tables[1].filtered += 1;
    CHECK(imbalance(ledger) == "table ports: metered 20 packets but matched and left out 21");
    ledger.tables[1].filtered -= 1;
    ledger.tables[1].refused = {{"full", 2}};
    CHECK(imbalance(ledger) == "table ports: matched 10 packets but accounted and refused 12");
    ledger.tables[1].refused = {};
    ledger.tables[1].lost["ring_full"] = {1, 0, 0};
    CHECK(imbalance(ledger) ==
          "table ports: -1 records with 0 packets and 0 octets were created but neither exported, "
          "lost nor spooled");
}

TEST_CASE("ledger: the caches of a table are added up, and collectors are told of their losses",
          "[daemon][unit]") {
    CacheCounters cache;
    cache.packets.add(3);
    cache.octets.add(300);
    cache.flows_created.add(2);
    cache.ended[static_cast<std::size_t>(FlowEndReason::end_of_flow)].add(1);
    cache.lost_ring_full.add({1, 2, 200});
    Ledger ledger;
    ledger.queues = {some_queue()};
    CHECK(ledger.table("first").created == RecordTally{});
    read_cache(cache, ledger.table("second"));
    read_cache(cache, ledger.table("second"));
    REQUIRE(ledger.tables.size() == 2);
    const TableLedger& table = ledger.tables[1];
    CHECK(table.created == RecordTally{4, 6, 600});
    CHECK(table.lost.at("ring_full") == RecordTally{2, 4, 400});
    CHECK(table.ended_by_reason().at("end") == 2);
    CHECK(table.in_cache() == 2);
    CHECK(table.active() == RecordTally{2, 2, 200});
    const PreExportLosses losses = metering_totals(ledger);
    CHECK(losses.lost == RecordTally{1, 2, 200});
    CHECK(losses.lost_of("main") == losses.lost);
    CHECK(losses.lost_of("first") == RecordTally{});
    CHECK(losses.lost_of("second") == RecordTally{2, 4, 400});
    CHECK(losses.lost_of("third") == RecordTally{});
}

TEST_CASE("TableLedger: the accounts of tables of one name are added up", "[daemon][unit]") {
    TableLedger sum = some_table("nets");
    sum += some_table("ports");
    const TableLedger one = some_table("nets");
    CHECK(sum.name == one.name);
    CHECK(sum.metered == 2 * one.metered);
    CHECK(sum.matched == 2 * one.matched);
    CHECK(sum.created.octets == 2 * one.created.octets);
    CHECK(sum.lost_sum().packets == 2 * one.lost_sum().packets);
    CHECK(sum.in_cache() == 2 * one.in_cache());
    CHECK(sum.refused_sum() == 2 * one.refused_sum());
}
