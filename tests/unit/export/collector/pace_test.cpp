// SPDX-License-Identifier: Apache-2.0
#include "export/transport/pace.hpp"

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

constexpr std::size_t kMessage = 1400;
constexpr std::size_t kBuffer = std::size_t{4} << 20U;

CollectorOptions udp_at(std::optional<std::uint64_t> rate) {
    CollectorOptions collector;
    collector.rate = rate;
    return collector;
}

/// Messages of kMessage octets that leave within a while, when there are enough of them.
struct Sender {
    explicit Sender(std::optional<std::uint64_t> rate) : pace(udp_at(rate)) {
        pace.advance(now, {});
    }
    std::size_t send_for(milliseconds lasting, std::size_t waiting) {
        std::size_t messages = 0;
        for (const auto end = now + lasting; now < end;) {
            now += milliseconds{1};
            pace.advance(now, {.octets = waiting});
            for (; pace.allows() && messages < 1'000'000; ++messages) {
                pace.take(kMessage);
            }
        }
        return messages;
    }
    Pace pace;
    milliseconds now{0};
};

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

TEST_CASE("Pace: a small burst, then so many octets in a second", "[export][unit]") {
    Sender sender(100'000);
    CHECK(sender.send_for(milliseconds{1}, 0) == 18);  // 24'100 octets: the last one ends beyond
    CHECK(sender.send_for(seconds{10}, 0) == 714);
    CHECK(sender.pace.rate() == 100'000);
    CHECK(sender.send_for(seconds{1}, kBuffer) == 71);  // whatever waits
    sender.now += seconds{60};                          // an idle minute gives no larger burst
    CHECK(sender.send_for(milliseconds{1}, 0) == 18);
}

TEST_CASE("Pace: small messages count as the octets that a receive buffer spends on them",
          "[export][unit]") {
    Pace pace(udp_at(100'000));
    pace.advance(milliseconds{0}, {});
    int messages = 0;
    for (; pace.allows(); ++messages) {
        pace.take(80);
    }
    CHECK(messages == 47);  // 24'000 / 512
}

TEST_CASE("Pace: none for a stream, a file or rate 0", "[export][unit]") {
    CollectorOptions tcp;
    tcp.transport = TransportKind::tcp;
    for (Pace pace : {Pace(tcp), Pace(udp_at(0))}) {
        for (int i = 0; i < 1000; ++i) {
            REQUIRE(pace.allows());
            pace.take(kMessage);
        }
        CHECK(pace.rate() == 0);
        CHECK_FALSE(pace.is_auto());
    }
}

TEST_CASE("Pace: auto stays at its base while less than half of the buffer waits",
          "[export][unit]") {
    Sender sender(std::nullopt);
    sender.send_for(milliseconds{1}, 0);
    const std::size_t messages = sender.send_for(seconds{10}, kBuffer / 2);
    CHECK(messages == 7143);  // 10'000'000 octets
    CHECK(sender.pace.rate() == 1'000'000);
}

TEST_CASE("Pace: auto follows records that come faster, and falls back", "[export][unit]") {
    Sender sender(std::nullopt);
    sender.send_for(seconds{1}, kBuffer);
    CHECK(sender.pace.rate() / 1000 == 2000);
    sender.send_for(seconds{4}, kBuffer);
    CHECK(sender.pace.rate() / 1000 == 32'000);
    const std::size_t messages = sender.send_for(milliseconds{1}, 0);
    CHECK(messages <= 46);  // no larger burst than two milliseconds of it
    sender.send_for(seconds{10}, 0);
    CHECK(sender.pace.rate() / 100'000 == 159);
    sender.send_for(seconds{60}, 0);
    CHECK(sender.pace.rate() == 1'000'000);
}

TEST_CASE("Pace: at the end waiting messages leave within half of its time", "[export][unit]") {
    Pace pace(udp_at(std::nullopt));
    pace.advance(milliseconds{0}, {});
    pace.begin_end(seconds{5}, 1'000'000'000);
    CHECK(pace.rate() == 40'000'000);
    pace.advance(seconds{1}, {});
    CHECK(pace.rate() > 40'000'000);  // it does not fall
    Pace unhurried(udp_at(std::nullopt));
    unhurried.advance(milliseconds{0}, {});
    unhurried.begin_end(seconds{5}, 0);
    for (int second = 1; second <= 5; ++second) {
        unhurried.advance(seconds{second}, {});
    }
    CHECK(unhurried.rate() / 1000 == 2000);
    Pace fixed(udp_at(50'000));
    fixed.begin_end(seconds{5}, 1'000'000'000);
    CHECK(fixed.rate() == 50'000);
    Pace hasty(udp_at(std::nullopt));
    hasty.begin_end(seconds{0}, 1'000'000'000);
    CHECK(hasty.rate() == 0);
}

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

TEST_CASE("Pace: auto has a greatest value", "[export][unit]") {
    Sender sender(std::nullopt);
    for (int minute = 0; minute < 20; ++minute) {
        for (int second = 0; second < 60; ++second) {
            sender.now += seconds{1};
            sender.pace.advance(sender.now, {.octets = kBuffer});
        }
    }
    CHECK(sender.pace.rate() == 100'000'000'000);
    sender.now += seconds{3600};
    for (int step = 0; step < 200; ++step) {
        sender.now += seconds{1};
        sender.pace.advance(sender.now, {});
    }
    CHECK(sender.pace.rate() == 1'000'000);
}

TEST_CASE("Pace: a spool leaves at twice the rate of new octets", "[export][unit]") {
    Pace pace(udp_at(std::nullopt));
    std::uint64_t fastest = 0;
    for (int second = 0; second < 100; ++second) {
        pace.advance(seconds{second}, {.octets = kBuffer, .holds_spool = true});
        fastest = std::max(fastest, pace.rate());
        pace.add(3'000'000);
    }
    CHECK(fastest > 5'500'000);
    CHECK(fastest < 12'000'000);
    for (int second = 100; second < 200; ++second) {  // and no more comes
        pace.advance(seconds{second}, {.octets = kBuffer, .holds_spool = true});
    }
    CHECK(pace.rate() < 2'000'000);
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
