// SPDX-License-Identifier: Apache-2.0
// The export thread's time per record: libfixbuf alone, the encoder beside the former one, and the
// whole export to a file, by UDP, by TCP, and to all three at once. Records are of IPv4 flows with
// the default fields; they come from memory.
//
//   export_rate                 JSON on standard output
//   export_rate --check         only checks that every way delivers every record
//                               (--help: all options)

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/record_template.hpp"
#include "perf/support/ended_records.hpp"
#include "perf/support/fixbuf_messages.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/reading_collectors.hpp"
#include "perf/support/report_failure.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/local_collector.hpp"

namespace tributary::perf {
namespace {

using std::chrono::milliseconds;
using Record = FlowRecord<kPlainRecord>;

constexpr std::uint32_t kRecords = 1024;  ///< repeated
constexpr std::size_t kDatagramOctets = 1400;

/// Repeats the same records, up to a given number.
class MemorySource final : public RecordSource {
public:
    std::uint64_t left = 0;

    [[nodiscard]] std::size_t drain(std::span<std::byte> out,
                                    std::size_t max_records) noexcept override {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(max_records, left));
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(out.data() + i * sizeof(Record), &records_[next_], sizeof(Record));
            next_ = (next_ + 1) % kRecords;
        }
        left -= count;
        return count;
    }
    [[nodiscard]] const RecordLayout& layout() const noexcept override { return layout_; }

private:
    std::vector<Record> records_ = ended_records(kRecords);
    std::size_t next_ = 0;
    RecordLayout layout_;
};

/// libfixbuf frames whole records, as it did before the encoder wrote into the message itself.
class FramingAlone {
public:
    void work(std::uint64_t records) {
        for (std::uint64_t done = 0; done < records; ++done) {
            const auto* const record =
                reinterpret_cast<const std::byte*>(&records_[done % kRecords]);
            if (!framing_.append(record)) {
                keep(framing_.close());
                demand(framing_.append(record), "framing: append");
            }
        }
    }

private:
    std::vector<Record> records_ = ended_records(kRecords);
    FixbufFraming framing_{reinterpret_cast<const std::byte*>(records_.data()), kDatagramOctets};
};

/// IpfixEncoder without a transport.
class EncoderAlone {
public:
    void work(std::uint64_t records) {
        for (std::uint64_t done = 0; done < records; ++done) {
            const auto* const record =
                reinterpret_cast<const std::byte*>(&records_[done % kRecords]);
            if (encoder_.append(record) != AppendResult::added) {
                keep(encoder_.close());
                demand(encoder_.append(record) == AppendResult::added, "encoder: append");
            }
        }
    }

private:
    std::vector<Record> records_ = ended_records(kRecords);
    IpfixEncoder encoder_{{}, {}, kDatagramOctets};
};

/// Checks that the encoder's messages are those of libfixbuf, number and time aside.
void check_encoder() {
    const std::vector<Record> records = ended_records(kRecords);
    FixbufFraming before(reinterpret_cast<const std::byte*>(records.data()), kDatagramOctets);
    IpfixEncoder encoder({}, {}, kDatagramOctets);
    const auto compare = [&] {
        constexpr std::size_t kTimeAndNumberAt = 4;
        constexpr std::size_t kDomainAt = 12;
        const MessageView made = encoder.close().octets;
        const MessageView expected = before.close();
        demand(std::ranges::equal(made.first(kTimeAndNumberAt), expected.first(kTimeAndNumberAt)) &&
                   std::ranges::equal(made.subspan(kDomainAt), expected.subspan(kDomainAt)),
               "the encoder's messages are libfixbuf's");
    };
    for (const Record& each : records) {
        const auto* const record = reinterpret_cast<const std::byte*>(&each);
        if (encoder.append(record) != AppendResult::added) {
            demand(!before.append(record), "a message is as full as libfixbuf's");
            compare();
            demand(encoder.append(record) == AppendResult::added, "encoder: append");
        }
        demand(before.append(record), "framing: append");
    }
    compare();
}

/// What becomes of datagrams.
enum class UdpCollector : std::uint8_t { never_reads, reads, reads_segmented };

