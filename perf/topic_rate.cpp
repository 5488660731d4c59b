// SPDX-License-Identifier: Apache-2.0
// The export thread's time per record into a topic, in FlowMessages and in JSON: encoding, handing
// to librdkafka, and its delivery reports. The brokers are librdkafka's own mock, in this process
// and beside the export thread; the library's threads, which compress and send, are not counted.
// Records are of IPv4 flows with the default fields, all different, in memory.
//
//   topic_rate                 JSON on standard output
//   topic_rate --check         only checks that the topic has every record
//                              (--help: all options)

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/messages/protobuf_reader.hpp"
#include "flowcache/record/flow_record.hpp"
#include "perf/support/ended_records.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/random.hpp"
#include "perf/support/report_failure.hpp"
#include "tests/support/kafka_mock.hpp"

namespace tributary::perf {
namespace {

using std::chrono::milliseconds;
using Record = FlowRecord<kPlainRecord>;

constexpr std::uint32_t kRecords = 1U << 16U;  ///< repeated
constexpr int kPartitions = 4;

/// Records of which each member varies that varies on a link: a compressor finds no other record's
/// octets in them.
std::vector<Record> varied_records() {
    constexpr std::uint32_t kMostPackets = 200;
    constexpr std::uint32_t kShortest = 46;
    constexpr std::uint32_t kLengths = 1400;
    constexpr std::uint32_t kMostMilliseconds = 30'000;
    std::vector<Record> records = ended_records(kRecords);
    std::uint32_t random = 1;
    const auto below = [&random](std::uint32_t end) { return scrambled(random++) % end; };
    for (Record& record : records) {
        FlowRecordCore& core = record.core;
        const std::uint32_t destination = scrambled(random++);
        std::memcpy(core.key.destination.data(), &destination, sizeof destination);
        core.key.source_port.value = static_cast<std::uint16_t>(below(1U << 16U));
        core.key.destination_port.value = below(2) == 0 ? 443 : 53;
        core.key.protocol = below(2) == 0 ? ip_protocol::kTcp : ip_protocol::kUdp;
        core.packets = 1 + below(kMostPackets);
        core.octets = core.packets * (kShortest + below(kLengths));
        core.start += milliseconds(below(kMostMilliseconds));
        core.end = core.start + milliseconds(below(kMostMilliseconds));
    }
    return records;
}

/// Gives the records in turn, up to a given number.
class MemorySource final : public RecordSource {
public:
    std::uint64_t left = 0;
    RecordTally given;

