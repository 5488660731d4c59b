// SPDX-License-Identifier: Apache-2.0
// Queues whose records have different layouts, through one export worker.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/ipfix/template_ids.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/plain_collector.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/two_layouts.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint32_t kPackets = 2;
constexpr std::uint32_t kMinimumTtl = 52;

/// An export to a file and to a TCP collector of two queues, whose records differ.
struct MixedExport {
    /// @param second  the layout of the further table; of biflow_of(), or a part of that
    explicit MixedExport(ExportMode mode = ExportMode::copy, std::size_t count = 1,
                         const RecordLayout& second = kSecondLayout)
        : collectors(count), biflows(second, 1) {
        metering.further = {{.name = "second", .layout = second}};
        options.mode = mode;
        export_by_tcp(options, collectors);
        take_both(options);
    }
    void write_file_too(const std::string& path) {
        CollectorOptions& file = options.collectors.emplace_back();
        file.transport = TransportKind::file;
        file.path = path;
        take_both(options);
    }
    void start() {
        counters = std::make_unique<ExportCounters>(2, options.collectors.size());
        worker = std::make_unique<ExportWorker>(options, metering,
                                                std::vector<RecordSource*>{&uniflows, &biflows},
                                                *counters, CollectorEventHandler{}, factory);
    }
    /// One record of each queue at a time, so that the layouts alternate.
    void put_and_run(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            uniflows.put(record_of(number));
            biflows.put(biflow_of(number));
            static_cast<void>(worker->step(at(uptime)));
        }
    }
    void run(milliseconds lasting) {
        for (const milliseconds end = uptime + lasting; uptime < end; uptime += milliseconds{50}) {
            for (int steps = 0; worker->step(at(uptime)); ++steps) {
                REQUIRE(steps < 10'000);
            }
            hear();
            std::this_thread::sleep_for(milliseconds{1});
        }
    }
    void finish() {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 100'000);
            uptime += milliseconds{10};
            hear();
        }
        worker->close();
        hear();
    }
    void hear() {
        for (TcpCollector& collector : collectors) {
            collector.hear();
        }
    }
    [[nodiscard]] RecordTally exported(std::size_t queue) const {
        return counters->queues[queue].exported.read();
    }

    std::vector<TcpCollector> collectors;
    ExportOptions options;
    MeteringProcess metering;
    RecordQueue uniflows;
    RecordQueue biflows;
    CollectorFactory factory = make_collector;
    std::unique_ptr<ExportCounters> counters;
    std::unique_ptr<ExportWorker> worker;
    milliseconds uptime{0};
};

/// An export in failover to one receiver, with a spool of the group in the directory.
std::unique_ptr<MixedExport> with_group_spool(const TemporaryDirectory& directory,
                                              PlainReceiver& receiver, const RecordLayout& second) {
    auto made = std::make_unique<MixedExport>(ExportMode::failover, 1, second);
    made->options.spool = {.directory = directory.path()};
    made->options.drain_timeout = milliseconds{200};
    made->factory = PlainAmong{{{0, &receiver}}};
    return made;
}

}  // namespace

TEST_CASE("ExportWorker: records of two layouts reach file and collector, in one sequence",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    constexpr std::uint16_t kFlows = 1000;
    MixedExport mixed;
    mixed.write_file_too(path);
    mixed.start();
    mixed.run(milliseconds{500});
    mixed.put_and_run(0, kFlows);
    mixed.run(milliseconds{2000});
    mixed.finish();
    CHECK(mixed.exported(0) == RecordTally{kFlows, 10 * kFlows, 1000 * kFlows});
    CHECK(mixed.exported(1) == RecordTally{kFlows, 13 * kFlows, 1300 * kFlows});

    std::uint64_t uniflows = 0;
    std::uint64_t biflows = 0;
    std::set<std::uint16_t> ids;
    std::size_t data_messages = 0;
    for (const DecodedMessage& message : decode_file(path)) {
        data_messages += message.records.empty() ? 0 : 1;
        for (const DecodedRecord& record : message.records) {
            if (record.is_option) {
                continue;
            }
            ids.insert(record.template_id);
            const bool is_second = record.template_id >= kFurtherTemplateIds;
            REQUIRE(record.number(kPackets) == 10);
            REQUIRE(record.has(kMinimumTtl) == is_second);
            REQUIRE(record.has(kReversed + kPackets) == is_second);
            if (is_second) {
                REQUIRE(record.number(kReversed + kPackets) == 3);
                REQUIRE(record.number(kSourcePort) == biflows);
                ++biflows;
            } else {
                REQUIRE(record.number(kSourcePort) == uniflows);
                ++uniflows;
            }
        }
    }
    CHECK(uniflows == kFlows);
    CHECK(biflows == kFlows);
    CHECK(ids.size() == 5);     // IPv4; and IPv4 and IPv6, each with a VLAN and without
    CHECK(data_messages < 20);  // alternating layouts do not end messages
    CHECK(mixed.collectors[0].ports.size() == 2 * std::size_t{kFlows});
}

