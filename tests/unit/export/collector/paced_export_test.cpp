// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/transport/udp_transport.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/local_collector.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kBuffer = std::size_t{4} << 20U;

CollectorOptions udp_at(std::optional<std::uint64_t> rate) {
    CollectorOptions collector;
    collector.rate = rate;
    return collector;
}

/// A worker that exports to a UDP collector on this host, and the octets that have arrived there.
struct PacedExport {
    explicit PacedExport(std::vector<std::optional<std::uint64_t>> rates,
                         ExportMode mode = ExportMode::copy, std::size_t buffer = kBuffer,
                         ExportOptions options = without_options_records())
        : counters(1, rates.size()) {
        options.mode = mode;
        for (const std::optional<std::uint64_t>& rate : rates) {
            sockets.push_back(bind_loopback(SOCK_DGRAM, 0));
            arrived.push_back(0);
            options.collectors.push_back(udp_at(rate));
            options.collectors.back().host = "127.0.0.1";
            options.collectors.back().port = port_of(sockets.back());
            options.collectors.back().buffer = buffer;
        }
        worker = std::make_unique<ExportWorker>(
            options, MeteringProcess{}, std::vector<RecordSource*>{&queue}, counters,
            [this](const CollectorEvent& event) { events.push_back(event.kind); });
        run(2 * UdpTransport::kRefusalWait);  // the templates have left and are not refused
        arrived.assign(arrived.size(), 0);
    }
    void run(milliseconds lasting) {
        for (const auto end = now + lasting; now < end; now += milliseconds{1}) {
            for (int steps = 0; worker->step(at(now)); ++steps) {
                REQUIRE(steps < 10'000);
            }
            hear();
        }
    }
    /// The collector goes away, one record is refused, and so many wait for a while.
    ///
    /// @return  its port
    std::uint16_t leave_waiting(std::size_t records, milliseconds lasting) {
        const std::uint16_t port = port_of(sockets[0]);
        sockets[0] = FileDescriptor();
        queue.put_many(1);
        run(seconds{2});
        queue.put_many(records);
        run(lasting);
        return port;
    }
    /// @return  how long it took
    milliseconds finish() {
        const milliseconds began = now;
        for (; !worker->finish(at(now)); now += milliseconds{1}) {
            REQUIRE(now - began < seconds{200});
            hear();
        }
        hear();
        return now - began;
    }
    void hear() {
        for (std::size_t i = 0; i < sockets.size(); ++i) {
            for (auto datagram = receive(sockets[i]); datagram; datagram = receive(sockets[i])) {
                arrived[i] += datagram->size();
            }
        }
    }
    [[nodiscard]] std::uint64_t exported() const {
        return counters.queues[0].exported.read().records;
    }
    [[nodiscard]] std::uint64_t lost(std::size_t collector) const {
        std::uint64_t records = 0;
        for (const RecordCounter& cause : counters.collectors[collector].lost) {
            records += cause.read().records;
        }
        return records;
    }

    std::vector<FileDescriptor> sockets;
    std::vector<std::size_t> arrived;  ///< octets since the templates
    RecordQueue queue;
    ExportCounters counters;
    std::vector<CollectorEventKind> events;
    std::unique_ptr<ExportWorker> worker;
    milliseconds now{0};
};

}  // namespace