/// A whole export worker, and receivers of its messages.
class WholeWay {
public:
    /// @param kinds  a collector of each
    WholeWay(const std::vector<TransportKind>& kinds, UdpCollector udp,
             const std::string& directory)
        : reader_(udp != UdpCollector::never_reads ? std::make_unique<UdpReader>(record_octets())
                                                   : nullptr) {
        options_.collectors.resize(kinds.size());
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            CollectorOptions& collector = options_.collectors[i];
            collector.transport = kinds[i];
            collector.host = "127.0.0.1";
            collector.port = kinds[i] == TransportKind::tcp ? tcp_.port() : udp_port();
            // Other ways have their files open at the same time.
            collector.path = directory + "/to-" + std::to_string(kinds.size()) + ".ipfix";
            if (kinds[i] == TransportKind::udp) {
                collector.rate = 0;  // the rate is measured, not the pacing
                collector.udp_segmentation = udp == UdpCollector::reads_segmented;
            }
        }
        counters_ = std::make_unique<ExportCounters>(1, kinds.size());
    }
    /// A new connected worker that has sent its templates. Where the UDP collector reads, the
    /// worker is kept, and the collector has read all that was sent.
    void prepare() {
        if (!reader_ || !worker_) {
            connect();
        }
        if (reader_) {
            reader_->wait_for(counters_->collectors[0].messages.read());
        }
    }
    void work(std::uint64_t records) {
        source_.left = records;
        while (source_.left > 0) {
            static_cast<void>(worker_->step(at(kConnected)));
        }
    }
    /// Records for one call of work(), after which prepare() waits for the reader: no datagram
    /// finds its receive buffer full.
    [[nodiscard]] std::uint64_t most_records() const {
        return reader_ ? std::min<std::uint64_t>(reader_->room(), kMostDatagrams) *
                             (kDatagramOctets / record_octets() - 1)
                       : std::numeric_limits<std::uint64_t>::max();
    }
    /// Delivers the rest, and checks that each collector has every record.
    void check(std::uint64_t records) {
        for (std::uint64_t left = records; left > 0;) {
            const std::uint64_t now = std::min(left, most_records());
            prepare();
            work(now);
            left -= now;
        }
        for (int tries = 0; !worker_->finish(at(kConnected + milliseconds{tries})); ++tries) {
            demand(tries < 4000, "the worker does not finish");
            std::this_thread::sleep_for(milliseconds{1});
        }
        for (const CollectorCounters& collector : counters_->collectors) {
            demand(collector.records.read().records == records, "every record is exported");
        }
        demand(counters_->queues[0].exported.read().records == records, "the account");
        if (reader_) {
            reader_->wait_for(counters_->collectors[0].messages.read());
            demand(reader_->records() == records, "the reading collector has every record");
        }
    }
    [[nodiscard]] std::string path() const { return options_.collectors.front().path; }
    /// Whether the figures are those of a collector that reads on another CPU.
    [[nodiscard]] bool reads_beside() const { return !reader_ || reader_->has_own_cpu(); }

