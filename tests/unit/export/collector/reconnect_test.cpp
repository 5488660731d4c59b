// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "export/transport/tcp_transport.hpp"
#include "tests/support/local_collector.hpp"
#include "tests/support/tcp_export.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// Uptimes of tries to reach an absent collector, and the account's time of the next one.
struct Tries {
    std::vector<milliseconds> at;
    std::vector<milliseconds> told;

    Tries(TcpExport& tcp, std::size_t count) {
        std::uint64_t errors = 0;
        for (milliseconds uptime{0}; at.size() < count; uptime += milliseconds{1}) {
            REQUIRE(uptime < milliseconds{300'000});
            static_cast<void>(tcp.worker.step(at_uptime(uptime)));
            const CollectorCounters& account = tcp.counters.collectors[0];
            if (account.errors.read() != errors) {
                errors = account.errors.read();
                at.push_back(uptime);
                static_cast<void>(tcp.worker.step(at_uptime(uptime)));
                told.push_back(std::chrono::duration_cast<milliseconds>(
                    std::chrono::nanoseconds{account.next_try.read()}));
            }
        }
    }
    static ExportTime at_uptime(milliseconds uptime) { return tributary::test::at(uptime); }
};

std::uint16_t port_of_nobody() { return port_of(listen_on(0)); }

}  // namespace

TEST_CASE("TCP export: pauses grow to ten seconds at the most, and the account has them",
          "[export][unit]") {
    TcpExport tcp(port_of_nobody());
    const Tries tries(tcp, 12);
    milliseconds least = TcpTransport::kFirstPause;
    for (std::size_t i = 1; i < tries.at.size(); ++i) {
        const milliseconds pause = tries.at[i] - tries.at[i - 1];
        CHECK(pause >= least);
        CHECK(pause <=
              std::min<milliseconds>(least * 3 / 2, TcpTransport::kLongestPause) + milliseconds{1});
        CHECK(tries.at[i] - tries.told[i - 1] <= milliseconds{1});
        CHECK(tries.at[i] >= tries.told[i - 1]);
        least = std::min<milliseconds>(least * 2, milliseconds{6666});
    }
    CHECK(tries.at.back() - tries.at[tries.at.size() - 2] > milliseconds{5000});
}

TEST_CASE("TCP export: while the buffer is half full, a second passes between tries",
          "[export][unit]") {
    TcpExport tcp(port_of_nobody());
    tcp.queue.put_many(700);  // some 35 of 64 KiB
    const Tries tries(tcp, 12);
    CHECK(tries.at.back() - tries.at[tries.at.size() - 2] <= milliseconds{1001});
    CHECK(tries.at.back() - tries.at[tries.at.size() - 2] >= milliseconds{999});
}

TEST_CASE("TCP export: a pause ends on request", "[export][unit]") {
    const std::uint16_t port = port_of_nobody();
    TcpExport tcp(port);
    const Tries tries(tcp, 8);  // the next one is seconds away
    const milliseconds now = tries.at.back() + milliseconds{1};
    const FileDescriptor listener = listen_on(port);
    tcp.run(now);
    CHECK(tcp.counters.collectors[0].connected.read() == 0);
    tcp.worker.try_now();
    tcp.run(now);
    CHECK(tcp.counters.collectors[0].connected.read() == 1);
    tcp.run(now);
    CHECK(tcp.counters.collectors[0].next_try.read() == 0);
}

TEST_CASE("TCP export: the end tries at once, and again, as long as it waits", "[export][unit]") {
    const std::uint16_t port = port_of_nobody();
    TcpExport tcp(port);
    const Tries tries(tcp, 8);
    tcp.queue.put_many(100);
    milliseconds uptime = tries.at.back() + milliseconds{1};
    tcp.run(uptime);
    FileDescriptor listener;
    FileDescriptor connection;
    std::vector<std::byte> stream;
    const milliseconds began = uptime;
    while (!tcp.worker.finish(at(uptime))) {
        REQUIRE(uptime < began + milliseconds{20'000});
        uptime += milliseconds{10};
        if (!listener && uptime >= began + milliseconds{4500}) {  // of 5000
            listener = listen_on(port);
        }
        if (listener && !connection) {
            connection = accept_one(listener);
        }
        if (connection) {
            read_all(connection, stream);
            std::this_thread::sleep_for(milliseconds{1});
        }
    }
    CHECK(tcp.exported() == 100);
    CHECK(tcp.counters.collectors[0].errors.read() > 8 + 15);
}

namespace {

/// Takes connections and ends each after it has read something, or at once.
struct HastyCollector {
    TcpExport& tcp;
    const FileDescriptor& listener;
    milliseconds now{0};

    void end_one(milliseconds lasting) {
        while (tcp.counters.collectors[0].connected.read() == 0) {
            tcp.worker.try_now();
            tcp.run(now);
        }
        FileDescriptor connection = accept_one(listener);
        std::vector<std::byte> stream;
        read_all(connection, stream);
        now += lasting;
        tcp.run(now);
        connection = FileDescriptor();
        while (tcp.counters.collectors[0].connected.read() == 1) {
            tcp.run(now);
        }
    }
    [[nodiscard]] std::ptrdiff_t told() const {
        return std::ranges::count(tcp.events, CollectorEventKind::ends_each);
    }
};

}  // namespace

TEST_CASE("TCP export: a collector that ends each connection at once is logged, once a minute",
          "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(10);
    HastyCollector collector{tcp, listener};
    collector.end_one(milliseconds{100});
    collector.end_one(milliseconds{100});
    CHECK(collector.told() == 0);
    collector.end_one(milliseconds{100});
    CHECK(collector.told() == 1);
    collector.end_one(milliseconds{100});
    CHECK(collector.told() == 1);
    collector.now += CollectorEvents::kRepeatAfter;
    collector.end_one(milliseconds{100});
    CHECK(collector.told() == 2);
    CHECK(std::ranges::count(tcp.events, CollectorEventKind::connection_lost) == 5);
    CHECK(tcp.counters.collectors[0].errors.read() == 5);  // each once
}

TEST_CASE("TCP export: connections that last break the row", "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(10);
    HastyCollector collector{tcp, listener};
    for (int i = 0; i < 3; ++i) {
        collector.end_one(milliseconds{100});
        collector.end_one(milliseconds{100});
        collector.end_one(TcpTransport::kShortConnection);
    }
    CHECK(collector.told() == 0);
}

TEST_CASE("TCP export: a collector that is restarted again and again is not logged as refusing",
          "[export][unit]") {
    FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(10);
    HastyCollector collector{tcp, listener};
    const std::uint16_t port = port_of(listener);
    for (int i = 0; i < 4; ++i) {
        collector.end_one(milliseconds{100});
        listener = FileDescriptor();
        const std::uint64_t errors = tcp.counters.collectors[0].errors.read();
        while (tcp.counters.collectors[0].errors.read() == errors) {  // it refuses
            tcp.worker.try_now();
            tcp.run(collector.now);
        }
        listener = listen_on(port);
    }
    CHECK(collector.told() == 0);
    collector.end_one(milliseconds{100});
    collector.end_one(milliseconds{100});
    CHECK(collector.told() == 0);
    collector.end_one(milliseconds{100});
    CHECK(collector.told() == 1);
}
