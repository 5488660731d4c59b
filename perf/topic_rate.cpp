// SPDX-License-Identifier: Apache-2.0
// The export thread's time per record into a topic, in FlowMessages and in JSON: encoding, handing
// to librdkafka, and its delivery reports; and how many records per second the brokers acknowledge.
// The brokers are librdkafka's own mock, in this process, or with --brokers real ones. The time of
// the library's threads, which compress and send, is part of that of all threads alone. Records are
// of IPv4 flows with the default fields, all different, in memory.
//
//   topic_rate                 JSON on standard output
//   topic_rate --check         only checks that the topic has every record
//   topic_rate --topics        only lists the topics that it needs of real brokers, each new and
//                              with 4 partitions
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
#include "export/messages/framing.hpp"
#include "export/messages/protobuf_reader.hpp"
#include "flowcache/record/flow_record.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/report_failure.hpp"
#include "perf/support/this_thread.hpp"
#include "perf/support/varied_records.hpp"
#include "tests/support/kafka_mock.hpp"

namespace tributary::perf {
namespace {

using std::chrono::milliseconds;
using Record = FlowRecord<kPlainRecord>;

constexpr std::uint32_t kRecords = 1U << 16U;  ///< repeated
constexpr int kPartitions = 4;

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
    std::vector<Record> records_ = varied_records(kRecords);
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
    MessageView octets = std::as_bytes(std::span(value));
    ProtobufReader fields(take_delimited(octets));
    ProtobufField field;
    while (fields.next(field)) {
        if (field.is(kPackets, ProtobufWireType::varint)) {
            tally.packets = field.number;
        } else if (field.is(kBytes, ProtobufWireType::varint)) {
            tally.octets = field.number;
        }
    }
    return tally;
}

struct Way {
    std::string format;
    RecordFormatKind kind{};
    std::string compression;
    RecordTally (*tally_of)(const std::string& value){};

    [[nodiscard]] std::string topic() const { return format + "-" + compression; }
};

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Of a round.
struct Round {
    double per_second{};  ///< records that the brokers have acknowledged
    double process_ns{};  ///< CPU time of all threads per record
};

/// An export worker, and a topic of its own.
class Topic {
public:
    /// @param brokers  empty: a mock of one
    Topic(const Way& way, const std::string& brokers)
        : way_(way),
          mock_(brokers.empty() ? std::make_unique<test::KafkaMock>(kPartitions) : nullptr) {
        options_.flush_interval = milliseconds{50};
        options_.probe.name = "probe-1.example.org";
        options_.probe.address = "192.0.2.1";
        options_.collectors.push_back(mock_ ? mock_->collector() : CollectorOptions{});
        CollectorOptions& collector = options_.collectors.front();
        collector.transport = TransportKind::kafka;
        collector.format = way.kind;
        collector.kafka.properties.clear();
        collector.kafka.compression = way.compression;
        if (!mock_) {
            collector.kafka.brokers = brokers;
            collector.kafka.topic = way.topic();
        }
        worker_ = std::make_unique<ExportWorker>(options_, MeteringProcess{},
                                                 std::vector<RecordSource*>{&source_}, counters_,
                                                 CollectorEventHandler{});
    }
    /// Checks that records are in the topic, which is new.
    void check(std::uint64_t records) {
        deliver(records);
        RecordTally found;
        for (const auto& [partition, values] :
             test::read_topic(options_.collectors.front().kafka, kPartitions)) {
            for (const std::string& value : values) {
                found += way_.tally_of(value);
            }
        }
        demand(found == source_.given, "records, packets and octets in " + way_.topic());
    }
    /// A round.
    void work(std::uint64_t records) {
        const double start = seconds_now();
        const double cpu_start = cpu_time_of_this_process();
        deliver(records);
        const auto count = static_cast<double>(records);
        rounds_.push_back({.per_second = count / (seconds_now() - start),
                           .process_ns = (cpu_time_of_this_process() - cpu_start) * 1e9 / count});
    }
    /// @param figure  of the export thread's time
    [[nodiscard]] nlohmann::ordered_json results(const Figure& figure) const {
        std::vector<double> rates;
        std::vector<double> process_times;
        for (const Round& round : std::span(rounds_).subspan(1)) {  // the first one warms up
            rates.push_back(round.per_second);
            process_times.push_back(round.process_ns);
        }
        return {{"format", way_.format},
                {"compression", way_.compression},
                {"topic", way_.topic()},
                {"ns", figure.median},
                {"ns_least", figure.least},
                {"ns_most", figure.most},
                {"ns_of_all_threads", median_of(process_times)},
                {"acknowledged_per_second", median_of(rates)},
                {"acknowledged", arrived().records}};
    }

private:
    [[nodiscard]] static ExportTime now() {
        return {.wall = Timestamp{std::chrono::seconds{1'600'000'010}},
                .uptime = std::chrono::steady_clock::now().time_since_epoch()};
    }
    [[nodiscard]] RecordTally arrived() const { return counters_.collectors[0].records.read(); }

    /// Until the brokers have acknowledged all of them.
    void deliver(std::uint64_t records) {
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

    ExportCounters counters_{1, 1};
    Way way_;
    std::unique_ptr<test::KafkaMock> mock_;
    ExportOptions options_;
    MemorySource source_;
    std::vector<Round> rounds_;
    std::unique_ptr<ExportWorker> worker_;
};

using Topics = std::vector<std::unique_ptr<Topic>>;

void measure(const Topics& topics, int rounds, std::uint64_t records) {
    std::vector<Subject> subjects;
    for (const std::unique_ptr<Topic>& topic : topics) {
        subjects.push_back(
            {.name = {}, .work = [&topic](std::uint64_t count) { topic->work(count); }});
    }
    const std::vector<Figure> figures = measure_in_turn(subjects, rounds, records);
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < topics.size(); ++i) {
        json.push_back(topics[i]->results(figures[i]));
    }
    std::cout << json.dump(2) << "\n";
}

int run(int argc, char** argv) {
    constexpr std::uint64_t kChecked = 5000;  // the mock keeps 5 MiB of each partition
    bool check_only = false;
    bool list_only = false;
    int rounds = 5;
    std::uint64_t records = 500'000;
    std::string brokers;
    std::vector<std::string> compressions{"none", "lz4"};
    CLI::App app("What the export thread spends on a record for a topic");
    app.add_flag("--check", check_only, "only check that the topic has every record");
    app.add_flag("--topics", list_only, "only list the topics");
    app.add_option("--rounds", rounds, "of which the median is taken");
    app.add_option("--records", records, "per round");
    app.add_option("--brokers", brokers, "HOST:PORT,...; by default a mock of one");
    app.add_option("--compressions", compressions, "none, gzip, snappy, lz4, zstd");
    CLI11_PARSE(app, argc, argv);
    std::vector<Way> ways;
    for (const std::string& compression : compressions) {
        ways.push_back(
            {"flowmessage", RecordFormatKind::flowmessage, compression, tally_of_flow_message});
        ways.push_back({"json", RecordFormatKind::json, compression, tally_of_json});
    }
    if (list_only) {
        for (const Way& way : ways) {
            std::cout << way.topic() << "\n";
        }
        return EXIT_SUCCESS;
    }
    Topics topics;
    for (const Way& way : ways) {
        topics.emplace_back(std::make_unique<Topic>(way, brokers))->check(kChecked);
    }
    if (!check_only) {
        measure(topics, rounds, records);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
