// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/ipfix_elements.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::seconds;

namespace {

/// The options records in one file, and how many messages and flow records come before each round.
struct Told {
    std::vector<std::uint64_t> exported_records;
    std::vector<std::uint64_t> exported_messages;
    std::vector<std::uint64_t> ignored_packets;
    std::vector<std::uint64_t> not_sent;
    std::vector<std::uint64_t> records_before;
    std::vector<std::uint64_t> messages_before;
    std::size_t flow_keys = 0;
    std::uint64_t records = 0;
};

Told told_in(const std::string& path) {
    Told told;
    std::uint64_t messages = 0;
    for (const DecodedMessage& message : decode_file(path)) {
        for (const DecodedRecord& record : message.records) {
            told.records += record.is_option ? 0 : 1;
            told.flow_keys += record.has(kFlowKeys) ? 1 : 0;
            if (record.has(kExportedRecords)) {
                told.exported_records.push_back(record.number(kExportedRecords));
                told.exported_messages.push_back(record.number(kExportedMessages));
                told.records_before.push_back(told.records);
                told.messages_before.push_back(messages);
            } else if (record.has(kIgnoredPackets)) {
                told.ignored_packets.push_back(record.number(kIgnoredPackets));
            } else if (record.has(kNotSentFlows)) {
                told.not_sent.push_back(record.number(kNotSentFlows));
            }
        }
        ++messages;
    }
    return told;
}

struct FileWithOptions {
    explicit FileWithOptions(seconds interval, const CollectorOptions& collector = {},
                             const std::vector<ObservedInterface>& interfaces = {}) {
        ExportOptions options;
        options.options_interval = interval;
        options.collectors = {collector};
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = path;
        MeteringProcess metering;
        metering.interfaces = interfaces;
        metering.totals = [this] { return totals; };
        worker =
            std::make_unique<ExportWorker>(options, metering, std::vector<RecordSource*>{&queue},
                                           counters, CollectorEventHandler{});
    }
    ~FileWithOptions() { std::filesystem::remove(path); }

    void run(seconds uptime) { static_cast<void>(worker->step(at(uptime))); }
    void finish(seconds uptime) {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 10);
        }
    }

    std::string path = (std::filesystem::temp_directory_path() /
                        ("tributary-options-" + std::to_string(::getpid()) + ".ipfix"))
                           .string();
    RecordQueue queue;
    ExportCounters counters{1, 1};
    PreExportLosses totals;
    std::unique_ptr<ExportWorker> worker;
};

}  // namespace

TEST_CASE("options records: at the beginning, after each interval and at the end, exact each time",
          "[export][unit]") {
    FileWithOptions exports(seconds{60});
    exports.run(seconds{0});
    exports.queue.put_many(100);
    exports.run(seconds{1});
    exports.run(seconds{59});
    exports.totals.ignored_packets = 7;
    exports.run(seconds{60});
    exports.queue.put_many(11);
    exports.totals.ignored_packets = 9;
    exports.totals.lost = {.records = 2, .packets = 20, .octets = 200};
    exports.finish(seconds{61});
    const Told told = told_in(exports.path);
    CHECK(told.records == 111);
    CHECK(told.exported_records == std::vector<std::uint64_t>{0, 100, 111});
    CHECK(told.records_before == told.exported_records);
    CHECK(told.messages_before == told.exported_messages);
    CHECK(told.ignored_packets == std::vector<std::uint64_t>{0, 7, 9});
    CHECK(told.not_sent == std::vector<std::uint64_t>{0, 0, 2});
    CHECK(told.flow_keys == 24);  // of eight templates, three times
}

TEST_CASE("options records: an interval of 0 switches them off, templates included",
          "[export][unit]") {
    FileWithOptions exports(seconds{0});
    exports.queue.put_many(5);
    exports.run(seconds{0});
    exports.finish(seconds{200});
    const Told told = told_in(exports.path);
    CHECK(told.records == 5);
    CHECK(told.exported_records.empty());
    for (const DecodedMessage& message : decode_file(exports.path)) {
        CHECK(message.templates <= 8);
    }
}

TEST_CASE("options records: the last ones come when no more packets do", "[export][unit]") {
    FileWithOptions exports(seconds{60});
    exports.run(seconds{0});
    exports.queue.put_many(1);
    for (int calls = 0; calls < 5; ++calls) {
        CHECK_FALSE(exports.worker->finish(at(seconds{1}), false));
    }
    exports.totals.ignored_packets = 4;  // an input thread that was not done
    exports.finish(seconds{2});
    CHECK(told_in(exports.path).ignored_packets == std::vector<std::uint64_t>{0, 4});
}

TEST_CASE("options records: a new session begins with them, and gets no old ones",
          "[export][unit]") {
    GroupExport group(ExportMode::copy, 1);
    group.options.options_interval = seconds{60};
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(30);
    group.run(milliseconds{2000});
    group.collectors[0].go_away();
    group.run(milliseconds{500});
    group.queue.put_many(20);
    group.run(milliseconds{500});
    group.collectors[0].come_back();
    group.run(milliseconds{20'000});
    group.finish();
    CHECK(group.collectors[0].exported_records == std::vector<std::uint64_t>{0, 30, 50});
    CHECK(group.collectors[0].ports.size() == 50);
}

TEST_CASE("options records: of sampling alone, and where an input is sampled, if configured",
          "[export][unit]") {
    CollectorOptions collector;
    collector.sampling = SamplingForm::netflow_where_sampled;
    collector.options = {.reliability = false,
                         .statistics = false,
                         .interfaces = false,
                         .flow_keys = false,
                         .types = false};
    for (const std::uint32_t one_in : {1U, 10U}) {
        CAPTURE(one_in);
        FileWithOptions file(
            seconds{60}, collector,
            {{.index = 1, .name = "a", .description = "", .sampling = {}},
             {.index = 2, .name = "b", .description = "", .sampling = {.one_in = one_in}}});
        file.queue.put_many(3);
        file.run(seconds{0});
        file.finish(seconds{1});
        std::size_t options = 0;
        std::size_t rates = 0;
        for (const DecodedMessage& message : decode_file(file.path)) {
            for (const DecodedRecord& record : message.records) {
                options += record.is_option ? 1 : 0;
                rates += record.has(kNetflowInterval) ? 1 : 0;
                CHECK((record.is_option || record.has(kSelector) == (one_in > 1)));
            }
        }
        CHECK(rates == options);
        CHECK((rates > 0) == (one_in > 1));
    }
}
