// SPDX-License-Identifier: Apache-2.0
// Which collector gets the records of which table, and what is counted for each table.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/ipfix/template_ids.hpp"
#include "tests/support/added_table.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/ipfix_elements.hpp"
#include "tests/support/plain_collector.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/two_layouts.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using Tables = std::vector<std::string>;

constexpr std::size_t kMain = 0;
constexpr std::size_t kSecond = 1;
constexpr std::size_t kThird = 2;
const Tables kBoth{"main", "second"};

/// An export of three tables, of which two have the same layout, to plain collectors. Each table
/// has a queue, of the same index.
struct TablesExport {
    /// @param tables  of each collector
    explicit TablesExport(ExportMode mode, const std::vector<Tables>& tables)
        : receivers(tables.size()), second(kSecondLayout, kSecond), third({}, kThird) {
        options = without_options_records();
        options.mode = mode;
        options.drain_timeout = milliseconds{1000};
        metering.further = {{.name = "second", .layout = kSecondLayout},
                            {.name = "third", .layout = {}}};
        for (std::size_t index = 0; index < tables.size(); ++index) {
            CollectorOptions& collector = options.collectors.emplace_back();
            collector.host = "192.0.2." + std::to_string(index + 1);
            collector.port = 4739;
            collector.tables = tables[index];
            accounts.push_back(index);
        }
    }
    void start() {
        PlainAmong factory;
        for (std::size_t index = 0; index < receivers.size(); ++index) {
            factory.plain.emplace_back(index, &receivers[index]);
        }
        counters = std::make_unique<ExportCounters>(queues().size(), options.collectors.size());
        worker = std::make_unique<ExportWorker>(options, metering, queues(), *counters,
                                                CollectorEventHandler{}, factory);
    }
    [[nodiscard]] std::vector<RecordSource*> queues() { return {&main, &second, &third}; }
    void change(std::size_t collector, const Tables& tables) {
        options.collectors[collector].tables = tables;
        worker->change(options, accounts);
    }
    /// So many records of each table, by their source ports.
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            main.put(record_of(number));
            second.put(biflow_of(number));
            third.put(record_of(number));
        }
    }
    void run(milliseconds lasting = milliseconds{500}) {
        for (const milliseconds end = uptime + lasting; uptime < end; uptime += milliseconds{50}) {
            for (int steps = 0; worker->step(at(uptime)); ++steps) {
                REQUIRE(steps < 10'000);
            }
        }
    }
    void finish() {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 100'000);
            uptime += milliseconds{10};
        }
        check_sums();
    }
    /// Source ports of the records of a table that a collector has.
    [[nodiscard]] std::vector<std::uint64_t> received(std::size_t collector,
                                                      std::size_t table) const {
        const PlainReceiver& receiver = receivers[collector];
        std::vector<std::uint64_t> ports;
        for (std::size_t i = 0; i < receiver.ports.size(); ++i) {
            if (receiver.layouts[i] == table) {
                ports.push_back(receiver.ports[i]);
            }
        }
        return ports;
    }
    [[nodiscard]] RecordTally exported(std::size_t table) const {
        return counters->queues[table].exported.read();
    }
    [[nodiscard]] RecordTally lost(std::size_t table, ExportLoss cause) const {
        return counters->queues[table].read_lost(cause);
    }
    [[nodiscard]] const CollectorTableCounters& part(std::size_t collector,
                                                     std::size_t table) const {
        return counters->collectors[collector].tables.at(table);
    }
    /// The parts of an account, which has no record of a former process, are its sums.
    void check_sums() const {
        for (const CollectorCounters& account : counters->collectors) {
            RecordTally records;
            RecordTally lost;
            RecordTally spooled;
            for (const CollectorTableCounters& part : account.tables) {
                records += part.records.read();
                lost += part.lost.read();
                spooled += part.spooled.read();
            }
            CHECK(records == account.records.read());
            RecordTally lost_by_cause;
            for (const RecordCounter& cause : account.lost) {
                lost_by_cause += cause.read();
            }
            CHECK(lost == lost_by_cause);
            CHECK(spooled == account.spooled.read());
        }
    }

    std::vector<PlainReceiver> receivers;
    ExportOptions options;
    MeteringProcess metering;
    RecordQueue main;
    RecordQueue second;
    RecordQueue third;
    std::vector<std::size_t> accounts;
    std::unique_ptr<ExportCounters> counters;
    std::unique_ptr<ExportWorker> worker;
    milliseconds uptime{0};
};

