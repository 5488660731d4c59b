// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/top_screen.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/pipeline/ledger.hpp"

using namespace tributary;
using nlohmann::json;

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
    queue.clock = ClockLedger{};
    ledger.ports.push_back({.name = "up", .missed = lost_by_nic});
    ledger.collectors.push_back({.name = "tcp 192.0.2.1:4739",
                                 .counts = {{"connected", 1},
                                            {"errors", 3},
                                            {"failed", 0},
                                            {"lost", 5},
                                            {"octets", packets},
                                            {"records", packets / 20},
                                            {"spool_octets", 0},
                                            {"waiting_octets", 0}},
                                 .lost_by_cause = {{"spool_full", 0}}});
    return ledger;
}

TopLook look(std::uint64_t packets, std::uint64_t lost, std::uint64_t busy, double at) {
    return {
        .stats = json::parse(to_json(ledger_of(packets, lost))),
        .figures = json::parse(
            R"({"max_flows": 1000000, "version": "1.2.3", "started": 1000, "now": 94461,)"
            R"("rings": [{"records": 50, "room": 100}], "inputs": [)"
            R"({"name": "up", "link": "up"}, {"name": "tap", "link": "gone"}], "collectors": [)"
            R"({"name": "tcp 192.0.2.1:4739", "spool_max_octets": 0}], "threads": [)"
            R"({"name": "in-0", "busy_cycles": )" +
            std::to_string(busy) +
            R"(, "idle_cycles": 1000}, {"name": "export", "busy_cycles": 0, "idle_cycles": 5}]})"),
        .at = at};
}

std::string text_of(const ScreenLines& lines) {
    std::string text;
    for (const ScreenLine& line : lines) {
        text += line.text + "\n";
    }
    return text;
}

ScreenLines screen_of(const TopLook& before, const TopLook& now, ScreenSize size = {}) {
    TopPicture picture;
    picture.before = &before;
    picture.now = &now;
    return top_screen(picture, size);
}

std::string page_of(const TopLook& before, const TopLook& now) {
    return text_of(screen_of(before, now));
}

/// The ledger of a recorder of one queue, with frames kept for so many seconds at 1,000 per second,
/// a tenth of them cut.
RecorderLedger recorder_of(std::uint64_t seconds) {
    RecorderLedger recorder;
    recorder.queues.push_back(
        {.name = "up/0",
         .seen = 1250 * seconds,
         .kept_whole = 900 * seconds,
         .kept_cut = 100 * seconds,
         .left_out = {{"filter_not_ready", 0}, {"filtered", 250 * seconds}, {"input", 0}},
         .kept_octets = 800'000 * seconds,
         .overwritten = 0,
         .held = 1000 * seconds,
         .reach = seconds});
    return recorder;
}

/// A look at a probe with a recorder.
TopLook recorder_look(const RecorderLedger& recorder, double at) {
    TopLook made = look(100, 0, 0, at);
    Ledger ledger = ledger_of(100, 0);
    ledger.recorder = recorder;
    made.stats = json::parse(to_json(ledger));
    return made;
}

LineStyle style_of(const ScreenLines& lines, std::string_view begin) {
    const auto line = std::ranges::find_if(
        lines, [begin](const ScreenLine& each) { return each.text.starts_with(begin); });
    REQUIRE(line != lines.end());
    return line->style;
}

/// Looks with spools of so many octets, of 1000 at most, two seconds apart.
std::string spool_line(const std::vector<int>& octets, int lost = 0) {
    SpoolTrend trend;
    TopLook before;
    TopLook now;
    for (std::size_t i = 0; i < octets.size(); ++i) {
        before = std::move(now);
        now = look(100, 0, 0, 2.0 * static_cast<double>(i));
        now.stats["collectors"][0]["spool_octets"] = octets[i];
        now.figures["collectors"][0]["spool_max_octets"] = 1000;
        trend.note(now);
    }
    now.stats["collectors"][0]["lost_by_cause"]["spool_full"] = lost;
    TopPicture picture;
    picture.before = octets.size() > 1 ? &before : nullptr;
    picture.now = &now;
    picture.spools = &trend;
    const std::string text = text_of(top_screen(picture, {}));
    const std::size_t at = text.find("  spool: ");
    return at == std::string::npos ? "" : text.substr(at + 2, text.find('\n', at) - at - 2);
}

}  // namespace

