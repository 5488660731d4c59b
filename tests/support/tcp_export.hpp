// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/local_collector.hpp"

// An export to one TCP collector on this host.
namespace tributary::test {

using std::chrono::milliseconds;

/// A worker with one queue that exports by TCP to `port`.
struct TcpExport {
    explicit TcpExport(std::uint16_t port, const RecordLayout& layout = {})
        : queue(layout),
          worker(options_for(port), {.layout = layout}, {&queue}, counters,
                 [this](const CollectorEvent& event) { events.push_back(event.kind); }) {}

    static ExportOptions options_for(std::uint16_t port) {
        ExportOptions options = without_options_records();
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::tcp;
        options.collectors[0].host = "127.0.0.1";
        options.collectors[0].port = port;
        options.collectors[0].buffer = 65'536;
        return options;
    }
    void run(milliseconds uptime) {
        for (int steps = 0; worker.step(at(uptime)); ++steps) {
            REQUIRE(steps < 10'000);
        }
    }
    /// Works until so many records have arrived: the kernel acknowledges at its own time.
    void run_until_exported(milliseconds uptime, std::uint64_t records) {
        for (int tries = 0; exported() < records; ++tries) {
            REQUIRE(tries < 5000);
            run(uptime);
            std::this_thread::sleep_for(milliseconds{1});
        }
    }
    std::uint64_t exported() const { return counters.queues[0].exported.read().records; }

    RecordQueue queue;
    ExportCounters counters{1, 1};
    std::vector<CollectorEventKind> events;
    ExportWorker worker;
};

inline FileDescriptor listen_on(std::uint16_t port) {
    FileDescriptor listener = bind_loopback(SOCK_STREAM, port);
    const int octets = 65'536;  // its connections take little
    REQUIRE(::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets) == 0);
    REQUIRE(::listen(listener.get(), 4) == 0);
    return listener;
}

inline void read_all(const FileDescriptor& connection, std::vector<std::byte>& stream) {
    while (const auto octets = receive(connection)) {
        if (octets->empty()) {
            return;
        }
        stream.insert(stream.end(), octets->begin(), octets->end());
    }
}

}  // namespace tributary::test