TEST_CASE("UDP export: flows that end together leave at a pace", "[export][unit]") {
    PacedExport paced({500'000});
    paced.queue.put_many(40'000);  // 2.2 MB
    paced.run(milliseconds{1});
    CHECK(paced.arrived[0] <= 26'000);
    CHECK(paced.queue.left() == 0);  // they wait in the collector's buffer
    paced.run(milliseconds{1});
    CHECK(paced.counters.collectors[0].waiting_octets.read() > 2'000'000);
    CHECK(paced.counters.collectors[0].pace.read() == 500'000);
    std::size_t before = paced.arrived[0];
    for (int tenth = 0; tenth < 40; ++tenth) {
        paced.run(milliseconds{100});
        CHECK(paced.arrived[0] - before <= 52'000);
        before = paced.arrived[0];
    }
    paced.run(seconds{2});
    CHECK(paced.exported() == 40'000);
    CHECK(paced.lost(0) == 0);
}

TEST_CASE("UDP export: messages that waited for an absent collector leave at a pace",
          "[export][unit]") {
    PacedExport paced({500'000});
    const std::uint16_t port = paced.leave_waiting(10'000, seconds{2});
    paced.sockets[0] = bind_loopback(SOCK_DGRAM, port);
    std::size_t before = paced.arrived[0];
    std::size_t most = 0;
    for (int tenth = 0; tenth < 40; ++tenth) {
        paced.run(milliseconds{100});
        most = std::max(most, paced.arrived[0] - before);
        before = paced.arrived[0];
    }
    CHECK(most > 40'000);
    CHECK(most <= 78'000);  // a burst and a tenth of a second
    CHECK(paced.exported() == 10'000);
}

TEST_CASE("UDP export: pace auto does not grow while the collector is away", "[export][unit]") {
    PacedExport paced({std::nullopt});
    const std::uint16_t port = paced.leave_waiting(60'000, seconds{60});
    CHECK(paced.counters.collectors[0].waiting_octets.read() > kBuffer / 2);
    CHECK(paced.counters.collectors[0].pace.read() == 1'000'000);
    paced.sockets[0] = bind_loopback(SOCK_DGRAM, port);
    const std::uint64_t before = paced.exported();
    std::size_t most = 0;
    for (int hundredth = 0; hundredth < 100; ++hundredth) {
        const std::size_t arrived = paced.arrived[0];
        paced.run(milliseconds{10});
        most = std::max(most, paced.arrived[0] - arrived);
    }
    CHECK(paced.exported() > before);
    CHECK(most <= 50'000);  // a burst, and a hundredth of a second of twice the base
    CHECK(paced.counters.collectors[0].pace.read() <= 2'100'000);
    paced.run(seconds{5});
    CHECK(paced.exported() == 60'000);
    CHECK(paced.lost(0) == 1);  // the first one, refused
}

TEST_CASE("UDP export: with a slow pace templates leave data its time", "[export][unit]") {
    ExportOptions options;  // with options records, whose templates alone take six seconds
    options.template_refresh = seconds{2};
    PacedExport slow({1000}, ExportMode::copy, kBuffer, options);
    slow.run(seconds{30});
    slow.queue.put_many(100);  // 5 KB
    slow.run(seconds{60});
    CHECK(slow.exported() == 100);
}

TEST_CASE("UDP export: without time at the end a collector that listens has everything",
          "[export][unit]") {
    ExportOptions options = without_options_records();
    options.drain_timeout = {};
    PacedExport paced({std::nullopt}, ExportMode::copy, kBuffer, options);
    paced.queue.put_many(3000);  // 162 KB: most of it waits for the pace
    paced.run(milliseconds{1});
    CHECK(paced.exported() < 1000);
    paced.queue.put_many(3000);  // and some is still in the ring
    CHECK(paced.finish() <= milliseconds{500});
    CHECK(paced.exported() == 6000);
    CHECK(paced.lost(0) == 0);
}

TEST_CASE("UDP export: the end waits for the pace, which is no stall", "[export][unit]") {
    PacedExport slow({2000});
    slow.queue.put_many(1000);  // 54 KB, of which a burst leaves at once
    const milliseconds took = slow.finish();
    CHECK(took >= seconds{14});
    CHECK(took <= seconds{17});
    CHECK(slow.exported() == 1000);
    CHECK(slow.counters.collectors[0].waiting_octets.read() == 0);
    CHECK(slow.lost(0) == 0);
}

TEST_CASE("UDP export: a pace too slow for the end loses records by name", "[export][unit]") {
    PacedExport slow({1000});
    slow.queue.put_many(4000);  // 216 KB: 50 s are not enough
    const bool waits = GENERATE(true, false);
    if (!waits) {
        slow.worker->end_now();
    }
    const milliseconds took = slow.finish();
    CHECK((waits ? took >= seconds{49} && took <= seconds{51} : took <= seconds{1}));
    const std::uint64_t away =
        slow.counters.queues[0].read_lost(ExportLoss::collector_away).records;
    CHECK((away > 1000 && slow.exported() + away == 4000));
    CHECK(slow.counters.collectors[0].waiting_octets.read() == 0);
}

TEST_CASE("UDP export: a full cache at the end leaves in time, faster and faster",
          "[export][unit]") {
    PacedExport paced({std::nullopt});
    paced.queue.put_many(200'000);  // 11 MB, in a ring behind a buffer of 4 MB
    const milliseconds took = paced.finish();
    CHECK(took >= seconds{5});
    CHECK(took <= seconds{12});
    CHECK(paced.exported() == 200'000);
    CHECK(paced.lost(0) == 0);
}

TEST_CASE("UDP export: sustained load passes, and no collector loses a record to the other's pace",
          "[export][unit]") {
    PacedExport paced({std::nullopt, std::nullopt}, ExportMode::copy, 1U << 18U);
    std::uint64_t put = 0;
    for (int hundredth = 0; hundredth < 1000; ++hundredth) {
        paced.queue.put_many(600);  // 3.2 MB a second for ten seconds
        put += 600;
        paced.run(milliseconds{10});
    }
    CHECK(paced.queue.left() < 20'000);
    paced.run(seconds{2});
    CHECK(paced.queue.left() == 0);
    CHECK(paced.counters.collectors[0].records.read().records == put);
    CHECK(paced.counters.collectors[1].records.read().records == put);
    CHECK(std::ranges::count(paced.events, CollectorEventKind::held_back) == 2);
}

TEST_CASE("UDP export: failover does not go to the next one for the pace", "[export][unit]") {
    PacedExport paced({20'000, 0}, ExportMode::failover, 1U << 16U);
    paced.queue.put_many(3000);  // 162 KB
    paced.run(seconds{10});
    CHECK(paced.arrived[1] == 0);
    CHECK(paced.counters.collectors[1].records.read().records == 0);
    CHECK(paced.finish() < seconds{5});
    CHECK(paced.counters.collectors[0].records.read().records == 3000);
}

TEST_CASE("UDP export: a slow pace that was chosen costs its own collector records alone",
          "[export][unit]") {
    PacedExport paced({5000, 0}, ExportMode::copy, 1U << 16U);
    paced.queue.put_many(5000);  // 270 KB
    paced.run(seconds{1});
    CHECK(paced.queue.left() == 0);
    CHECK(paced.counters.collectors[0].read_lost(ExportLoss::buffer_full).records > 2000);
    paced.run(seconds{1});
    CHECK(paced.counters.collectors[1].records.read().records == 5000);
    CHECK(paced.lost(1) == 0);
}