TEST_CASE("top: rates are differences by time", "[daemon][unit]") {
    const std::string screen = page_of(look(0, 0, 0, 10.0), look(20'000'000, 0, 500, 12.0));
    CHECK_THAT(screen, Catch::Contains("\n10.0 M packets/s  80.0 G bit/s  1.00 M flows/s  500 k "
                                       "records/s  1.00 M active\n"));
    CHECK_THAT(screen, Catch::Contains("LOST NOW  nothing"));
    CHECK_THAT(screen, Catch::Contains("tcp 192.0.2.1:4739"));
    CHECK_THAT(screen, Catch::Contains("up             500 k          5        3       -\n"));
    CHECK_THAT(screen, Catch::Contains("  100.0 %   50.0 %  100.0 %\n"));
}

TEST_CASE("top: version, uptime, clock and time are in the first line", "[daemon][unit]") {
    TopLook now = look(200, 0, 0, 2);
    const auto screen = [&now] { return screen_of(look(100, 0, 0, 0), now); };
    CHECK(screen()[0].text ==
          "tributary 1.2.3  up 1 d 1 h  clock ok                    1970-01-02 02:14:21 UTC");
    now.stats["queues"][0]["clock"]["times_set_back"] = 2;
    CHECK(screen()[1].text ==
          "CLOCK  the host's clock was set back 2 times so far that packet time went back");
    now.stats["queues"][0]["clock"]["lead_seconds"] = 3.25;
    CHECK_THAT(screen()[0].text, Catch::Contains("clock set back"));
    CHECK_THAT(screen()[1].text,
               Catch::StartsWith("CLOCK  the host's clock was set back: 3.250 s"));
    CHECK(screen()[1].style == LineStyle::alarm);
    now.stats["queues"][0].erase("clock");
    now.figures.erase("now");  // as from a tributaryd of a former version
    CHECK(screen()[0].text == "tributary 1.2.3  up unknown  clock unknown");
}

TEST_CASE("top: without a look before there are no rates, and all else", "[daemon][unit]") {
    const TopLook now = look(20'000'000, 7, 500, 12.0);
    TopPicture picture;
    picture.now = &now;
    const std::string screen = text_of(top_screen(picture, {}));
    CHECK_THAT(screen, Catch::Contains("\n- packets/s  - bit/s  - flows/s  - records/s  "));
    CHECK_THAT(screen, Catch::Contains("LOST NOW  -\nLOST SINCE START  7 packets by the NIC, 7 "));
    CHECK_THAT(screen, Catch::Contains("  100.0 %   50.0 %        -\n"));
}

