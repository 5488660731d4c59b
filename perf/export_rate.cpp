// SPDX-License-Identifier: Apache-2.0
// The export thread's time per record: libfixbuf alone, the encoder with it, and the whole export
// to a file, by UDP, by TCP, and to all three at once. Records are of IPv4 flows with the default
// fields; they come from memory.
//
//   export_rate                 JSON on standard output
//   export_rate --check         only checks that every way delivers every record
//                               (--help: all options)

#include <fixbuf/public.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/ipfix/record_template.hpp"
#include "perf/support/ended_records.hpp"
#include "perf/support/in_turn.hpp"
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
    [[nodiscard]] std::size_t record_bytes() const noexcept override { return sizeof(Record); }

private:
    std::vector<Record> records_ = ended_records(kRecords);
    std::size_t next_ = 0;
};

/// Only libfixbuf: one template, one structure of its fields, encoded field by field into messages
/// of a datagram's size in memory. The values have no meaning.
class FixbufAlone {
public:
    FixbufAlone() {
        const std::vector<RecordTemplate> templates =
            make_templates({}, TimestampUnit::milliseconds);
        const Record record = ended_records(kRecords).front();
        const RecordTemplate& plain = templates.front();
        fields_.resize(plain.record_octets);
        plain.write(reinterpret_cast<const std::byte*>(&record), fields_.data());
        fbSession_t* const session = fbSessionAlloc(model_);
        fbTemplate_t* const made = fbTemplateAlloc(model_);
        GError* error = nullptr;
        for (const TemplateField& field : plain.fields) {
            fbInfoElementSpec_t spec{const_cast<char*>(field.element), octets_of(field.encoding),
                                     0};
            demand(fbTemplateAppendSpec(made, &spec, 0, &error) != 0, "libfixbuf: template");
        }
        demand(fbSessionAddTemplate(session, TRUE, kTemplate, made, &error) != 0 &&
                   fbSessionAddTemplate(session, FALSE, kTemplate, made, &error) != 0,
               "libfixbuf: session");
        exporter_ = fbExporterAllocBuffer(reinterpret_cast<std::uint8_t*>(message_.data()),
                                          static_cast<std::uint16_t>(message_.size()));
        buffer_ = fBufAllocForExport(session, exporter_);
        fBufSetAutomaticMode(buffer_, FALSE);
        demand(fBufSetInternalTemplate(buffer_, kTemplate, &error) != 0 &&
                   fBufSetExportTemplate(buffer_, kTemplate, &error) != 0,
               "libfixbuf: buffer");
    }
    FixbufAlone(const FixbufAlone&) = delete;
    FixbufAlone& operator=(const FixbufAlone&) = delete;
    ~FixbufAlone() {
        fBufFree(buffer_);
        fbInfoModelFree(model_);
    }

    void work(std::uint64_t records) {
        for (std::uint64_t done = 0; done < records; ++done) {
            if (!append()) {
                emit();
                demand(append() || append(), "libfixbuf: append");
            }
        }
    }
    void check() {
        work(1000);
        emit();
        demand(octets_ > 1000 * fields_.size(), "libfixbuf: octets");
    }

private:
    static constexpr std::uint16_t kTemplate = 256;

    [[nodiscard]] bool append() {
        GError* error = nullptr;
        const bool is_added = fBufAppend(buffer_, reinterpret_cast<std::uint8_t*>(fields_.data()),
                                         fields_.size(), &error) != 0;
        g_clear_error(&error);
        return is_added;
    }
    void emit() {
        GError* error = nullptr;
        demand(fBufEmit(buffer_, &error) != 0, "libfixbuf: emit");
        octets_ += fbExporterGetMsgLen(exporter_);
    }

    fbInfoModel_t* model_ = fbInfoModelAlloc();
    std::vector<std::byte> message_ = std::vector<std::byte>(kDatagramOctets);
    std::vector<std::byte> fields_;
    fbExporter_t* exporter_{};
    fBuf_t* buffer_{};
    std::uint64_t octets_ = 0;
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

/// Reads from a TCP port, and discards the octets.
class Discard {
public:
    Discard() : listener_(test::bind_loopback(SOCK_STREAM, 0)) {
        demand(::listen(listener_.get(), 4) == 0, "listen");
        thread_ = std::thread([this] { run(); });
    }
    Discard(const Discard&) = delete;
    Discard& operator=(const Discard&) = delete;
    ~Discard() {
        ending_.store(true, std::memory_order_relaxed);
        thread_.join();
    }
    [[nodiscard]] std::uint16_t port() const { return test::port_of(listener_); }

private:
    void run() {
        FileDescriptor connection;
        std::vector<std::byte> octets(1U << 18U);
        while (!ending_.load(std::memory_order_relaxed)) {
            pollfd waiting{.fd = connection ? connection.get() : listener_.get(),
                           .events = POLLIN,
                           .revents = 0};
            if (::poll(&waiting, 1, 10) <= 0) {
                continue;
            }
            if (!connection) {
                connection = test::accept_one(listener_);
            } else if (::recv(connection.get(), octets.data(), octets.size(), MSG_DONTWAIT) == 0) {
                connection = FileDescriptor();
            }
        }
    }

