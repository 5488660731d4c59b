// SPDX-License-Identifier: Apache-2.0
#include "daemon/top_screen.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "daemon/ledger.hpp"

using namespace tributary;

namespace {

Ledger ledger_of(std::uint64_t packets, std::uint64_t lost_by_nic) {
    Ledger ledger;
    QueueLedger& queue = ledger.queues.emplace_back();
    queue.name = "up/0";
    queue.received = packets;
    queue.metered = {packets / 10, packets, 1000 * packets};
    queue.ended.at(1) = packets / 20;
    queue.exported = {packets / 20, packets / 2, 500 * packets};
    queue.lost["ring_full"] = {lost_by_nic, lost_by_nic, lost_by_nic};
    ledger.ports.push_back({.name = "up", .missed = lost_by_nic});
    ledger.collectors.push_back({.name = "tcp 192.0.2.1:4739",
                                 .counts = {{"connected", 1},
                                            {"errors", 3},
                                            {"failed", 0},
                                            {"lost", 5},
                                            {"records", packets / 20}},
                                 .lost_by_cause = {}});
    return ledger;
}

TopLook look(std::uint64_t packets, std::uint64_t lost, std::uint64_t busy, double at) {
    return {
        .stats = nlohmann::json::parse(to_json(ledger_of(packets, lost))),
        .figures = nlohmann::json::parse(
            R"({"max_flows": 1000000, "rings": [{"records": 50, "room": 100}], "inputs": [)"
            R"({"name": "up", "link": "up"}, {"name": "tap", "link": "gone"}], "threads": [)"
            R"({"name": "in-0", "busy_cycles": )" +
            std::to_string(busy) +
            R"(, "idle_cycles": 1000}, {"name": "export", "busy_cycles": 0, "idle_cycles": 5}]})"),
        .at = at};
}

}  // namespace

TEST_CASE("top: rates are differences by time", "[daemon][unit]") {
    const std::string screen = top_screen(look(0, 0, 0, 10.0), look(20'000'000, 0, 500, 12.0));
    CHECK_THAT(screen,
               Catch::StartsWith("10.0 M packets/s  80.0 G bit/s  1.00 M new flows/s  500 k "
                                 "records/s  1.00 M active flows\n"));
    CHECK_THAT(screen, Catch::Contains("LOST NOW  nothing"));
    CHECK_THAT(screen, Catch::Contains("tcp 192.0.2.1:4739"));
    CHECK_THAT(screen, Catch::Contains("up              500 k             5        3\n"));
    CHECK_THAT(screen, Catch::Contains("100.0 %   50.0 %  100.0 %\n"));
}

TEST_CASE("top: the cache has what runs, not what waits for a collector", "[daemon][unit]") {
    TopLook now = look(85'200'000, 0, 500, 12.0);  // 8.52 M flows, half of them exported
    now.stats["queues"][0]["flows"]["ended_by_reason"] = {{"idle", 8'000'000}, {"active", 270'000}};
    CHECK_THAT(top_screen(look(0, 0, 0, 10.0), now),
               Catch::Contains("      250 k   25.0 %   50.0 %"));
}

TEST_CASE("top: a collector that is away is tried in so many seconds", "[daemon][unit]") {
    TopLook now = look(20'000'000, 0, 500, 12.0);
    now.stats["collectors"][0]["connected"] = 0;
    now.stats["collectors"][0]["next_try_in"] = 7;
    CHECK_THAT(top_screen(look(0, 0, 0, 10.0), now),
               Catch::Contains("away            500 k             5        3  next try in 7 s\n"));
}

TEST_CASE("top: what is lost now has its cause, and what was lost its sum", "[daemon][unit]") {
    const std::string screen = top_screen(look(100, 40, 0, 0), look(200, 60, 0, 2));
    CHECK_THAT(screen, Catch::Contains("LOST NOW  nic_missed 10 packets/s  ring_full 10 records/s\n"
                                       "LOST SINCE START  60 packets by the NIC, 60 records\n"));
}

TEST_CASE("top: an input has its link, and what its NIC missed", "[daemon][unit]") {
    const std::string screen = top_screen(look(100, 40, 0, 0), look(200, 60, 0, 2));
    const std::string lines =
        "INPUT                   LINK        MISSED/S        MISSED     NO BUFFER     ERRORS\n"
        "up                      up                10            60             0          0\n";
    CHECK_THAT(screen, Catch::Contains(lines));
}

TEST_CASE("top: what is unknown is called so, and what is known of it stays", "[daemon][unit]") {
    TopLook before = look(100, 40, 0, 0);
    TopLook now = look(200, 60, 0, 2);
    for (nlohmann::json* stats : {&before.stats, &now.stats}) {
        (*stats)["packets"]["nic_missed"] = nullptr;
        (*stats)["ports"].push_back((*stats)["ports"][0]);
        (*stats)["ports"][1]["name"] = "tap";
        (*stats)["ports"][1]["nic_missed"] = nullptr;
    }
    const std::string screen = top_screen(before, now);
    CHECK_THAT(screen,
               Catch::Contains("LOST NOW  nic_missed unknown  ring_full 10 records/s\n"
                               "LOST SINCE START  unknown + 60 packets by the NIC, 60 records\n"));
    const std::string lines =
        "up                      up                10            60             0          0\n"
        "tap                     gone         unknown       unknown             0          0\n";
    CHECK_THAT(screen, Catch::Contains(lines));
}

TEST_CASE("top: what is known of the sum stands beside unknown", "[daemon][unit]") {
    TopLook now = look(200, 0, 0, 2);
    now.stats["packets"]["nic_missed"] = nullptr;
    now.stats["ports"][0]["nic_missed"] = nullptr;
    const auto screen = [&now] { return top_screen(look(100, 0, 0, 0), now); };
    CHECK_THAT(screen(), Catch::Contains("START  unknown packets by the NIC, 0 records\n"));
    now.stats["ports"][0]["nic_no_buffer"] = 7000;
    now.stats["ports"][0]["nic_errors"] = 8;
    CHECK_THAT(screen(), Catch::Contains("START  unknown + 7008 packets by the NIC, 0 records\n"));
}

TEST_CASE("top: numbers have three digits or so", "[daemon][unit]") {
    CHECK(scaled(0) == "0");
    CHECK(scaled(7) == "7");
    CHECK(scaled(999) == "999");
    CHECK(scaled(999.7) == "1.00 k");
    CHECK(scaled(1234) == "1.23 k");
    CHECK(scaled(12'345) == "12.3 k");
    CHECK(scaled(99'960) == "100 k");
    CHECK(scaled(999'999) == "1.00 M");
    CHECK(scaled(1.5e12) == "1.50 T");
}
