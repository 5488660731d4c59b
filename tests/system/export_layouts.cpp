// SPDX-License-Identifier: Apache-2.0
// Exports records of two layouts through one export worker, for record_layouts.py: to a UDP
// collector that gets uniflows alone, and to a file.
//
//   export_layouts PORT FILE RECORDS    so many records of each layout
//
// Exit code 0: both have all of them.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <thread>

#include "export/collector/export_worker.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/two_layouts.hpp"

namespace tributary::test {
namespace {

using std::chrono::steady_clock;

int run(std::span<const char* const> arguments) {
    ExportOptions options;
    options.collectors.resize(2);
    CollectorOptions& udp = options.collectors[0];
    udp.host = "127.0.0.1";
    udp.port = static_cast<std::uint16_t>(std::stoul(arguments[1]));
    udp.direction = FlowDirection::uniflow;
    udp.sampling = SamplingForm::none;  // with options records nfcapd counts sequence failures
    udp.options = {.reliability = false,
                   .statistics = false,
                   .interfaces = false,
                   .flow_keys = false,
                   .types = false};
    options.collectors[1].transport = TransportKind::file;
    options.collectors[1].path = arguments[2];
    take_both(options);
    const auto records = static_cast<std::uint16_t>(std::stoul(arguments[3]));

    RecordQueue uniflows;
    RecordQueue biflows(kSecondLayout, 1);
    ExportCounters counters(2, 2);
    ExportWorker worker(options, two_layouts(), {&uniflows, &biflows}, counters, {});
    const auto start = steady_clock::now();
    const auto now = [start] {
        return ExportTime{.wall = Timestamp{std::chrono::seconds{1'600'000'001}},
                          .uptime = steady_clock::now() - start};
    };
    for (std::uint16_t number = 0; number < records; ++number) {  // the layouts alternate
        uniflows.put(record_of(number));
        biflows.put(biflow_of(number));
        static_cast<void>(worker.step(now()));
    }
    while (!worker.finish(now())) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    worker.close();
    for (const CollectorCounters& collector : counters.collectors) {
        if (collector.records.read().records != 2 * std::uint64_t{records}) {
            std::cerr << "a collector has " << collector.records.read().records << " records\n";
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::test

int main(int argc, char** argv) {
    constexpr int kWords = 4;
    if (argc != kWords) {
        std::cerr << "usage: export_layouts PORT FILE RECORDS\n";
        return EXIT_FAILURE;
    }
    try {
        return tributary::test::run({argv, kWords});
    } catch (const std::exception& fault) {
        std::cerr << fault.what() << "\n";
        return EXIT_FAILURE;
    }
}