TEST_CASE("ExportWorker: records of a further table have the elements of its key",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    MixedExport mixed;
    KeyDescriptor key;
    key.destination_port = false;
    mixed.metering.further[0].elements.key = key;
    mixed.write_file_too(path);
    mixed.start();
    mixed.put_and_run(0, 10);
    mixed.finish();
    std::size_t records = 0;
    for (const DecodedMessage& message : decode_file(path)) {
        for (const DecodedRecord& record : message.records) {
            if (!record.is_option) {
                REQUIRE(record.has(kSourcePort));
                REQUIRE(record.has(kDestinationPort) == (record.template_id < kFurtherTemplateIds));
                ++records;
            }
        }
    }
    CHECK(records == 20);
}

TEST_CASE("ExportWorker: a collector without biflows gets the uniflows of a further layout",
          "[export][unit]") {
    MixedExport mixed;
    mixed.options.collectors[0].direction = FlowDirection::uniflow;
    mixed.start();
    mixed.run(milliseconds{500});
    mixed.put_and_run(0, 100);
    mixed.run(milliseconds{2000});
    mixed.finish();
    CHECK(mixed.collectors[0].ports.size() == 300);
    CHECK(mixed.exported(1) == RecordTally{100, 1300, 130'000});
    CHECK_FALSE(mixed.collectors[0].elements.contains(kReversed + kPackets));
}

TEST_CASE("ExportWorker: what waits in two layouts goes to the other collector, of any kind",
          "[export][unit]") {
    PlainReceiver receiver;
    MixedExport mixed(ExportMode::failover, 2);
    mixed.factory = PlainAmong{{{1, &receiver}}};
    mixed.start();
    mixed.run(milliseconds{500});
    mixed.put_and_run(0, 200);
    mixed.collectors[0].go_away();
    mixed.run(milliseconds{3000});
    mixed.put_and_run(200, 300);
    mixed.run(milliseconds{1000});
    mixed.finish();
    CHECK(mixed.collectors[0].ports.size() + receiver.ports.size() == 600);
    CHECK(std::ranges::count(receiver.layouts, 0U) >= 100);
    CHECK(std::ranges::count(receiver.layouts, 1U) >= 100);
    CHECK(mixed.exported(0).records == 300);
    CHECK(mixed.exported(1).records == 300);
}

TEST_CASE("ExportWorker: the group's spool keeps two layouts, and gives up the one that is gone",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const auto exports = [&directory](PlainReceiver& receiver) {
        return with_group_spool(directory, receiver, kSecondLayout);
    };
    PlainReceiver away;
    away.is_there = false;
    const auto first = exports(away);
    first->start();
    first->put_and_run(0, 200);
    first->run(milliseconds{6000});
    first->put_and_run(200, 250);
    first->finish();
    CHECK(first->counters->group_spool.spooled.read() == RecordTally{500, 5750, 575'000});
    first->worker.reset();

    PlainReceiver heir;
    const auto next = exports(heir);
    const bool is_gone = GENERATE(false, true);
    if (is_gone) {
        next->metering.further.clear();
        next->options.collectors[0].tables = {"main"};
    }
    const auto counters = std::make_unique<ExportCounters>(1, 1);
    ExportWorker worker(next->options, next->metering, {&next->uniflows}, *counters, {},
                        next->factory);
    for (milliseconds uptime{0}; uptime < milliseconds{4000}; uptime += milliseconds{50}) {
        static_cast<void>(worker.step(at(uptime)));
    }
    CHECK(std::ranges::count(heir.layouts, 0U) == 250);
    CHECK(std::ranges::count(heir.layouts, 1U) == (is_gone ? 0 : 250));
    const CollectorCounters& spool = counters->group_spool;
    CHECK(spool.inherited.read() == RecordTally{500, 5750, 575'000});
    CHECK(spool.read_lost(ExportLoss::spool_unusable) ==
          (is_gone ? RecordTally{250, 3250, 325'000} : RecordTally{}));
    CHECK(spool.read_lost(ExportLoss::spool_damaged) == RecordTally{});
    CHECK(spool.records.read().records == (is_gone ? 250 : 500));
    for (int calls = 0; !worker.finish(at(milliseconds{5000 + calls})); ++calls) {
        REQUIRE(calls < 10'000);
    }
}

TEST_CASE("ExportWorker: the group's spool keeps two tables of one layout apart",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const auto exports = [&directory](PlainReceiver& receiver) {
        auto made = with_group_spool(directory, receiver, RecordLayout{});
        made->metering.further[0].elements.key.destination_port = false;
        return made;
    };
    PlainReceiver away;
    away.is_there = false;
    const auto first = exports(away);
    first->start();
    first->put_and_run(0, 200);
    first->run(milliseconds{6000});
    first->finish();
    CHECK(first->counters->group_spool.spooled.read().records == 400);
    first->worker.reset();

    PlainReceiver heir;
    const auto next = exports(heir);
    next->start();
    next->run(milliseconds{4000});
    CHECK(std::ranges::count(heir.layouts, 0U) == 200);
    CHECK(std::ranges::count(heir.layouts, 1U) == 200);
    next->finish();
}

TEST_CASE("ExportWorker: a source of a layout that is not known is refused", "[export][unit]") {
    ExportOptions options = without_options_records();
    options.collectors.resize(1);
    options.collectors[0].host = "127.0.0.1";
    ExportCounters counters(1, 1);
    for (const std::size_t table : {0U, 1U}) {
        RecordQueue biflows(kSecondLayout, table);
        CHECK_THROWS_AS(ExportWorker(options, {}, {&biflows}, counters, {}), ExportError);
    }
}

TEST_CASE("ExportWorker: two tables of one layout have the elements of their own keys",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    ExportOptions options = without_options_records();
    options.collectors.resize(1);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = path;
    KeyDescriptor key;
    key.destination_port = false;
    MeteringProcess metering;
    metering.further = {{.name = "second", .layout = {}, .elements = {.key = key}}};
    take_both(options);
    RecordQueue flows;
    RecordQueue nets({}, 1);
    flows.put(record_of(1));
    nets.put(record_of(2));
    ExportCounters counters(2, 1);
    ExportWorker worker(options, metering, {&flows, &nets}, counters, {});
    for (int calls = 0; !worker.finish(at(milliseconds{calls})); ++calls) {
        REQUIRE(calls < 10'000);
    }
    worker.close();
    std::map<std::uint64_t, bool> has_port;  // by the number of the record
    for (const DecodedMessage& message : decode_file(path)) {
        for (const DecodedRecord& record : message.records) {
            has_port[record.number(kSourcePort)] = record.has(kDestinationPort);
        }
    }
    CHECK(has_port == std::map<std::uint64_t, bool>{{1, true}, {2, false}});
}

TEST_CASE("first_template_id: each place has its own range, whatever the others have",
          "[export][unit]") {
    const RecordLayout plain;
    const RecordLayout largest = RecordLayout::of(kEveryGroup, FlowDirection::biflow);
    CHECK(RecordShapes(largest).count() == 8640);
    CHECK(first_template_id(0, plain) == 256);
    CHECK(first_template_id(0, largest) == 256);
    CHECK(first_template_id(1, plain) == 0x4000);
    CHECK(first_template_id(2, plain) == 0x4B00);
    CHECK(first_template_id(kTablePlaces, plain) == 0xE500);
    CHECK_THROWS_AS(first_template_id(1, largest), ExportError);
}

TEST_CASE("first_template_id: tables that follow each other have other ids, in turn",
          "[export][unit]") {
    const RecordLayout plain;
    std::set<std::uint16_t> ids;
    for (std::size_t turn = 0; turn < 11; ++turn) {
        const std::uint16_t id = first_template_id(2, plain, turn);
        CHECK(id >= 0x4B00);
        CHECK(id < 0x5600);
        CHECK(ids.insert(id).second);
    }
    CHECK(first_template_id(2, plain, 11) == 0x4B00);
}
