// SPDX-License-Identifier: Apache-2.0
#include "export/collector/export_worker.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "export/file_descriptor.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;

namespace {

/// A name in the folder for temporary files, free again at the end.
class TemporaryFile {
public:
    TemporaryFile() {
        std::string name = (std::filesystem::temp_directory_path() / "tributary-XXXXXX").string();
        const int fd = ::mkstemp(name.data());
        REQUIRE(fd >= 0);
        const FileDescriptor closes(fd);
        path_ = name;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::filesystem::remove(path_); }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::vector<DecodedMessage> messages() const { return decode_file(path_); }

private:
    std::string path_;
};

/// Files may not grow beyond this many octets, for as long as it lives: a full disk.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t octets) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_) == 0);
        const rlimit limit{octets, old_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_handler_);
    }

private:
    rlimit old_{};
    void (*old_handler_)(int);
};

/// A worker with `count` queues that exports into `path`.
struct FileExport {
    FileExport(const std::string& path, std::size_t count, const RecordLayout& layout = {})
        : counters(count, 1) {
        ExportOptions options = without_options_records();
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = path;
        std::vector<RecordSource*> sources;
        for (std::size_t i = 0; i < count; ++i) {
            queues.push_back(std::make_unique<RecordQueue>(layout));
            sources.push_back(queues.back().get());
        }
        worker = std::make_unique<ExportWorker>(
            options, MeteringProcess{.layout = layout}, sources, counters,
            [this](const CollectorEvent& event) { events.push_back(event.kind); });
    }
    void finish() {
        for (int calls = 0; !worker->finish(at(milliseconds{calls})); ++calls) {
            REQUIRE(calls < 10'000);
        }
    }

    ExportCounters counters;
    std::vector<std::unique_ptr<RecordQueue>> queues;
    std::vector<CollectorEventKind> events;
    std::unique_ptr<ExportWorker> worker;
};

}  // namespace

TEST_CASE("ExportWorker: a file without flows holds the templates", "[export][unit]") {
    const TemporaryFile file;
    FileExport exports(file.path(), 1);
    exports.finish();
    const auto messages = file.messages();
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].templates == 8);
    CHECK(messages[0].export_time == 1'600'000'001);
}

TEST_CASE("ExportWorker: until the clock is known, nothing is written", "[export][unit]") {
    const TemporaryFile file;
    FileExport exports(file.path(), 1);
    CHECK_FALSE(exports.worker->step({}));
    CHECK(std::filesystem::file_size(file.path()) == 0);
    CHECK(exports.worker->finish({}));
    CHECK(file.messages().at(0).export_time == 1);
}

TEST_CASE("ExportWorker: a round takes one batch from each queue, in turn", "[export][unit]") {
    const TemporaryFile file;
    FileExport exports(file.path(), 3);
    exports.queues[0]->put_many(1000);
    exports.queues[1]->put_many(100);
    exports.queues[2]->put_many(300);
    CHECK(exports.worker->step(at(milliseconds{0})));
    CHECK(exports.queues[0]->left() == 744);
    CHECK(exports.queues[1]->left() == 0);
    CHECK(exports.queues[2]->left() == 44);
}

