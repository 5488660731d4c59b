// SPDX-License-Identifier: Apache-2.0
#include "export/collector_group.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "export/export_worker.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/local_collector.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;

namespace {

constexpr std::uint32_t kSourcePort = 7;

/// A TCP collector that takes what comes, for as long as it listens.
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
    void come_back() {
        listener_ = bind_loopback(SOCK_STREAM, port_);
        listen();
    }
    void hear() {
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

    std::vector<std::uint64_t> ports;  ///< source ports of the flows, in the order of their coming
    std::set<std::uint32_t> domains;
    std::set<std::uint32_t> elements;

private:
    void listen() { REQUIRE(::listen(listener_.get(), 4) == 0); }
    void decode_whole_messages() {
        while (stream_.size() >= 16) {
            const std::size_t octets = std::to_integer<std::size_t>(stream_[2]) << 8U |
                                       std::to_integer<std::size_t>(stream_[3]);
            if (octets > stream_.size()) {
                return;
            }
            const IpfixMessage message = decoder_.decode(std::span(stream_).first(octets));
            domains.insert(message.domain);
            for (const IpfixRecord& record : message.records) {
                ports.push_back(record.number(kSourcePort));
                for (const auto& [element, value] : record.values) {
                    elements.insert(element);
                }
            }
            stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(octets));
        }
    }

    FileDescriptor listener_;
    FileDescriptor connection_;
    std::uint16_t port_;
    std::vector<std::byte> stream_;
    IpfixDecoder decoder_;
};

/// A worker with one queue that exports to several collectors.
struct GroupExport {
    explicit GroupExport(ExportMode mode, std::size_t count = 2, std::size_t buffer = 65'536)
        : collectors(count), counters(1, count) {
        options.mode = mode;
        options.collectors.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            options.collectors[i].transport = TransportKind::tcp;
            options.collectors[i].host = "127.0.0.1";
            options.collectors[i].port = collectors[i].port();
            options.collectors[i].buffer = buffer;
        }
    }
    void start() {
        worker = std::make_unique<ExportWorker>(
            options, RecordLayout{}, std::vector<RecordSource*>{&queue}, counters,
            [this](const CollectorEvent& event) { events.push_back(event.kind); });
    }
    /// Works for a while of uptime, with ears open.
    void run(milliseconds lasting) {
        for (const milliseconds end = uptime + lasting; uptime < end; uptime += milliseconds{50}) {
            for (int steps = 0; worker->step(at(uptime)); ++steps) {
                REQUIRE(steps < 10'000);
                hear();
            }
            hear();
            std::this_thread::sleep_for(milliseconds{1});  // the kernel delivers when it likes
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
    ExportOptions options;
    RecordQueue queue;
    ExportCounters counters;
    std::vector<CollectorEventKind> events;
    std::unique_ptr<ExportWorker> worker;
    milliseconds uptime{0};
};

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t end) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t number = first; number < end; ++number) {
        all.push_back(number);
    }
    return all;
}

}  // namespace