TEST_CASE("top: the cache has what runs, not what waits for a collector", "[daemon][unit]") {
    TopLook now = look(85'200'000, 0, 500, 12.0);  // 8.52 M flows, half of them exported
    now.stats["queues"][0]["flows"]["ended_by_reason"] = {{"idle", 8'000'000}, {"active", 270'000}};
    CHECK_THAT(page_of(look(0, 0, 0, 10.0), now), Catch::Contains("     250 k   25.0 %   50.0 %"));
}

TEST_CASE("top: a collector that is away is tried in so many seconds", "[daemon][unit]") {
    TopLook now = look(20'000'000, 0, 500, 12.0);
    now.stats["collectors"][0]["connected"] = 0;
    now.stats["collectors"][0]["next_try_in"] = 7;
    const ScreenLines screen = screen_of(look(0, 0, 0, 10.0), now);
    CHECK_THAT(text_of(screen), Catch::Contains("away           500 k          5        3       -\n"
                                                "  next try in 7 s\n"));
    CHECK(style_of(screen, "tcp 192") == LineStyle::alarm);
}

TEST_CASE("top: a collector is on standby while another one has the records", "[daemon][unit]") {
    TopLook now = look(20'000'000, 0, 500, 12.0);
    now.stats["collectors"][0]["standby"] = 1;
    CHECK_THAT(text_of(screen_of(look(0, 0, 0, 10.0), now)),
               Catch::Contains("standby        500 k"));
    now.stats["collectors"][0]["connected"] = 0;
    CHECK_THAT(text_of(screen_of(look(0, 0, 0, 10.0), now)),
               Catch::Contains("away           500 k"));
}

TEST_CASE("top: a spool has its fill, and the time until it is full or empty", "[daemon][unit]") {
    CHECK(spool_line({0}).empty());
    CHECK(spool_line({400}) == "spool: 400 of 1.00 k octets");
    CHECK(spool_line({400, 400}) == "spool: 400 of 1.00 k octets, steady");
    CHECK(spool_line({0, 200}) == "spool: 200 of 1.00 k octets, full in 8 s");
    CHECK(spool_line({900, 840}) == "spool: 840 of 1.00 k octets, empty in 28 s");
    CHECK(spool_line({500, 501, 502}) == "spool: 502 of 1.00 k octets, full in 16 min");
    CHECK(spool_line({990, 990}, 3) ==
          "spool: 990 of 1.00 k octets, full: the oldest records are lost");
}

TEST_CASE("top: the spool of mode failover has a line of its own", "[daemon][unit]") {
    SpoolTrend trend;
    std::array<TopLook, 2> looks{look(100, 0, 0, 0.0), look(100, 0, 0, 2.0)};
    for (std::size_t i = 0; i < looks.size(); ++i) {
        looks[i].stats["spool"] = {{"octets", 200 * i},
                                   {"max_octets", 1000},
                                   {"waiting", 25024},
                                   {"lost_by_cause", {{"spool_full", 0}}}};
        trend.note(looks[i]);
    }
    TopPicture picture;
    picture.before = looks.data();
    picture.now = &looks[1];
    picture.spools = &trend;
    CHECK_THAT(text_of(top_screen(picture, {})),
               Catch::Contains("\nfailover  25.0 k records wait; spool: 200 of 1.00 k octets, full "
                               "in 8 s\n"));
    looks[1].stats["spool"]["octets"] = 0;
    looks[1].stats["spool"]["waiting"] = 0;
    CHECK_THAT(text_of(top_screen(picture, {})),
               Catch::Contains("\nfailover  0 records wait; spool: empty\n"));
}

TEST_CASE("top: a spool's trend is that of the last minute", "[daemon][unit]") {
    std::vector<int> octets(100, 0);  // grew until 40 s ago
    for (std::size_t i = 0; i < octets.size(); ++i) {
        octets[i] = static_cast<int>(std::min<std::size_t>(i, 80));
    }
    // 60 s: 30 looks; the first 11 differ
    CHECK(spool_line(octets) == "spool: 80 of 1.00 k octets, full in 1 h 23 min");
}

TEST_CASE("top: helper threads by their cores, with their share of a CPU", "[daemon][unit]") {
    TopLook before = look(100, 0, 0, 10);
    TopLook now = look(100, 0, 0, 12);
    const auto helper = [](int id, const char* name, const char* cpus, json node, json seconds,
                           json hangs) {
        return json{{"id", id},
                    {"name", name},
                    {"role", "helper"},
                    {"cpus", cpus},
                    {"node", std::move(node)},
                    {"cpu_seconds", std::move(seconds)},
                    {"hangs", std::move(hangs)}};
    };
    CHECK_THAT(page_of(before, now), !Catch::Contains("HELPERS"));  // a former tributaryd
    before.figures["helpers"] = {helper(7, "main", "3", 0, 1.0, nullptr),
                                 helper(8, "files", "3", 0, 1.0, false),
                                 helper(9, "command", "3", 0, 50.0, nullptr)};
    now.figures["helpers"] = {helper(7, "main", "3", 0, 1.5, nullptr),
                              helper(8, "files", "3", 0, 1.0, false),
                              helper(9, "lookup", "3", 0, 0.5, nullptr),  // the number again
                              helper(10, "rdk:main", "0-3", nullptr, nullptr, nullptr),
                              helper(11, "odd", "", nullptr, 2.0, nullptr)};
    const std::string screen = page_of(before, now);
    CHECK_THAT(screen,
               Catch::Contains("HELPERS ON CORE 0-3  rdk:main -\n"
                               "HELPERS ON CORE 3, NODE 0  main 25.0 %  files 0.0 %  lookup "
                               "-\n"
                               "HELPERS ON UNKNOWN CORES  odd -\n"));
    CHECK(style_of(screen_of(before, now), "HELPERS ON CORE 3") == LineStyle::plain);
    now.figures["helpers"][1]["hangs"] = true;
    CHECK_THAT(page_of(before, now), Catch::Contains("main 25.0 %  files hangs  lookup -"));
    CHECK(style_of(screen_of(before, now), "HELPERS ON CORE 3") == LineStyle::alarm);
}

TEST_CASE("top: the memory of each part, over all nodes", "[daemon][unit]") {
    const TopLook before = look(100, 0, 0, 10);
    TopLook now = look(100, 0, 0, 12);
    const auto part = [](const char* name, json node, std::uint64_t octets, json used) {
        return json{{"part", name},
                    {"node", std::move(node)},
                    {"octets", octets},
                    {"used", std::move(used)}};
    };
    now.figures["memory"] = {part("packet buffers", 0, 200'000'000, 10'000'000),
                             part("packet buffers", 1, 100'000'000, 5'000'000),
                             part("DPDK", nullptr, 64'000'000, nullptr)};
    CHECK_THAT(page_of(before, now),
               Catch::Contains("MEMORY  packet buffers 15.0 M of 300 M  DPDK 64.0 M\n"));
}

TEST_CASE("top: what is lost now has its cause, and what was lost its sum", "[daemon][unit]") {
    const ScreenLines screen = screen_of(look(100, 40, 0, 0), look(200, 60, 0, 2));
    CHECK_THAT(text_of(screen),
               Catch::Contains("LOST NOW  nic_missed 10 packets/s  ring_full 10 records/s\n"
                               "LOST SINCE START  60 packets by the NIC, 60 records\n"));
    CHECK(style_of(screen, "LOST NOW") == LineStyle::alarm);
}

TEST_CASE("top: many losses take more lines", "[daemon][unit]") {
    const TopLook before = look(100, 40, 0, 0);
    TopLook now = look(200, 60, 0, 2);
    for (const char* const cause : {"buffer_full", "collector_away", "spool_damaged"}) {
        now.stats["flows"]["lost_by_cause"][cause] = 2000;
    }
    CHECK_THAT(page_of(before, now),
               Catch::Contains("LOST NOW  nic_missed 10 packets/s  buffer_full 1.00 k records/s\n"
                               "          collector_away 1.00 k records/s  ring_full 10 records/s\n"
                               "          spool_damaged 1.00 k records/s\n"));
}

TEST_CASE("top: an input has its link, and what its NIC missed", "[daemon][unit]") {
    const std::string lines =
        "INPUT               LINK       MISSED/S       MISSED    NO BUFFER       ERRORS\n"
        "up                  up               10           60            0            0\n";
    CHECK_THAT(page_of(look(100, 40, 0, 0), look(200, 60, 0, 2)), Catch::Contains(lines));
}

TEST_CASE("top: what is unknown is called so, and what is known of it stays", "[daemon][unit]") {
    TopLook before = look(100, 40, 0, 0);
    TopLook now = look(200, 60, 0, 2);
    for (json* stats : {&before.stats, &now.stats}) {
        (*stats)["packets"]["nic_missed"] = nullptr;
        (*stats)["ports"].push_back((*stats)["ports"][0]);
        (*stats)["ports"][1]["name"] = "tap";
        (*stats)["ports"][1]["nic_missed"] = nullptr;
    }
    const ScreenLines screen = screen_of(before, now);
    CHECK_THAT(text_of(screen),
               Catch::Contains("LOST NOW  nic_missed unknown  ring_full 10 records/s\n"
                               "LOST SINCE START  unknown + 60 packets by the NIC, 60 records\n"));
    const std::string lines =
        "up                  up               10           60            0            0\n"
        "tap                 gone        unknown      unknown            0            0\n";
    CHECK_THAT(text_of(screen), Catch::Contains(lines));
    CHECK(style_of(screen, "tap ") == LineStyle::alarm);
}

TEST_CASE("top: what is known of the sum stands beside unknown", "[daemon][unit]") {
    TopLook now = look(200, 0, 0, 2);
    now.stats["packets"]["nic_missed"] = nullptr;
    now.stats["ports"][0]["nic_missed"] = nullptr;
    const auto screen = [&now] { return page_of(look(100, 0, 0, 0), now); };
    CHECK_THAT(screen(), Catch::Contains("START  unknown packets by the NIC, 0 records\n"));
    now.stats["ports"][0]["nic_no_buffer"] = 7000;
    now.stats["ports"][0]["nic_errors"] = 8;
    CHECK_THAT(screen(), Catch::Contains("START  unknown + 7008 packets by the NIC, 0 records\n"));
}

TEST_CASE("top: a recorded queue has its reach, and what it keeps", "[daemon][unit]") {
    const TopLook before = recorder_look(recorder_of(10), 0);
    TopLook now = recorder_look(recorder_of(12), 2);
    CHECK_THAT(page_of(before, now),
               Catch::Contains("\n\n"
                               "RECORDER                         REACH  FRAMES/S  OCTETS/S      CUT"
                               "   LEFT OUT/S\n"
                               "up/0                              12 s    1.00 k     800 k   10.0 %"
                               "          250\n\n"
                               "LEFT OUT NOW  filtered 250 frames/s\n"
                               "DUMPS  0 running  0 begun  0 whole  0 cut off  0 packets  "
                               "0 overwritten\n"));
    const auto reach = [&](json seconds) {
        now.stats["recorder"]["queues"][0]["reach_seconds"] = std::move(seconds);
        const ScreenLines screen = screen_of(before, now);
        const auto row = std::ranges::find_if(
            screen, [](const ScreenLine& line) { return line.text.starts_with("RECORDER"); });
        return row[1].text.substr(28, 10);
    };
    CHECK(reach(999) == "     999 s");
    CHECK(reach(1000) == "    16 min");
    CHECK(reach(40'000) == "11 h 6 min");
    CHECK(reach(nullptr) == "   unknown");
    now.stats["recorder"]["queues"][0]["held"] = 0;
    CHECK(reach(0) == "     empty");
}

TEST_CASE("top: without a recorder nothing is shown of one", "[daemon][unit]") {
    const TopLook before = look(100, 0, 0, 0);
    const TopLook now = look(200, 0, 0, 2);
    TopPicture picture;
    picture.now = &now;
    for (const std::string& text : {page_of(before, now), text_of(top_help(picture, {}))}) {
        for (const char* const word : {"RECORDER", "REACH", "LEFT OUT", "DUMPS", "TRIGGER"}) {
            CHECK_THAT(text, !Catch::Contains(word));
        }
    }
}

TEST_CASE("top: without a look before a recorder has its reach and no rates", "[daemon][unit]") {
    const TopLook now = recorder_look(recorder_of(12), 2);
    TopPicture picture;
    picture.now = &now;
    const std::string screen = text_of(top_screen(picture, {}));
    CHECK_THAT(screen, Catch::Contains("up/0                              12 s         -         -"
                                       "        -            -\n\nDUMPS  0 running"));
    CHECK_THAT(screen, !Catch::Contains("LEFT OUT NOW"));
}

TEST_CASE("top: what is unknown of a recorder is called so", "[daemon][unit]") {
    TopLook before = recorder_look(recorder_of(10), 0);
    TopLook now = recorder_look(recorder_of(12), 2);
    for (json* stats : {&before.stats, &now.stats}) {
        json& recorder = (*stats)["recorder"];
        recorder["left_out_by_cause"]["input"] = nullptr;
        recorder["queues"][0]["left_out"] = nullptr;
        recorder["queues"][0]["kept_cut"] = nullptr;
        recorder["dumps"]["cut_off"] = nullptr;
        recorder["dumps"]["overwritten"] = nullptr;
    }
    CHECK_THAT(page_of(before, now),
               Catch::Contains("12 s   unknown     800 k  unknown      unknown\n\n"
                               "LEFT OUT NOW  filtered 250 frames/s  input unknown\n"
                               "DUMPS  unknown running  0 begun  0 whole  unknown cut off  "
                               "0 packets\n"
                               "       unknown overwritten\n"));
}

TEST_CASE("top: a queue that keeps nothing has no share of cut frames", "[daemon][unit]") {
    const TopLook before = recorder_look(recorder_of(10), 0);
    const TopLook now = recorder_look(recorder_of(10), 2);
    const std::string screen = page_of(before, now);
    CHECK_THAT(screen, Catch::Contains("10 s         0         0        -            0\n"));
    CHECK_THAT(screen, !Catch::Contains("LEFT OUT NOW"));
}

TEST_CASE("top: a full ring that reaches back less than 5 s is an alarm", "[daemon][unit]") {
    RecorderLedger recorder = recorder_of(10);
    const auto style = [&recorder](std::uint64_t reach, std::uint64_t overwritten) {
        recorder.queues[0].overwritten = 0;
        const TopLook before = recorder_look(recorder, 0);
        recorder.queues[0].reach = reach;
        recorder.queues[0].overwritten = overwritten;
        const ScreenLines screen = screen_of(before, recorder_look(recorder, 2));
        const auto row = std::ranges::find_if(
            screen, [](const ScreenLine& line) { return line.text.starts_with("RECORDER"); });
        return row[1].style;
    };
    CHECK(style(4, 100) == LineStyle::alarm);
    CHECK(style(5, 100) == LineStyle::plain);
    CHECK(style(4, 0) == LineStyle::plain);  // it has just begun
}

TEST_CASE("top: of many recorded queues those that reach back least stay", "[daemon][unit]") {
    RecorderLedger recorder;
    for (std::uint64_t i = 0; i < 30; ++i) {
        RecorderQueueLedger queue = recorder_of(100 - i).queues[0];
        queue.name = "up/" + std::to_string(i);
        recorder.queues.push_back(queue);
    }
    const TopLook before = recorder_look(recorder, 0);
    recorder.queues[3].overwritten = 5;   // 97 s
    recorder.queues[17].overwritten = 5;  // 83 s
    const std::string screen =
        text_of(screen_of(before, recorder_look(recorder, 2), {.rows = 16, .columns = 80}));
    CHECK_THAT(screen, Catch::Contains("\nup/3                              97 s"));
    CHECK_THAT(screen, Catch::Contains("\nup/17                             83 s"));
    CHECK_THAT(screen, Catch::Contains("  and 28 more recorded queues\nDUMPS"));
}

TEST_CASE("top: dumps have their account, and one that lacks packets is an alarm",
          "[daemon][unit]") {
    RecorderLedger recorder = recorder_of(10);
    recorder.dumps = {.begun = 7,
                      .whole = 4,
                      .cut_off = 1,
                      .packets = 12'345,
                      .octets = 9'000'000,
                      .overwritten = 60};
    const TopLook before = recorder_look(recorder, 0);
    CHECK_THAT(page_of(before, before),
               Catch::Contains("DUMPS  2 running  7 begun  4 whole  1 cut off  12345 packets  60 "
                               "overwritten\n"));
    CHECK(style_of(screen_of(before, before), "DUMPS") == LineStyle::plain);
    recorder.dumps.overwritten = 61;
    CHECK(style_of(screen_of(before, recorder_look(recorder, 2)), "DUMPS") == LineStyle::alarm);
    recorder.dumps.overwritten = 60;
    recorder.dumps.cut_off = 2;
    CHECK(style_of(screen_of(before, recorder_look(recorder, 2)), "DUMPS") == LineStyle::alarm);
    recorder.dumps.whole = 9;  // the counts were read at different moments
    CHECK_THAT(page_of(before, recorder_look(recorder, 2)), Catch::Contains("DUMPS  0 running"));
}

TEST_CASE("top: triggers have a table where the ledger has them", "[daemon][unit]") {
    TopLook before = recorder_look(recorder_of(10), 0);
    TopLook now = recorder_look(recorder_of(12), 2);
    CHECK_THAT(page_of(before, now), !Catch::Contains("TRIGGER"));
    before.stats["recorder"]["triggers"] = json::array();
    CHECK_THAT(page_of(before, before), !Catch::Contains("TRIGGER"));
    const auto trigger = [](const char* name, std::uint64_t fired, json overwritten) {
        return json{{"name", name},   {"fired", fired},   {"suppressed", 2U},
                    {"files", fired}, {"packets", 1234U}, {"overwritten", std::move(overwritten)}};
    };
    before.stats["recorder"]["triggers"] = {trigger("syn", 3, 0U), trigger("dns", 0, nullptr)};
    now.stats["recorder"]["triggers"] = {trigger("syn", 4, 0U), trigger("dns", 0, nullptr)};
    CHECK_THAT(page_of(before, now),
               Catch::Contains("\n\n"
                               "TRIGGER                          FIRED  SUPPRESSED   FILES  PACKETS"
                               "  OVERWRITTEN\n"
                               "syn                                  4           2       4     1234"
                               "            0\n"
                               "dns                                  0           2       0     1234"
                               "      unknown\n"));
    CHECK(style_of(screen_of(before, now), "syn ") == LineStyle::plain);
    now.stats["recorder"]["triggers"][0]["overwritten"] = 5;
    CHECK(style_of(screen_of(before, now), "syn ") == LineStyle::alarm);
    for (json* stats : {&before.stats, &now.stats}) {
        json alone{{"triggers", (*stats)["recorder"]["triggers"]}};
        (*stats)["recorder"] = std::move(alone);
    }
    CHECK_THAT(page_of(before, now), Catch::Contains("\n\nTRIGGER  "));
    CHECK_THAT(page_of(before, now), !Catch::Contains("DUMPS"));
}

TEST_CASE("top: the help explains a recorder where there is one, and fits 24 rows",
          "[daemon][unit]") {
    TopLook now = look(100, 0, 0, 2);
    TopPicture picture;
    picture.now = &now;
    constexpr ScreenSize kSmall{.rows = 23, .columns = 80};  // the last row is top_bar()'s
    constexpr const char* kLast = "\n  \"-\" is not known yet; what is unknown cannot be known\n";
    CHECK_THAT(text_of(top_help(picture, kSmall)), Catch::EndsWith(kLast));
    CHECK_THAT(text_of(top_help(picture, kSmall)), Catch::Contains("\n  q  quit\n\n  FLOWS "));
    now = recorder_look(recorder_of(10), 2);
    const std::string help = text_of(top_help(picture, kSmall));
    CHECK_THAT(help, Catch::EndsWith(kLast));
    CHECK_THAT(help, Catch::Contains("\n  o  flows by octets since they began               q  "
                                     "quit\n"));
    CHECK_THAT(help, Catch::Contains("\n  REACH "));
    CHECK_THAT(text_of(top_help(picture, {.rows = 23, .columns = 60})),
               Catch::Contains("\n  q  quit\n\n  FLOWS "));
}

TEST_CASE("top: no line is longer than the screen, whatever names there are", "[daemon][unit]") {
    TopLook now = look(18'000'000'000, 60, 0, 2);
    now.stats["ports"][0]["nic_missed"] = 18'000'000'000'000'000'000U;
    now.stats["ports"][0]["name"] = "schnittstelle-\xC3\xA4\xC3\xB6\xC3\xBC-mit-langem-namen";
    now.stats["collectors"][0]["name"] = std::string("file /var/\033[2J/").append(200, 'x');
    for (const std::size_t columns : {20U, 79U, 80U, 119U, 120U, 300U}) {
        for (const ScreenLine& line :
             screen_of(look(100, 40, 0, 0), now, {.rows = 24, .columns = columns})) {
            const auto characters = std::ranges::count_if(line.text, [](char octet) {
                return (static_cast<unsigned char>(octet) & 0xC0U) != 0x80;
            });
            CHECK(static_cast<std::size_t>(characters) <= columns);
            CHECK(line.text.find('\033') == std::string::npos);
        }
    }
}

TEST_CASE("top: tables are cut before the flows, and say what is missing", "[daemon][unit]") {
    TopLook now = look(200, 0, 0, 2);
    const json input = now.stats["ports"][0];
    for (int i = 1; i < 30; ++i) {
        now.stats["ports"].push_back(input);
        now.figures["inputs"].push_back({{"name", "tap"}, {"link", i == 17 ? "down" : "up"}});
    }
    now.figures["inputs"][1]["link"] = "up";
    FlowRates flows(10);
    FlowView flow;
    for (const double at : {0.0, 2.0}) {
        flows.begin(at);
        flow.core.octets += 1000;
        flow.core.packets += 1;
        flows.add(flow);
        flows.end();
    }
    TopPicture picture;
    picture.before = &now;
    picture.now = &now;
    picture.flows = &flows;
    const std::string screen = text_of(top_screen(picture, {.rows = 20, .columns = 80}));
    CHECK(std::ranges::count(screen, '\n') == 20);
    CHECK_THAT(screen, Catch::Contains("  and 24 more inputs\n"));
    CHECK_THAT(screen, Catch::Contains("up                  down "));
    CHECK_THAT(screen, Catch::Contains("FLOWS  1 run; most bit/s over the last 2.0 s\n"));
    CHECK_THAT(screen, Catch::EndsWith("    4.00 k         0   2.00 k\n"));
}

TEST_CASE("top: another process is not compared with", "[daemon][unit]") {
    const TopLook before = look(100, 0, 0, 0);
    TopLook now = look(200, 0, 0, 2);
    CHECK(is_same_probe(before, now));
    now.figures["started"] = 1001;
    CHECK_FALSE(is_same_probe(before, now));
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

TEST_CASE("top: counts are whole as long as they find room", "[daemon][unit]") {
    CHECK(count_text(json(123'456U), 6) == "123456");
    CHECK(count_text(json(1'234'567U), 6) == "1.23 M");
    CHECK(count_text(json(), 6) == "unknown");
}

TEST_CASE("top: durations in two units", "[daemon][unit]") {
    CHECK(duration_text(-1) == "0 s");
    CHECK(duration_text(59.9) == "59 s");
    CHECK(duration_text(60) == "1 min");
    CHECK(duration_text(3600 + 11 * 60) == "1 h 11 min");
    CHECK(duration_text(86'400 * 9 + 3600 * 23) == "9 d 23 h");
}

TEST_CASE("top: the middle of a long text goes", "[daemon][unit]") {
    CHECK(shortened("abcdef", 6) == "abcdef");
    CHECK(shortened("abcdefg", 6) == "ab~efg");
    CHECK(shortened("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 3) == "\xC3\xA4~\xC3\xA4");
    CHECK(shortened("abc", 1) == "~");
    CHECK(shortened("a\033b", 9) == "a\\x1bb");
}