/// What the messages of a file, or of a part of it, have.
struct FileContent {
    explicit FileContent(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        const std::vector<char> octets{std::istreambuf_iterator<char>(file), {}};
        for (const DecodedMessage& message :
             decode_stream(decoder, std::as_bytes(std::span(octets)))) {
            for (const DecodedRecord& record : message.records) {
                note(record);
            }
        }
        for (const auto& [id, fields] : decoder.templates()) {
            if (!decoder.scopes().contains(id)) {
                ++templates[table_of(id)];
            }
        }
    }
    static std::size_t table_of(std::uint64_t id) {
        return id < kFurtherTemplateIds ? kMain : kSecond;
    }
    void note(const DecodedRecord& record) {
        if (!record.is_option) {
            ++records[table_of(record.template_id)];
        } else if (record.has(kFlowKeys)) {
            ++flow_keys[table_of(record.number(kTemplate))];
        } else if (record.has(kNotSentFlows)) {
            not_sent = record.number(kNotSentFlows);
        } else if (record.has(kElementName)) {
            types.insert(record.text(kElementName));
        }
    }

    using ByTable = std::map<std::size_t, std::size_t>;

    IpfixDecoder decoder;
    ByTable records;
    ByTable templates;           ///< of flow records
    ByTable flow_keys;           ///< options records of these templates
    std::uint64_t not_sent = 0;  ///< as told last
    std::set<std::string> types;
};

/// An export of two tables to a file.
struct FileOfTables {
    explicit FileOfTables(const Tables& tables, const RecordLayout& second_layout = kSecondLayout)
        : second(second_layout, kSecond) {
        options.options_interval = std::chrono::seconds{60};
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = path;
        options.collectors[0].tables = tables;
        metering.further = {{.name = "second", .layout = second_layout}};
        metering.totals = [this] { return losses; };
    }
    void start() {
        worker = std::make_unique<ExportWorker>(options, metering,
                                                std::vector<RecordSource*>{&main, &second},
                                                counters, CollectorEventHandler{});
    }
    void change(const Tables& tables) {
        options.collectors[0].tables = tables;
        worker->change(options, std::array<std::size_t, 1>{0});
    }
    void put_and_run(std::uint16_t count) {
        for (std::uint16_t number = 0; number < count; ++number) {
            main.put(record_of(number));
            second.put(record_of(number));  // whatever its layout is
        }
        uptime += milliseconds{2000};
        while (worker->step(at(uptime))) {
        }
    }
    FileContent finish() {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 1000);
        }
        worker->close();
        return FileContent(path);
    }

    TemporaryDirectory directory;
    std::string path = (directory / "flows.ipfix").string();
    ExportOptions options;
    MeteringProcess metering;
    PreExportLosses losses;
    RecordQueue main;
    RecordQueue second;
    ExportCounters counters{2, 1};
    std::unique_ptr<ExportWorker> worker;
    milliseconds uptime{0};
};

/// A TCP export of two tables, one connection at most.
struct TcpOfTables : GroupExport {
    explicit TcpOfTables(const Tables& tables, const std::string& spool = {})
        : GroupExport(ExportMode::copy, 1, 65'536), second(kSecondLayout, kSecond), both(2, 1) {
        options.collectors[0].tables = tables;
        options.collectors[0].spool.directory = spool;
        options.drain_timeout = milliseconds{500};
    }
    TcpOfTables(const TcpOfTables&) = delete;
    TcpOfTables& operator=(const TcpOfTables&) = delete;
    ~TcpOfTables() { worker.reset(); }  // before its queues and counters
    void start() {
        worker = std::make_unique<ExportWorker>(
            options, two_layouts(), std::vector<RecordSource*>{&queue, &second}, both,
            [this](const CollectorEvent& event) { events.push_back(event.kind); });
    }
    void change(const Tables& tables) {
        options.collectors[0].tables = tables;
        worker->change(options, std::array<std::size_t, 1>{0});
    }
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            queue.put(record_of(number));
            second.put(biflow_of(number));
        }
    }

    RecordQueue second;
    ExportCounters both;
};

}  // namespace