    [[nodiscard]] std::size_t drain(std::span<std::byte> out,
                                    std::size_t max_records) noexcept override {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(max_records, left));
        for (std::size_t i = 0; i < count; ++i) {
            const Record& record = records_[next_];
            std::memcpy(out.data() + i * sizeof(Record), &record, sizeof(Record));
            given += {1, record.core.packets, record.core.octets};
            next_ = (next_ + 1) % kRecords;
        }
        left -= count;
        return count;
    }
    [[nodiscard]] const RecordLayout& layout() const noexcept override { return layout_; }

private:
    std::vector<Record> records_ = varied_records();
    std::size_t next_ = 0;
    RecordLayout layout_;
};

RecordTally tally_of_json(const std::string& value) {
    const auto record = nlohmann::json::parse(value);
    return {1, record.at("iana:packetDeltaCount"), record.at("iana:octetDeltaCount")};
}

/// @source  goflow2: flow.proto: bytes 9, packets 10
RecordTally tally_of_flow_message(const std::string& value) {
    constexpr std::uint32_t kBytes = 9;
    constexpr std::uint32_t kPackets = 10;
    RecordTally tally{.records = 1};
    ProtobufReader fields(std::as_bytes(std::span(value)));
    for (auto field = fields.next(); field; field = fields.next()) {
        if (field->is(kPackets, ProtobufWireType::varint)) {
            tally.packets = field->number;
        } else if (field->is(kBytes, ProtobufWireType::varint)) {
            tally.octets = field->number;
        }
    }
    return tally;
}

struct Way {
    std::string name;
    RecordFormatKind format{};
    std::string compression;
    RecordTally (*tally_of)(const std::string& value){};
};

/// An export worker, and a topic of its own.
class Topic {
public:
    explicit Topic(const Way& way) : way_(way) {
        options_.flush_interval = milliseconds{50};
        options_.probe.name = "probe-1.example.org";
        options_.probe.address = "192.0.2.1";
        CollectorOptions& collector = options_.collectors.emplace_back(mock_.collector());
        collector.format = way.format;
        collector.kafka.properties.clear();
        collector.kafka.compression = way.compression;
        worker_ = std::make_unique<ExportWorker>(options_, MeteringProcess{},
                                                 std::vector<RecordSource*>{&source_}, counters_,
                                                 CollectorEventHandler{});
        work(1);  // connects
    }
    /// Until the broker has acknowledged all of them.
    void work(std::uint64_t records) {
        constexpr std::chrono::seconds kPatience{60};
        const auto give_up = std::chrono::steady_clock::now() + kPatience;
        source_.left = records;
        while (arrived().records < source_.given.records || source_.left > 0) {
            if (!worker_->step(now())) {
                demand(std::chrono::steady_clock::now() < give_up, "every record arrives");
                std::this_thread::sleep_for(milliseconds{1});
            }
        }
        demand(arrived() == source_.given, "records, packets and octets that have arrived");
    }
    /// Checks what the topic has.
    void check(std::uint64_t records) {
        work(records);
        RecordTally found;
        for (const auto& [partition, values] : mock_.read(kPartitions)) {
            for (const std::string& value : values) {
                found += way_.tally_of(value);
            }
        }
        demand(found == source_.given, "records, packets and octets in the topic");
    }

private:
    [[nodiscard]] static ExportTime now() {
        return {.wall = Timestamp{std::chrono::seconds{1'600'000'010}},
                .uptime = std::chrono::steady_clock::now().time_since_epoch()};
    }
    [[nodiscard]] RecordTally arrived() const { return counters_.collectors[0].records.read(); }

    Way way_;
    test::KafkaMock mock_{kPartitions};
    ExportOptions options_;
    MemorySource source_;
    ExportCounters counters_{1, 1};
    std::unique_ptr<ExportWorker> worker_;
};

void measure(const std::vector<Way>& ways, int rounds, std::uint64_t records) {
    std::vector<std::unique_ptr<Topic>> topics;
    std::vector<Subject> subjects;
    for (const Way& way : ways) {
        Topic* const topic = topics.emplace_back(std::make_unique<Topic>(way)).get();
        subjects.push_back(
            {.name = way.name, .work = [topic](std::uint64_t count) { topic->work(count); }});
    }
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Figure& figure : measure_in_turn(subjects, rounds, records)) {
        json.push_back({{"name", figure.name},
                        {"ns", figure.median},
                        {"ns_least", figure.least},
                        {"ns_most", figure.most}});
    }
    std::cout << json.dump(2) << "\n";
}

int run(int argc, char** argv) {
    constexpr std::uint64_t kChecked = 5000;  // the mock keeps 5 MiB of each partition
    bool check_only = false;
    int rounds = 5;
    std::uint64_t records = 500'000;
    CLI::App app("What the export thread spends on a record for a topic");
    app.add_flag("--check", check_only, "only check that the topic has every record");
    app.add_option("--rounds", rounds, "of which the median is taken");
    app.add_option("--records", records, "per round");
    CLI11_PARSE(app, argc, argv);
    std::vector<Way> ways;
    for (const std::string compression : {"none", "lz4"}) {
        ways.push_back({"flowmessage, compression " + compression, RecordFormatKind::flowmessage,
                        compression, tally_of_flow_message});
        ways.push_back({"json, compression " + compression, RecordFormatKind::json, compression,
                        tally_of_json});
    }
    for (const Way& way : ways) {
        Topic(way).check(kChecked);
    }
    if (!check_only) {
        measure(ways, rounds, records);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