    FileDescriptor listener_;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

/// A whole export worker, and receivers of its messages.
class WholeWay {
public:
    /// @param kinds  a collector of each
    WholeWay(const std::vector<TransportKind>& kinds, const std::string& directory) {
        options_.collectors.resize(kinds.size());
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            CollectorOptions& collector = options_.collectors[i];
            collector.transport = kinds[i];
            collector.host = "127.0.0.1";
            collector.port = kinds[i] == TransportKind::tcp ? tcp_.port() : test::port_of(udp_);
            collector.path = directory + "/records.ipfix";
            if (kinds[i] == TransportKind::udp) {
                collector.rate = 0;  // the rate is measured, not the pacing
            }
        }
        counters_ = std::make_unique<ExportCounters>(1, kinds.size());
    }
    /// A new connected worker that has sent its templates.
    void prepare() {
        worker_.reset();
        worker_ = std::make_unique<ExportWorker>(options_, MeteringProcess{},
                                                 std::vector<RecordSource*>{&source_}, *counters_,
                                                 CollectorEventHandler{});
        for (int tries = 0; tries < 300; ++tries) {
            static_cast<void>(worker_->step(at(milliseconds{10 * tries})));
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
    }
    void work(std::uint64_t records) {
        source_.left = records;
        while (source_.left > 0) {
            static_cast<void>(worker_->step(at(kConnected)));
        }
    }
    /// Delivers the rest, and checks that each collector has every record.
    void check(std::uint64_t records) {
        prepare();
        work(records);
        for (int tries = 0; !worker_->finish(at(kConnected + milliseconds{tries})); ++tries) {
            demand(tries < 4000, "the worker does not finish");
            std::this_thread::sleep_for(milliseconds{1});
        }
        for (const CollectorCounters& collector : counters_->collectors) {
            demand(collector.records.read().records == records, "every record is exported");
        }
        demand(counters_->queues[0].exported.read().records == records, "the account");
    }
    [[nodiscard]] std::string path() const { return options_.collectors.front().path; }

private:
    static constexpr milliseconds kConnected{3000};
    [[nodiscard]] static ExportTime at(milliseconds uptime) {
        return {.wall = Timestamp{std::chrono::seconds{1'600'000'010}}, .uptime = uptime};
    }

    Discard tcp_;
    FileDescriptor udp_ = test::bind_loopback(SOCK_DGRAM, 0);  // never read: the kernel drops
    ExportOptions options_ = test::without_options_records();
    MemorySource source_;
    std::unique_ptr<ExportCounters> counters_;
    std::unique_ptr<ExportWorker> worker_;
};

void check_file(const std::string& path, std::uint64_t records) {
    std::uint64_t found = 0;
    for (const test::IpfixMessage& message : test::decode_file(path)) {
        for (const test::IpfixRecord& record : message.records) {
            demand(record.number(2) == found % kRecords + 1, "packetDeltaCount in the file");
            ++found;
        }
    }
    demand(found == records, "records in the file");
}

struct Way {
    std::string name;
    std::vector<TransportKind> kinds;
};

void check(const std::vector<Way>& ways, const std::string& directory) {
    constexpr std::uint64_t kChecked = 20'000;
    FixbufAlone().check();
    for (const Way& way : ways) {
        WholeWay whole(way.kinds, directory);
        whole.check(kChecked);
        if (way.kinds.front() == TransportKind::file) {
            check_file(whole.path(), kChecked);
        }
    }
}

void measure(const std::vector<Way>& ways, const std::string& directory, int rounds,
             std::uint64_t records) {
    FixbufAlone fixbuf;
    EncoderAlone encoder;
    std::vector<std::unique_ptr<WholeWay>> whole;
    std::vector<Subject> subjects;
    subjects.push_back({.name = "libfixbuf alone, into memory",
                        .work = [&](std::uint64_t count) { fixbuf.work(count); }});
    subjects.push_back({.name = "the encoder, into memory",
                        .work = [&](std::uint64_t count) { encoder.work(count); }});
    for (const Way& way : ways) {
        whole.push_back(std::make_unique<WholeWay>(way.kinds, directory));
        WholeWay* const each = whole.back().get();
        subjects.push_back({.name = way.name,
                            .work = [each](std::uint64_t count) { each->work(count); },
                            .prepare = [each] { each->prepare(); }});
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
        {"by UDP", {TransportKind::udp}},
        {"by TCP", {TransportKind::tcp}},
        {"copies to a file, by UDP and by TCP",
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