TEST_CASE("CollectorGroup: copy gives a record to the collectors that take its table",
          "[export][unit]") {
    TablesExport tables(ExportMode::copy, {{"main"}, {"second", "main"}, {"second"}});
    tables.start();
    tables.put(0, 700);
    tables.run();
    // The one that no collector takes has gone at once.
    CHECK(tables.third.left() == 0);
    CHECK(tables.lost(kThird, ExportLoss::no_collector) == RecordTally{700, 7000, 700'000});
    tables.finish();
    for (const std::size_t collector : {0U, 1U}) {
        CHECK(tables.received(collector, kMain) == numbers(0, 700));
    }
    for (const std::size_t collector : {1U, 2U}) {
        CHECK(tables.received(collector, kSecond) == numbers(0, 700));
    }
    CHECK(tables.receivers[0].ports.size() == 700);
    CHECK(tables.receivers[1].ports.size() == 1400);
    CHECK(tables.receivers[2].ports.size() == 700);
    CHECK(tables.exported(kMain) == RecordTally{700, 7000, 700'000});
    CHECK(tables.exported(kSecond) == RecordTally{700, 9100, 910'000});
    CHECK(tables.exported(kThird) == RecordTally{});
    CHECK(tables.part(1, kMain).records.read() == RecordTally{700, 7000, 700'000});
    CHECK(tables.part(1, kSecond).records.read() == RecordTally{700, 9100, 910'000});
    CHECK(tables.part(1, kThird).records.read() == RecordTally{});
    CHECK(tables.part(0, kSecond).records.read() == RecordTally{});
}

TEST_CASE("CollectorGroup: a record that one taker has lost and another one has is exported",
          "[export][unit]") {
    TablesExport tables(ExportMode::copy, {kBoth, {"second"}, {"main"}});
    tables.receivers[0].refuses = true;
    tables.start();
    tables.put(0, 500);
    tables.run();
    tables.finish();
    CHECK(tables.exported(kMain).records == 500);
    CHECK(tables.exported(kSecond).records == 500);
    CHECK(tables.lost(kMain, ExportLoss::send_refused).records == 0);
    CHECK(tables.part(0, kMain).lost.read().records == 500);
    CHECK(tables.part(0, kSecond).lost.read() == RecordTally{500, 6500, 650'000});
    CHECK(tables.received(1, kSecond) == numbers(0, 500));
    CHECK(tables.received(2, kMain) == numbers(0, 500));
}

TEST_CASE("CollectorGroup: accounts are not split where there is one table", "[export][unit]") {
    GroupExport group(ExportMode::copy, 1);
    group.start();
    CHECK(group.counters.collectors[0].tables.empty());
}

TEST_CASE("CollectorGroup: balance is among the takers of a table, by its declared key",
          "[export][unit]") {
    const AddedTable table(true);
    std::array<std::map<std::uint64_t, std::size_t>, 2> places;  // by key, in two runs
    for (auto& place : places) {
        TablesExport tables(ExportMode::balance,
                            {{"main", "macs"}, {"macs"}, {"main"}, {"macs", "main"}});
        tables.metering.further = {table.for_export("macs")};
        RecordQueue macs(table.layout, kSecond);
        RecordQueue more_macs(table.layout, kSecond);
        // The number of a flow's record is in its port, which is not in the key: the test's alone.
        const auto put = [&](RecordQueue& queue, std::uint16_t number, bool is_back) {
            DeclaredOctets octets{.dscp = static_cast<std::uint8_t>(number % 64),
                                  .destination_mac = 200,
                                  .source_mac = static_cast<std::uint8_t>(number / 64)};
            if (is_back) {
                std::swap(octets.source_mac, octets.destination_mac);
            }
            queue.put(table.record(octets));
        };
        PlainAmong factory;
        for (std::size_t index = 0; index < tables.receivers.size(); ++index) {
            factory.plain.emplace_back(index, &tables.receivers[index]);
        }
        ExportCounters counters(3, 4);
        ExportWorker worker(tables.options, tables.metering, {&tables.main, &macs, &more_macs},
                            counters, {}, factory);
        const auto step = [&] {
            while (worker.step(at(tables.uptime))) {
            }
            tables.uptime += milliseconds{50};
            static_cast<void>(worker.step(at(tables.uptime)));
        };
        // One flow at a time, so that the collector that has more records now has this one.
        std::array<std::size_t, 4> before{};
        const auto taker = [&] {
            std::size_t found = before.size();
            for (std::size_t index = 0; index < before.size(); ++index) {
                const std::size_t now = tables.receivers[index].ports.size();
                if (std::exchange(before.at(index), now) != now) {
                    REQUIRE(found == before.size());
                    found = index;
                }
            }
            REQUIRE(found < before.size());
            return found;
        };
        for (std::uint16_t number = 0; number < 3000; ++number) {
            put(macs, number, false);
            put(more_macs, number, true);  // from another queue, the other way
            step();
            place[number] = taker();
        }
        std::array<std::size_t, 4> of_macs = before;
        CHECK(of_macs[2] == 0);
        for (const std::size_t index : {0U, 1U, 3U}) {
            CHECK(of_macs.at(index) > 1800);
            CHECK(of_macs.at(index) < 2200);
        }
        tables.main.put_many(3000);
        for (int steps = 0; steps < 100; ++steps) {
            step();
        }
        for (const std::size_t index : {0U, 2U, 3U}) {
            const std::size_t of_main = tables.receivers[index].ports.size() - of_macs.at(index);
            CHECK(of_main > 900);
            CHECK(of_main < 1100);
        }
        CHECK(tables.receivers[1].ports.size() == of_macs[1]);
        for (int calls = 0; !worker.finish(at(tables.uptime)); ++calls) {
            REQUIRE(calls < 1000);
        }
        CHECK(counters.queues[1].exported.read().records == 3000);
        CHECK(counters.queues[2].exported.read().records == 3000);
    }
    CHECK(places[0] == places[1]);
}

TEST_CASE("CollectorGroup: balance passes over a taker that has failed for good",
          "[export][unit]") {
    TablesExport tables(ExportMode::balance, {kBoth, {"main"}, kBoth});
    CollectorOptions& file = tables.options.collectors[2];
    file = {};
    file.transport = TransportKind::file;
    file.path = "/dev/full";
    file.tables = kBoth;
    tables.receivers.resize(2);
    tables.start();
    tables.run(milliseconds{2000});  // it fails with its first messages
    tables.put(0, 100);
    tables.run(milliseconds{2000});
    tables.put(100, 1000);
    tables.run(milliseconds{2000});
    tables.finish();
    const std::vector<std::uint64_t> second = tables.received(0, kSecond);
    CHECK(tables.received(1, kSecond).empty());
    CHECK(std::ranges::count_if(second, [](std::uint64_t port) { return port >= 100; }) == 900);
    CHECK(tables.exported(kMain).records >= 900);
}

TEST_CASE("CollectorGroup: failover takes the same tables everywhere, and refuses others",
          "[export][unit]") {
    TablesExport different(ExportMode::failover, {kBoth, {"main"}});
    CHECK_THROWS_WITH(different.start(),
                      "udp 192.0.2.2:4739 has other tables than udp 192.0.2.1:4739, and in mode "
                      "failover all collectors have the same");

    TablesExport tables(ExportMode::failover, {kBoth, {"second", "main"}});
    tables.start();
    tables.put(0, 500);
    tables.run();
    CHECK_THROWS_AS(tables.change(1, {"main"}), ExportError);
    tables.options.collectors[1].tables = kBoth;
    CHECK(tables.third.left() == 0);
    CHECK(tables.lost(kThird, ExportLoss::no_collector).records == 500);
    tables.receivers[0].is_there = false;
    tables.put(500, 1000);
    tables.run();
    tables.finish();
    CHECK(tables.received(0, kSecond) == numbers(0, 500));
    CHECK(tables.received(1, kSecond) == numbers(500, 1000));
    CHECK(tables.received(1, kMain) == numbers(500, 1000));
    CHECK(tables.exported(kMain).records == 1000);
    CHECK(tables.exported(kSecond).records == 1000);
    CHECK(tables.lost(kThird, ExportLoss::no_collector).records == 1000);
    CHECK(tables.part(1, kSecond).records.read().records == 500);
}

TEST_CASE("CollectorGroup: with a group spool, what no collector takes does not wait either",
          "[export][unit]") {
    const TemporaryDirectory directory;
    TablesExport tables(ExportMode::failover, {kBoth});
    tables.options.spool = {.directory = directory.path()};
    tables.receivers[0].is_there = false;
    tables.start();
    tables.run(milliseconds{5000});
    tables.put(0, 3000);
    tables.run(milliseconds{5000});
    CHECK(tables.main.left() == 0);
    CHECK(tables.second.left() == 0);
    CHECK(tables.lost(kThird, ExportLoss::no_collector).records == 3000);
    CHECK(tables.counters->group_spool_stored.read().records > 4000);
    tables.receivers[0].is_there = true;
    tables.run(milliseconds{5000});
    tables.finish();
    CHECK(tables.received(0, kMain) == numbers(0, 3000));
    CHECK(tables.received(0, kSecond) == numbers(0, 3000));
    CHECK(tables.exported(kSecond).records == 3000);
    CHECK(tables.part(0, kSecond).records.read().records == 3000);
}

TEST_CASE("CollectorGroup: records that no collector takes do not wait for absent collectors",
          "[export][unit]") {
    const auto mode = GENERATE(ExportMode::copy, ExportMode::balance, ExportMode::failover);
    TablesExport tables(mode, {kBoth, kBoth});
    tables.receivers[0].is_there = false;
    tables.receivers[1].is_there = false;
    tables.start();
    tables.put(0, 5000);
    tables.run(milliseconds{5000});
    CHECK(tables.main.left() > 2000);
    CHECK(tables.second.left() > 2000);
    CHECK(tables.third.left() == 0);
    CHECK(tables.lost(kThird, ExportLoss::no_collector).records == 5000);
    CHECK(tables.lost(kMain, ExportLoss::no_collector).records == 0);
    tables.receivers[0].is_there = true;
    tables.receivers[1].is_there = true;
    tables.run(milliseconds{5000});
    tables.finish();
    for (const std::size_t table : {kMain, kSecond}) {
        const std::uint64_t too_many = tables.lost(table, ExportLoss::buffer_full).records;
        CHECK(tables.exported(table).records + too_many == 5000);
        CHECK((mode == ExportMode::balance || too_many == 0));
    }
}

TEST_CASE("CollectorGroup: an absent collector delays the tables alone that it takes",
          "[export][unit]") {
    const bool takes_main = GENERATE(true, false);
    const Tables absent{takes_main ? "main" : "second"};
    const Tables other{takes_main ? "second" : "main", "third"};
    TablesExport tables(ExportMode::copy, {absent, other});
    RecordQueue& waits = takes_main ? tables.main : tables.second;
    const std::size_t waiting = takes_main ? kMain : kSecond;
    const std::size_t going = takes_main ? kSecond : kMain;
    tables.receivers[0].is_there = false;
    tables.start();
    tables.put(0, 5000);
    tables.run(milliseconds{5000});
    CHECK(tables.received(1, going) == numbers(0, 5000));
    CHECK(tables.received(1, kThird) == numbers(0, 5000));
    // What fits its buffer, and a batch of which a part fits.
    CHECK(waits.left() >= 5000 - PlainCollector::kRecordsThatWait - ExportWorker::kBatchRecords);
    CHECK(tables.exported(waiting).records == 0);
    CHECK(tables.lost(waiting, ExportLoss::buffer_full).records == 0);
    tables.receivers[0].is_there = true;
    tables.run(milliseconds{5000});
    CHECK(tables.received(0, waiting) == numbers(0, 5000));
    tables.finish();
    CHECK(tables.exported(waiting).records == 5000);
}

TEST_CASE("CollectorGroup: the end of an absent collector loses its tables alone",
          "[export][unit]") {
    TablesExport tables(ExportMode::copy, {{"main"}, {"second"}});
    tables.receivers[0].is_there = false;
    tables.start();
    tables.put(0, 3000);
    tables.finish();
    CHECK(tables.lost(kMain, ExportLoss::collector_away).records == 3000);
    CHECK(tables.exported(kSecond).records == 3000);
    CHECK(tables.lost(kThird, ExportLoss::no_collector).records == 3000);
    CHECK(tables.part(0, kMain).lost.read().records == 3000);
    CHECK(tables.part(1, kMain).lost.read().records == 0);
}

TEST_CASE("ExportWorker: no table takes all the room that a collector has", "[export][unit]") {
    PlainReceiver receiver;
    TablesExport tables(ExportMode::copy, {kBoth});
    std::vector<std::unique_ptr<RecordQueue>> of_main;
    std::vector<RecordSource*> queues;
    for (std::size_t queue = 0; queue < 8; ++queue) {  // a step takes more than fits
        of_main.push_back(std::make_unique<RecordQueue>());
        of_main.back()->put_many(6000);
        queues.push_back(of_main.back().get());
    }
    RecordQueue second(kSecondLayout, kSecond);
    for (int round = 0; round < 10'000; ++round) {
        second.put(biflow_of(static_cast<std::uint16_t>(round)));
    }
    queues.push_back(&second);
    ExportCounters counters(queues.size(), 1);
    ExportWorker worker(tables.options, tables.metering, queues, counters, {},
                        PlainAmong{{{0, &receiver}}});
    for (int steps = 0; steps < 40; ++steps) {
        static_cast<void>(worker.step(at(milliseconds{steps})));
    }
    CHECK(counters.queues[8].exported.read().records >= 15 * ExportWorker::kBatchRecords);
    for (std::size_t queue = 0; queue < 8; ++queue) {  // nor do some queues of a table
        CHECK(counters.queues[queue].exported.read().records > 3000);
    }
}

TEST_CASE("change: a collector takes another table, and its session goes on", "[export][unit]") {
    TcpOfTables tables({"main"});
    tables.start();
    tables.run(milliseconds{200});
    tables.put(0, 1000);
    tables.run(milliseconds{2000});
    CHECK(tables.collectors[0].ports == numbers(0, 1000));
    CHECK(tables.both.queues[1].read_lost(ExportLoss::no_collector).records == 1000);
    tables.change(kBoth);
    CHECK_FALSE(tables.worker->is_retiring());
    tables.put(1000, 2000);
    tables.run(milliseconds{2000});
    CHECK(tables.collectors[0].ports.size() == 3000);
    CHECK(tables.both.queues[1].exported.read().records == 1000);
    tables.change({"second"});
    tables.put(2000, 2500);
    tables.run(milliseconds{2000});
    tables.finish();
    CHECK(tables.collectors[0].ports.size() == 3500);
    CHECK(tables.both.queues[0].exported.read().records == 2000);
    CHECK(tables.both.queues[0].read_lost(ExportLoss::no_collector).records == 500);
    CHECK(tables.both.queues[1].exported.read().records == 1500);
    CHECK(tables.both.collectors[0].tables[kMain].records.read().records == 2000);
    CHECK(tables.both.collectors[0].tables[kSecond].records.read().records == 1500);
    // One session, whose sequence the decoder has followed.
    CHECK(std::ranges::count(tables.events, CollectorEventKind::connected) == 1);
    CHECK(tables.both.collectors[0].reconnects.read() == 0);
}

TEST_CASE("change: what waits for a collector arrives, also of a table that it takes no more",
          "[export][unit]") {
    TcpOfTables tables(kBoth);
    tables.collectors[0].go_away();
    tables.start();
    tables.put(0, 200);
    tables.run(milliseconds{500});
    tables.change({"main"});
    tables.put(200, 300);
    tables.run(milliseconds{500});
    CHECK(tables.both.queues[1].read_lost(ExportLoss::no_collector).records == 100);
    tables.collectors[0].come_back();  // the templates go ahead, or the decoder refuses
    tables.run(milliseconds{60'000});
    tables.finish();
    CHECK(tables.collectors[0].ports.size() == 500);
    CHECK(tables.both.queues[1].exported.read().records == 200);
    CHECK(tables.both.queues[0].exported.read().records == 300);
}

TEST_CASE("change: by UDP, templates of a table that is taken no more are not sent again",
          "[export][unit]") {
    const FileDescriptor socket = bind_loopback(SOCK_DGRAM, 0);
    ExportOptions options = without_options_records();
    options.template_refresh = std::chrono::seconds{10};
    options.collectors.resize(1);
    options.collectors[0].host = "127.0.0.1";
    options.collectors[0].port = port_of(socket);
    options.collectors[0].tables = kBoth;
    RecordQueue main;
    RecordQueue second(kSecondLayout, kSecond);
    ExportCounters counters(2, 1);
    ExportWorker worker(options, two_layouts(), {&main, &second}, counters, {});
    IpfixDecoder decoder;
    milliseconds uptime{0};
    // Templates that come within so long, and flow records, of both tables.
    using Heard = std::vector<std::size_t>;
    const auto hear = [&](milliseconds lasting) {
        Heard heard(2);
        for (const milliseconds end = uptime + lasting; uptime < end; uptime += milliseconds{100}) {
            while (worker.step(at(uptime))) {
            }
            while (const auto datagram = receive(socket)) {
                const DecodedMessage message = decoder.decode(*datagram);
                heard[0] += message.templates;
                heard[1] += message.records.size();
            }
        }
        return heard;
    };
    CHECK(hear(milliseconds{5000}) == Heard{16, 0});
    main.put(record_of(1));
    second.put(biflow_of(2));
    CHECK(hear(milliseconds{3000}) == Heard{1, 2});  // the template of biflows
    main.put(record_of(1));
    second.put(biflow_of(2));
    CHECK(hear(milliseconds{10'000}) == Heard{17, 2});  // the refresh
    options.collectors[0].tables = {"main"};
    worker.change(options, std::array<std::size_t, 1>{0});
    main.put(record_of(1));
    second.put(biflow_of(2));
    CHECK(hear(milliseconds{12'000}) == Heard{8, 1});
    options.collectors[0].tables = {"second"};
    worker.change(options, std::array<std::size_t, 1>{0});
    CHECK(hear(milliseconds{1000}) == Heard{9, 0});  // at once
    for (int calls = 0; !worker.finish(at(uptime)); ++calls) {
        REQUIRE(calls < 1000);
        uptime += milliseconds{100};
    }
}

TEST_CASE("change: a collector with a spool may take other tables, and have other limits, too",
          "[export][unit]") {
    const TemporaryDirectory directory;
    TcpOfTables tables({"main"}, directory.path());
    tables.start();
    tables.run(milliseconds{200});
    tables.options.collectors[0].buffer = 2 * std::size_t{65'536};
    tables.change(kBoth);
    CHECK_FALSE(tables.worker->is_retiring());
    tables.put(0, 500);
    tables.run(milliseconds{2000});
    tables.finish();
    CHECK(tables.collectors[0].ports.size() == 1000);
    CHECK(std::ranges::count(tables.events, CollectorEventKind::connected) == 1);
}

TEST_CASE("change: modes, tables and collectors change, and every record is counted once",
          "[export][unit]") {
    TablesExport tables(ExportMode::copy, {kBoth, {"main"}, {"second"}});
    tables.start();
    const std::vector<std::pair<ExportMode, std::vector<Tables>>> changes{
        {ExportMode::balance, {kBoth, {"second"}, {"main"}}},
        {ExportMode::copy, {{"third"}, kBoth, {"main", "second", "third"}}},
        {ExportMode::copy, {{"main"}, {"main"}, {"main"}}},
        {ExportMode::copy, {{}, {"second"}, {}}},
        {ExportMode::balance, {kBoth, kBoth, kBoth}},
    };
    std::uint16_t next = 0;
    for (const auto& [mode, names] : changes) {
        tables.put(next, static_cast<std::uint16_t>(next + 600));
        next = static_cast<std::uint16_t>(next + 600);
        static_cast<void>(tables.worker->step(at(tables.uptime)));  // some of them are on their way
        tables.receivers[0].is_there = !tables.receivers[0].is_there;
        tables.options.mode = mode;
        for (std::size_t index = 0; index < names.size(); ++index) {
            tables.options.collectors[index].tables = names[index];
        }
        tables.worker->change(tables.options, tables.accounts);
        CHECK_FALSE(tables.worker->is_retiring());
    }
    tables.receivers[0].is_there = true;
    tables.run(milliseconds{5000});
    tables.finish();
    for (std::size_t table = 0; table < 3; ++table) {
        RecordTally known = tables.exported(table);
        for (const RecordCounter& cause : tables.counters->queues[table].lost) {
            known += cause.read();
        }
        CHECK(known.records == next);
        CHECK(known.packets == next * (table == kSecond ? 13 : 10));
        CHECK(tables.lost(table, ExportLoss::collector_away) == RecordTally{});
    }
}

TEST_CASE("change: collectors at one address that take different tables keep their sessions",
          "[export][unit]") {
    TablesExport tables(ExportMode::copy, {{"main"}, {"second"}});
    tables.options.collectors[1].host = tables.options.collectors[0].host;
    tables.start();
    tables.put(0, 100);
    tables.run();
    tables.change(0, {"third"});
    CHECK_FALSE(tables.worker->is_retiring());
    tables.put(100, 200);
    tables.run();
    tables.finish();
    CHECK(tables.received(0, kMain) == numbers(0, 100));
    CHECK(tables.received(0, kThird) == numbers(100, 200));
    CHECK(tables.received(1, kSecond) == numbers(0, 200));
}

TEST_CASE("change: a table that there is not is refused, and nothing has changed",
          "[export][unit]") {
    TablesExport unknown(ExportMode::copy, {{"main", "fourth"}});
    CHECK_THROWS_WITH(unknown.start(),
                      "udp 192.0.2.1:4739: there is no table fourth among main, "
                      "second, third");
    TablesExport tables(ExportMode::copy, {{"main"}});
    tables.start();
    CHECK_THROWS_AS(tables.change(0, {"main", "fourth"}), ExportError);
    tables.put(0, 100);
    tables.run();
    tables.finish();
    CHECK(tables.received(0, kMain) == numbers(0, 100));
}

TEST_CASE("change: a table whose records do not fit a collector's messages is refused",
          "[export][unit]") {
    const RecordLayout large = RecordLayout::of(
        groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup, MplsGroup, TcpAnalysisGroup>(),
        FlowDirection::biflow);
    const FileDescriptor receiver = bind_loopback(SOCK_DGRAM, 0);
    TablesExport tables(ExportMode::copy, {{"main"}});
    CollectorOptions& udp = tables.options.collectors[0];
    udp.host = "127.0.0.1";
    udp.port = port_of(receiver);
    udp.mtu = 512;
    tables.metering.further = {{.name = "large", .layout = large}};
    ExportCounters counters(1, 1);
    ExportWorker worker(tables.options, tables.metering, {&tables.main}, counters, {});
    udp.tables = {"main", "large"};
    CHECK_THROWS_WITH(
        worker.change(tables.options, tables.accounts),
        Catch::Contains("table large: an IPFIX message of at most 512 octets cannot hold"));
    tables.main.put_many(10);
    for (int calls = 0; !worker.finish(at(milliseconds{10 * calls})); ++calls) {
        REQUIRE(calls < 1000);
    }
    CHECK(counters.queues[0].exported.read().records == 10);
    udp.mtu = 1400;
    CHECK_NOTHROW(ExportWorker(tables.options, tables.metering, {&tables.main}, counters, {}));
}

TEST_CASE("IpfixFormat: a collector is told of the tables alone that it takes", "[export][unit]") {
    const auto tables = GENERATE(Tables{"main"}, Tables{"second"}, kBoth);
    const bool has_main = tables.front() == "main";
    const bool has_second = tables.back() == "second";
    FileOfTables file(tables, RecordLayout::of(groups_of<ExtremesGroup, Layer2Group, TunnelGroup>(),
                                               FlowDirection::biflow));
    file.losses.lost = {.records = 100, .packets = 0, .octets = 0};
    file.losses.further_lost = {{"second", {.records = 30, .packets = 0, .octets = 0}}};
    file.start();
    file.put_and_run(50);
    const FileContent content = file.finish();
    using ByTable = FileContent::ByTable;
    ByTable records;
    if (has_main) {
        records[kMain] = 50;
    }
    if (has_second) {
        records[kSecond] = 50;
    }
    CHECK(content.records == records);
    CHECK(content.templates.contains(kMain) == has_main);
    CHECK(content.templates.contains(kSecond) == has_second);
    CHECK(content.flow_keys.contains(kMain) == has_main);
    CHECK(content.flow_keys.contains(kSecond) == has_second);
    CHECK(content.types.contains("tunnelType") == has_second);
    CHECK(content.types.contains("reverseTunnelType") == has_second);
    CHECK(content.not_sent == (has_main ? 100U : 0U) + (has_second ? 30U : 0U));
}

TEST_CASE("IpfixFormat: a table that is added is announced, in a file in use too",
          "[export][unit]") {
    FileOfTables file({"main"}, RecordLayout::of(groups_of<TunnelGroup>()));
    file.start();
    file.put_and_run(10);
    file.change(kBoth);
    file.put_and_run(10);
    file.change({"main"});
    file.put_and_run(10);
    const FileContent content = file.finish();
    CHECK(content.records == FileContent::ByTable{{kMain, 30}, {kSecond, 10}});
    CHECK(content.types.contains("tunnelType"));
    CHECK(content.templates.at(kMain) == 8);
    CHECK(content.templates.at(kSecond) >= 8);
    CHECK(file.counters.queues[1].read_lost(ExportLoss::no_collector).records == 20);
}

TEST_CASE("IpfixFormat: template ids and messages of the main table do not depend on others",
          "[export][unit]") {
    std::array<std::vector<char>, 2> octets;
    for (const bool has_second : {false, true}) {
        FileOfTables file({"main"});
        file.options.options_interval = {};
        if (!has_second) {
            file.metering.further.clear();
        }
        std::vector<RecordSource*> queues{&file.main};
        file.worker = std::make_unique<ExportWorker>(file.options, file.metering, queues,
                                                     file.counters, CollectorEventHandler{});
        file.put_and_run(500);
        static_cast<void>(file.finish());
        std::ifstream in(file.path, std::ios::binary);
        octets.at(has_second ? 1 : 0).assign(std::istreambuf_iterator<char>(in), {});
    }
    CHECK(octets[0].size() > 10'000);
    CHECK(octets[0] == octets[1]);
}

TEST_CASE("Spool: records of a table are sent from it, also when it is taken no more",
          "[export][unit]") {
    const TemporaryDirectory directory;
    {
        TcpOfTables first(kBoth, directory.path());
        first.collectors[0].go_away();
        first.start();
        first.put(0, 3000);  // more than fits the buffer
        first.run(milliseconds{1000});
        first.finish();
        const CollectorCounters& account = first.both.collectors[0];
        CHECK(account.spooled.read() == RecordTally{6000, 69'000, 6'900'000});
        CHECK(account.tables[kMain].spooled.read() == RecordTally{3000, 30'000, 3'000'000});
        CHECK(account.tables[kSecond].spooled.read() == RecordTally{3000, 39'000, 3'900'000});
        CHECK(first.both.queues[1].spooled.read().records == 3000);
        first.worker.reset();
    }
    TcpOfTables next({"main"}, directory.path());
    next.start();
    next.put(3000, 3100);
    next.run(milliseconds{5000});
    next.finish();
    const CollectorCounters& account = next.both.collectors[0];
    CHECK(next.collectors[0].ports.size() == 6100);  // all of them decoded
    CHECK(account.inherited.read().records == 6000);
    CHECK(account.records.read().records == 6100);
    CHECK(account.tables[kMain].records.read().records == 100);
    CHECK(account.tables[kSecond].records.read().records == 0);
    CHECK(next.both.queues[1].read_lost(ExportLoss::no_collector).records == 100);
}

TEST_CASE("GroupSpool: records of a table are sent from it, also when it is taken no more",
          "[export][unit]") {
    const TemporaryDirectory directory;
    {
        TablesExport first(ExportMode::failover, {kBoth});
        first.options.spool = {.directory = directory.path()};
        first.receivers[0].is_there = false;
        first.start();
        first.put(0, 400);
        first.run(milliseconds{6000});
        first.finish();
        CHECK(first.counters->group_spool.spooled.read() == RecordTally{800, 9200, 920'000});
        CHECK(first.counters->queues[kSecond].spooled.read().records == 400);
        first.worker.reset();
    }
    TablesExport next(ExportMode::failover, {{"main"}});
    next.options.spool = {.directory = directory.path()};
    next.start();
    next.put(400, 500);
    next.run(milliseconds{5000});
    for (int calls = 0; !next.worker->finish(at(next.uptime)); ++calls) {
        REQUIRE(calls < 1000);
    }
    CHECK(next.received(0, kSecond) == numbers(0, 400));
    CHECK(next.received(0, kMain).size() == 500);
    CHECK(next.lost(kSecond, ExportLoss::no_collector).records == 100);
    CHECK(next.part(0, kMain).records.read().records == 100);
    CHECK(next.counters->collectors[0].records.read().records == 900);
}