TEST_CASE("ExportWorker: records of two queues share messages and have accounts of their own",
          "[export][unit]") {
    const TemporaryFile file;
    FileExport exports(file.path(), 2);
    exports.queues[0]->put_many(5000);
    exports.queues[1]->put_many(300);
    exports.finish();
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{5000, 50'000, 5'000'000});
    CHECK(exports.counters.queues[1].exported.read() == RecordTally{300, 3000, 300'000});
    CHECK(exports.counters.collectors[0].records.read() == RecordTally{5300, 53'000, 5'300'000});
    const auto messages = file.messages();
    std::size_t records = 0;
    std::size_t octets = 0;
    for (const DecodedMessage& message : messages) {
        records += message.records.size();
        octets += message.octets;
    }
    CHECK(records == 5300);
    CHECK(exports.counters.collectors[0].messages.read() == messages.size());
    CHECK(exports.counters.collectors[0].octets.read() == octets);
    CHECK(exports.worker->error().empty());
}

TEST_CASE("ExportWorker: of a biflow both directions are accounted for", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(groups_of<ExtremesGroup>(), FlowDirection::biflow);
    Record record = record_of(1);
    record.group<ReverseGroup>(layout.reverse_at).packets = 3;
    record.group<ReverseGroup>(layout.reverse_at).octets = 4000;
    const TemporaryFile file;
    FileExport exports(file.path(), 1, layout);
    exports.queues[0]->put(record);
    exports.queues[0]->put(record_of(2));
    exports.finish();
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{2, 23, 6000});

    FileExport failing("/dev/full", 1, layout);
    failing.queues[0]->put(record);
    failing.finish();
    CHECK(failing.counters.queues[0].read_lost(ExportLoss::write_failed) ==
          RecordTally{1, 13, 5000});
}

TEST_CASE(
    "ExportWorker: on a full disk the file keeps its whole messages, the rest is lost by name",
    "[export][unit]") {
    const TemporaryFile file;
    FileExport exports(file.path(), 2);
    exports.queues[0]->put_many(5000);
    exports.queues[1]->put_many(5000);
    {
        const FileSizeLimit limit(150'000);
        exports.finish();
    }
    std::size_t records = 0;
    for (const DecodedMessage& message : file.messages()) {
        records += message.records.size();
    }
    CHECK(records > 1000);
    const RecordTally first = exports.counters.queues[0].exported.read();
    const RecordTally second = exports.counters.queues[1].exported.read();
    CHECK(first.records + second.records == records);
    CHECK(exports.counters.queues[0].read_lost(ExportLoss::write_failed).records ==
          5000 - first.records);
    CHECK(exports.counters.queues[1].read_lost(ExportLoss::write_failed).packets ==
          50'000 - second.packets);
    CHECK(exports.worker->error() ==
          "file " + file.path() + ": write failed, export ends (File too large)");
    CHECK(exports.events ==
          std::vector{CollectorEventKind::connected, CollectorEventKind::write_failed});
}

TEST_CASE("ExportWorker: a device without space fails with the templates", "[export][unit]") {
    FileExport exports("/dev/full", 1);
    exports.queues[0]->put_many(1000);
    exports.finish();
    CHECK(exports.worker->error() ==
          "file /dev/full: write failed, export ends (No space left on device)");
    CHECK(exports.counters.queues[0].read_lost(ExportLoss::write_failed) ==
          RecordTally{1000, 10'000, 1'000'000});
    CHECK(exports.counters.collectors[0].connected.read() == 0);
    CHECK(exports.counters.collectors[0].messages.read() == 0);
}

TEST_CASE("ExportWorker: after a final failure the end waits for nothing", "[export][unit]") {
    const std::size_t records = GENERATE(1000U, 60'000U, 100'000U);
    FileExport exports("/dev/full", 1);
    exports.queues[0]->put_many(records);
    for (int calls = 0; !exports.worker->finish(at(milliseconds{0})); ++calls) {
        REQUIRE(calls < 10'000);
    }
    CHECK(exports.counters.queues[0].read_lost(ExportLoss::write_failed).records == records);
}

TEST_CASE("ExportWorker: what cannot work is refused at construction", "[export][unit]") {
    CHECK_THROWS_WITH(FileExport("/nonexistent/flows.ipfix", 1),
                      "/nonexistent/flows.ipfix: cannot be created: No such file or directory");
    ExportCounters counters(1, 2);
    RecordQueue queue;
    ExportOptions options = without_options_records();
    CHECK_THROWS_AS(ExportWorker(options, {}, {&queue}, counters, {}), ExportError);
    options.collectors.resize(1);
    options.collectors[0].source_address = "192.0.2.77";
    CHECK_THROWS_AS(ExportWorker(options, {}, {&queue}, counters, {}), ExportError);
    options.collectors[0].source_address.clear();
    const RecordLayout layout = RecordLayout::of(groups_of<Layer2Group>());
    CHECK_THROWS_AS(ExportWorker(options, {.layout = layout}, {&queue}, counters, {}), ExportError);
}
