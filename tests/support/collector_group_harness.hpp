// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/ipfix_elements.hpp"
#include "tests/support/local_collector.hpp"

// An export to several TCP collectors on this host, for the tests of CollectorGroup.
namespace tributary::test {

using std::chrono::milliseconds;

/// A TCP collector that reads everything, as long as it listens.
class TcpCollector {
public:
    TcpCollector() : listener_(bind_loopback(SOCK_STREAM, 0)), port_(port_of(listener_)) {
        listen();
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    void go_away() {
        hear();
        listener_ = FileDescriptor();
        connection_ = FileDescriptor();
    }
    /// Closes with unread octets: a reset.
    void die() {
        listener_ = FileDescriptor();
        connection_ = FileDescriptor();
    }
    void come_back() {
        listener_ = bind_loopback(SOCK_STREAM, port_);
        listen();
    }
    /// Reads nothing from now on, and its kernel takes little. Call it before a connection is made.
    void fall_silent() {
        constexpr int kOctets = 4096;
        REQUIRE(::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &kOctets, sizeof kOctets) ==
                0);
        is_silent_ = true;
    }
    void wake_up() { is_silent_ = false; }
    /// Accepts a connection that the exporter has ended.
    void drop_connection() { REQUIRE(accept_one(listener_)); }
    void hear() {
        if (is_silent_) {
            return;
        }
        if (!connection_ && listener_) {
            connection_ = accept_one(listener_);
            stream_.clear();
            decoder_ = IpfixDecoder();
        }
        if (!connection_) {
            return;
        }
        while (const auto octets = receive(connection_)) {
            if (octets->empty()) {
                break;
            }
            stream_.insert(stream_.end(), octets->begin(), octets->end());
        }
        decode_whole_messages();
    }

    std::vector<std::uint64_t> ports;  ///< source ports of the flows, in the order of arrival
    std::vector<std::uint64_t> exported_records;  ///< from options records
    std::set<std::uint32_t> domains;
    std::set<std::uint32_t> elements;

private:
    void listen() { REQUIRE(::listen(listener_.get(), 4) == 0); }
    void decode_whole_messages() {
        const std::size_t whole = whole_messages(stream_);
        for (const DecodedMessage& message :
             decode_stream(decoder_, std::span(stream_).first(whole))) {
            domains.insert(message.domain);
            for (const DecodedRecord& record : message.records) {
                note(record);
            }
        }
        stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(whole));
    }
    void note(const DecodedRecord& record) {
        if (record.is_option) {
            if (record.has(kExportedRecords)) {
                exported_records.push_back(record.number(kExportedRecords));
            }
            return;
        }
        ports.push_back(record.number(kSourcePort));
        for (const auto& [element, value] : record.values) {
            elements.insert(element);
        }
    }

    bool is_silent_{};
    FileDescriptor listener_;
    FileDescriptor connection_;
    std::uint16_t port_;
    std::vector<std::byte> stream_;
    IpfixDecoder decoder_;
};

/// Makes the options' collectors these.
inline void export_by_tcp(ExportOptions& options, const std::vector<TcpCollector>& collectors) {
    options.collectors.resize(collectors.size());
    for (std::size_t i = 0; i < collectors.size(); ++i) {
        options.collectors[i].transport = TransportKind::tcp;
        options.collectors[i].host = "127.0.0.1";
        options.collectors[i].port = collectors[i].port();
    }
}

/// A worker with one queue that exports to several collectors.
struct GroupExport {
    explicit GroupExport(ExportMode mode, std::size_t count = 2, std::size_t buffer = 1U << 22U)
        : collectors(count), counters(1, count) {
        options.mode = mode;
        export_by_tcp(options, collectors);
        for (CollectorOptions& collector : options.collectors) {
            collector.buffer = buffer;
        }
    }
    void start() { start(queue); }
    void start(RecordSource& source) {
        worker = std::make_unique<ExportWorker>(
            options, MeteringProcess{}, std::vector<RecordSource*>{&source}, counters,
            [this](const CollectorEvent& event) { events.push_back(event.kind); }, factory);
    }
    /// Works for a while of uptime, and lets the collectors read.
    void run(milliseconds lasting) {
        for (const milliseconds end = uptime + lasting; uptime < end; uptime += milliseconds{50}) {
            for (int steps = 0; worker->step(at(uptime)); ++steps) {
                REQUIRE(steps < 10'000);
                hear();
            }
            hear();
            std::this_thread::sleep_for(milliseconds{1});  // the kernel delivers at its own time
        }
    }
    void hear() {
        for (TcpCollector& collector : collectors) {
            collector.hear();
        }
    }
    void finish() {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 100'000);
            uptime += milliseconds{10};
            hear();
        }
        hear();
    }
    [[nodiscard]] std::uint64_t exported() const {
        return counters.queues[0].exported.read().records;
    }
    [[nodiscard]] std::uint64_t lost(ExportLoss cause) const {
        return counters.queues[0].read_lost(cause).records;
    }
    [[nodiscard]] std::uint64_t has(std::size_t collector) const {
        return counters.collectors[collector].records.read().records;
    }
    [[nodiscard]] std::uint64_t lost_to(std::size_t collector, ExportLoss cause) const {
        return counters.collectors[collector].read_lost(cause).records;
    }

    std::vector<TcpCollector> collectors;
    ExportOptions options = without_options_records();
    RecordQueue queue;
    CollectorFactory factory = make_collector;
    ExportCounters counters;
    std::vector<CollectorEventKind> events;
    std::unique_ptr<ExportWorker> worker;
    milliseconds uptime{0};
};

inline std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t end) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t number = first; number < end; ++number) {
        all.push_back(number);
    }
    return all;
}

}  // namespace tributary::test
