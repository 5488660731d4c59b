// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/read_file.hpp"
#include "tests/support/temporary_directory.hpp"

// An export to a file, with or without rotation.
namespace tributary::test {

using std::chrono::milliseconds;

/// The source ports of a whole file's flows; its decoder judges templates and numbers.
inline std::vector<std::uint64_t> ports_in(const std::filesystem::path& path) {
    std::vector<std::uint64_t> ports;
    for (const DecodedMessage& message : decode_file(path.string())) {
        for (const DecodedRecord& record : message.records) {
            ports.push_back(record.number(7));
        }
    }
    return ports;
}

/// A worker with one queue that exports into files of `directory`.
struct RotatingExport {
    RotatingExport(const TemporaryDirectory& directory, const FileRotation& rotation,
                   ExportOptions options = without_options_records(),
                   const MeteringProcess& metering = {})
        : queue(metering.layout) {
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = (directory / "flows.ipfix").string();
        options.collectors[0].rotation = rotation;
        worker = std::make_unique<ExportWorker>(
            options, metering, std::vector<RecordSource*>{&queue}, counters,
            [this](const CollectorEvent& event) { events.push_back(event); });
    }
    void run(milliseconds uptime) {
        for (int steps = 0; worker->step(at(uptime)); ++steps) {
            REQUIRE(steps < 10'000);
        }
    }
    void finish(milliseconds uptime) {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 10'000);
        }
        worker.reset();  // waits for the files to be finished
    }

    RecordQueue queue;
    ExportCounters counters{1, 1};
    std::vector<CollectorEvent> events;
    std::unique_ptr<ExportWorker> worker;
};

}  // namespace tributary::test