private:
    static constexpr milliseconds kConnected{3000};
    static constexpr std::uint64_t kMostDatagrams = 1000;

    [[nodiscard]] static ExportTime at(milliseconds uptime) {
        return {.wall = Timestamp{std::chrono::seconds{1'600'000'010}}, .uptime = uptime};
    }
    [[nodiscard]] static std::size_t record_octets() {
        return make_templates({}, TimestampUnit::milliseconds).front().record_octets;
    }
    [[nodiscard]] std::uint16_t udp_port() const {
        return reader_ ? reader_->port() : test::port_of(unread_);
    }
    void connect() {
        worker_.reset();
        worker_ = std::make_unique<ExportWorker>(options_, MeteringProcess{},
                                                 std::vector<RecordSource*>{&source_}, *counters_,
                                                 CollectorEventHandler{});
        for (int tries = 0; tries < 300; ++tries) {
            static_cast<void>(worker_->step(at(milliseconds{10 * tries})));
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
    }

    TcpDiscard tcp_;
    FileDescriptor unread_ = test::bind_loopback(SOCK_DGRAM, 0);  // the kernel drops
    std::unique_ptr<UdpReader> reader_;
    ExportOptions options_ = test::without_options_records();
    MemorySource source_;
    std::unique_ptr<ExportCounters> counters_;
    std::unique_ptr<ExportWorker> worker_;
};

void check_file(const std::string& path, std::uint64_t records) {
    std::uint64_t found = 0;
    for (const test::DecodedMessage& message : test::decode_file(path)) {
        for (const test::DecodedRecord& record : message.records) {
            demand(record.number(2) == found % kRecords + 1, "packetDeltaCount in the file");
            ++found;
        }
    }
    demand(found == records, "records in the file");
}

struct Way {
    std::string name;
    std::vector<TransportKind> kinds;
    UdpCollector udp = UdpCollector::never_reads;
};

void check(const std::vector<Way>& ways, const std::string& directory) {
    constexpr std::uint64_t kChecked = 20'000;
    FixbufAlone(kDatagramOctets).check();
    check_encoder();
    for (const Way& way : ways) {
        WholeWay whole(way.kinds, way.udp, directory);
        whole.check(kChecked);
        if (way.kinds.front() == TransportKind::file) {
            check_file(whole.path(), kChecked);
        }
    }
}

void measure(const std::vector<Way>& ways, const std::string& directory, int rounds,
             std::uint64_t records) {
    FixbufAlone fixbuf(kDatagramOctets);
    FramingAlone framing;
    EncoderAlone encoder;
    std::vector<std::unique_ptr<WholeWay>> whole;
    std::vector<Subject> subjects;
    subjects.push_back({.name = "libfixbuf alone, into memory",
                        .work = [&](std::uint64_t count) { fixbuf.work(count); }});
    subjects.push_back({.name = "libfixbuf frames whole records, into memory (before)",
                        .work = [&](std::uint64_t count) { framing.work(count); }});
    subjects.push_back({.name = "the encoder, into memory",
                        .work = [&](std::uint64_t count) { encoder.work(count); }});
    for (const Way& way : ways) {
        whole.push_back(std::make_unique<WholeWay>(way.kinds, way.udp, directory));
        WholeWay* const each = whole.back().get();
        subjects.push_back({.name = way.name,
                            .work = [each](std::uint64_t count) { each->work(count); },
                            .prepare = [each] { each->prepare(); },
                            .most_packets = each->most_records()});
    }
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    const std::vector<Figure> figures = measure_in_turn(subjects, rounds, records);
    demand(std::ranges::all_of(whole, [](const auto& each) { return each->reads_beside(); }),
           "the collectors that read have a CPU of their own");
    for (const Figure& figure : figures) {
        json.push_back({{"name", figure.name},
                        {"ns", figure.median},
                        {"ns_least", figure.least},
                        {"ns_most", figure.most}});
    }
    std::cout << json.dump(2) << "\n";
}

int run(int argc, char** argv) {
    bool check_only = false;
    int rounds = 5;
    std::uint64_t records = 2'000'000;
    std::string directory = std::filesystem::temp_directory_path();
    CLI::App app("What the export thread spends on a record");
    app.add_flag("--check", check_only, "only check that every way delivers every record");
    app.add_option("--rounds", rounds, "of which the median is taken");
    app.add_option("--records", records, "per round");
    app.add_option("--directory", directory, "for the file; best in memory");
    CLI11_PARSE(app, argc, argv);
    const std::vector<Way> ways{
        {"to a file", {TransportKind::file}},
        {"by UDP, the collector never reads", {TransportKind::udp}},
        {"by UDP, the collector reads", {TransportKind::udp}, UdpCollector::reads},
        {"by UDP with udp-segmentation, the collector reads",
         {TransportKind::udp},
         UdpCollector::reads_segmented},
        {"by TCP", {TransportKind::tcp}},
        {"copies to a file, by UDP (never read) and by TCP",
         {TransportKind::file, TransportKind::udp, TransportKind::tcp}},
    };
    check(ways, directory);
    if (!check_only) {
        measure(ways, directory, rounds, records);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