TEST_CASE("CollectorGroup: copy gives each collector each record, as it wants it",
          "[export][unit]") {
    GroupExport group(ExportMode::copy, 3);
    group.options.collectors[1].observation_domain = 77;
    group.options.collectors[2].timestamps = TimestampUnit::nanoseconds;
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    group.finish();
    for (const TcpCollector& collector : group.collectors) {
        CHECK(collector.ports == numbers(0, 5000));
    }
    CHECK(group.collectors[0].domains == std::set<std::uint32_t>{1});
    CHECK(group.collectors[1].domains == std::set<std::uint32_t>{77});
    CHECK(group.collectors[1].elements.contains(152));
    CHECK(group.collectors[2].elements.contains(156));
    CHECK_FALSE(group.collectors[2].elements.contains(152));
    CHECK(group.counters.queues[0].exported.read() == RecordTally{5000, 50'000, 5'000'000});
    CHECK(group.has(0) == 5000);
    CHECK(group.has(1) == 5000);
    CHECK(group.has(2) == 5000);
}

TEST_CASE("CollectorGroup: a collector that is away costs another one nothing", "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.collectors[1].go_away();
    group.start();
    group.run(milliseconds{500});  // a buffer holds some 1200 records
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports == numbers(0, 5000));
    CHECK(group.exported() == 5000);
    CHECK(group.has(1) == 0);
    const std::uint64_t too_many = group.lost_to(1, ExportLoss::buffer_full);
    CHECK(too_many > 3000);

    group.collectors[1].come_back();
    group.run(milliseconds{60'000});
    group.finish();
    CHECK(group.collectors[1].ports == numbers(0, 5000 - too_many));  // what waited, in order
    CHECK(group.has(1) == 5000 - too_many);
    CHECK(group.exported() == 5000);  // counted once
    CHECK(group.lost(ExportLoss::buffer_full) == 0);
}

TEST_CASE("CollectorGroup: while no collector takes records, they wait", "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.collectors[0].go_away();
    group.collectors[1].go_away();
    group.start();
    group.queue.put_many(5000);
    group.run(milliseconds{2000});
    CHECK(group.queue.left() > 3000);
    CHECK(group.lost_to(0, ExportLoss::buffer_full) + group.lost_to(1, ExportLoss::buffer_full) ==
          0);
    group.collectors[1].come_back();
    group.run(milliseconds{60'000});
    CHECK(group.collectors[1].ports == numbers(0, 5000));
    CHECK(group.exported() == 5000);
    group.finish();
    CHECK(group.lost_to(0, ExportLoss::collector_away) +
              group.lost_to(0, ExportLoss::buffer_full) ==
          5000);
    CHECK(group.lost(ExportLoss::collector_away) == 0);  // the other one has them
}

TEST_CASE("CollectorGroup: a record that nobody gets is lost once", "[export][unit]") {
    GroupExport group(ExportMode::copy);
    group.collectors[0].go_away();
    group.collectors[1].go_away();
    group.start();
    group.queue.put_many(5000);
    group.finish();
    CHECK(group.exported() == 0);
    CHECK(group.counters.queues[0].read_lost(ExportLoss::collector_away) ==
          RecordTally{5000, 50'000, 5'000'000});
    CHECK(group.lost_to(0, ExportLoss::collector_away) == 5000);
    CHECK(group.lost_to(1, ExportLoss::collector_away) == 5000);
}

TEST_CASE("CollectorGroup: balance gives both directions of a flow to one collector, in each run",
          "[export][unit]") {
    std::array<std::map<std::uint64_t, std::size_t>, 2> places;  // by source port
    for (auto& place : places) {
        GroupExport group(ExportMode::balance, 3);
        group.start();
        for (std::uint16_t number = 1000; number < 4000; ++number) {
            Record there = record_of(number);
            there.core.key.destination_port = {60'000};
            Record back = there;
            std::swap(back.core.key.source, back.core.key.destination);
            std::swap(back.core.key.source_port, back.core.key.destination_port);
            back.core.key.ingress_interface = {8};
            group.queue.put(there);
            group.queue.put(back);
            group.queue.put(there);
        }
        group.run(milliseconds{2000});
        group.finish();
        CHECK(group.exported() == 9000);
        for (std::size_t i = 0; i < 3; ++i) {
            const std::vector<std::uint64_t>& ports = group.collectors[i].ports;
            CHECK(ports.size() == group.has(i));
            CHECK(ports.size() > 2700);
            CHECK(ports.size() < 3300);
            const auto from_60000 = std::ranges::count(ports, 60'000U);
            CHECK(static_cast<std::size_t>(from_60000) * 3 == ports.size());
            for (const std::uint64_t port : ports) {
                if (port != 60'000) {
                    CHECK(place.emplace(port, i).first->second == i);
                }
            }
        }
    }
    CHECK(places[0] == places[1]);
}

TEST_CASE("CollectorGroup: failover hands over what has not arrived, and goes back",
          "[export][unit]") {
    GroupExport group(ExportMode::failover);
    group.start();
    group.run(milliseconds{500});
    group.queue.put_many(1000);
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports == numbers(0, 1000));
    CHECK(group.collectors[1].ports.empty());

    for (std::uint16_t number = 1000; number < 1300; ++number) {
        group.queue.put(record_of(number));
    }
    static_cast<void>(group.worker->step(at(group.uptime)));  // in the first one's open message
    group.collectors[0].go_away();
    group.run(milliseconds{2000});
    for (std::uint16_t number = 1300; number < 3000; ++number) {
        group.queue.put(record_of(number));
    }
    group.run(milliseconds{2000});
    CHECK(group.has(0) + group.has(1) == 3000);
    CHECK(group.collectors[0].ports.size() == group.has(0));
    std::vector<std::uint64_t> all = group.collectors[0].ports;
    all.insert(all.end(), group.collectors[1].ports.begin(), group.collectors[1].ports.end());
    CHECK(all == numbers(0, 3000));  // none missing, none twice
    CHECK(std::ranges::count(group.events, CollectorEventKind::takes_over) == 1);

    group.collectors[0].come_back();
    group.run(milliseconds{60'000});
    group.queue.put(record_of(3000));
    group.run(milliseconds{2000});
    CHECK(group.collectors[0].ports.back() == 3000);
    CHECK(std::ranges::count(group.events, CollectorEventKind::takes_over) == 2);
    group.finish();
    CHECK(group.exported() == 3001);
}

TEST_CASE("CollectorGroup: one collector that fails for good is not the export's end",
          "[export][unit]") {
    ExportOptions options;
    options.collectors.resize(2);
    options.collectors[0].transport = TransportKind::file;
    options.collectors[0].path = "/dev/full";
    options.collectors[1] = options.collectors[0];
    options.collectors[1].path = "/dev/null";
    RecordQueue queue;
    queue.put_many(1000);
    ExportCounters counters(1, 2);
    ExportWorker worker(options, {}, {&queue}, counters, {});
    milliseconds uptime{0};
    while (!worker.finish(at(uptime))) {
        REQUIRE(uptime < milliseconds{60'000});
        uptime += milliseconds{10};
    }
    CHECK(worker.error().empty());
    CHECK(counters.queues[0].exported.read().records == 1000);
    CHECK(counters.collectors[0].read_lost(ExportLoss::write_failed).records == 1000);
    CHECK(counters.queues[0].read_lost(ExportLoss::write_failed).records == 0);
}
