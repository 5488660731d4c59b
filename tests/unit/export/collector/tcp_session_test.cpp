// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/transport/tcp_transport.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/local_collector.hpp"
#include "tests/support/tcp_export.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// The messages that have arrived whole.
std::vector<DecodedMessage> decode_whole(const std::vector<std::byte>& stream) {
    IpfixDecoder decoder;
    return decode_stream(decoder, std::span(stream).first(whole_messages(stream)));
}

std::vector<DecodedMessage> decode_session(const std::vector<std::byte>& stream) {
    IpfixDecoder decoder;
    return decode_stream(decoder, stream);
}

std::uint16_t port_without_listener() { return port_of(listen_on(0)); }

}  // namespace

TEST_CASE("TCP export: templates first, then records", "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(1000);
    tcp.run(milliseconds{0});
    tcp.run_until_exported(milliseconds{1000}, 1000);
    CHECK(tcp.exported() == 1000);
    std::vector<std::byte> stream;
    read_all(accept_one(listener), stream);
    const auto messages = decode_session(stream);
    CHECK(messages.front().templates == 8);
    std::size_t records = 0;
    for (const DecodedMessage& message : messages) {
        records += message.records.size();
    }
    CHECK(records == 1000);
}

TEST_CASE("TCP export: while no collector listens, records wait in the buffer, then in their queue",
          "[export][unit]") {
    const std::uint16_t port = port_without_listener();
    TcpExport tcp(port);
    tcp.queue.put_many(5000);
    tcp.run(milliseconds{0});
    const std::size_t left = tcp.queue.left();
    CHECK(left > 3000);
    CHECK(left < 4000);
    CHECK(tcp.events == std::vector{CollectorEventKind::connect_failed});

    const FileDescriptor listener = listen_on(port);
    tcp.run(milliseconds{249});  // the pause is 250 to 375 ms
    CHECK(tcp.queue.left() == left);
    tcp.run(milliseconds{375});
    const FileDescriptor connection = accept_one(listener);
    std::vector<std::byte> stream;
    for (int rounds = 0; tcp.exported() < 5000; ++rounds) {
        REQUIRE(rounds < 100'000);
        read_all(connection, stream);
        tcp.run(milliseconds{1375 + 1000 * rounds});
    }
    CHECK(tcp.exported() == 5000);
    CHECK(tcp.counters.collectors[0].connected.read() == 1);
    CHECK(tcp.counters.collectors[0].reconnects.read() == 0);
}

TEST_CASE("TCP export: a collector that never reads stops the draining, not the worker",
          "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener), RecordLayout::of(groups_of<MplsGroup>()));
    tcp.queue.put_many(59'999);  // 3 MB: more than the kernel takes
    tcp.queue.put(labelled_record(1));
    tcp.run(milliseconds{0});
    const FileDescriptor connection = accept_one(listener);
    const std::size_t left = tcp.queue.left();
    CHECK(left > 0);
    tcp.run(milliseconds{2000});
    CHECK(tcp.queue.left() == left);

    std::vector<std::byte> stream;
    for (int rounds = 0; tcp.exported() < 60'000; ++rounds) {
        REQUIRE(rounds < 100'000);
        read_all(connection, stream);
        static_cast<void>(tcp.worker.step(at(milliseconds{2000 + 1000 * (rounds + 1)})));
    }
    read_all(connection, stream);
    std::size_t records = 0;
    for (const DecodedMessage& message : decode_session(stream)) {
        records += message.records.size();
    }
    CHECK(records == 60'000);
}

TEST_CASE(
    "TCP export: a new connection begins with all templates and number 0, and has the cut message "
    "whole",
    "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener), RecordLayout::of(groups_of<MplsGroup>()));
    tcp.queue.put(labelled_record(1));
    tcp.queue.put_many(59'998);
    tcp.queue.put(labelled_record(2));
    tcp.run(milliseconds{0});
    FileDescriptor connection = accept_one(listener);
    REQUIRE(tcp.queue.left() > 0);
    connection = FileDescriptor();  // with unread data: a reset
    tcp.run(milliseconds{100});
    const std::uint64_t before = tcp.exported();  // its kernel had acknowledged them
    CHECK(before > 0);
    CHECK(tcp.counters.collectors[0].connected.read() == 0);
    CHECK(tcp.events.back() == CollectorEventKind::connection_lost);

    std::vector<std::byte> stream;
    for (int rounds = 0; tcp.exported() < 60'000; ++rounds) {
        REQUIRE(rounds < 100'000);
        static_cast<void>(tcp.worker.step(at(milliseconds{500 + 1000 * rounds})));
        if (!connection) {
            connection = accept_one(listener);
        }
        read_all(connection, stream);
    }
    read_all(connection, stream);
    const auto messages = decode_session(stream);  // judges the numbers too
    CHECK(messages.at(0).templates == 8);
    CHECK(messages.at(0).sequence == 0);
    CHECK(messages.at(1).templates == 1);
    std::size_t records = 0;
    for (const DecodedMessage& message : messages) {
        records += message.records.size();
    }
    CHECK(records == 60'000 - before);
    CHECK(tcp.counters.collectors[0].reconnects.read() == 1);
}

TEST_CASE("TCP export: nothing comes twice when the collector closes after reading",
          "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    std::size_t records = 0;
    for (std::uint64_t session = 0; session < 5; ++session) {
        const milliseconds start{session * 60'000};
        tcp.queue.put_many(1000);
        tcp.run(start);
        FileDescriptor connection = accept_one(listener);
        tcp.run_until_exported(start + milliseconds{1000}, 1000 * (session + 1));
        std::vector<std::byte> stream;
        read_all(connection, stream);
        for (const DecodedMessage& message : decode_session(stream)) {
            records += message.records.size();
        }
        connection = FileDescriptor();
        tcp.run(start + milliseconds{2000});
    }
    CHECK(records == 5000);
    CHECK(tcp.exported() == 5000);
    CHECK(tcp.counters.collectors[0].reconnects.read() == 4);
}

TEST_CASE("TCP export: a collector that closes its direction alone gets nothing twice",
          "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(20'000);
    tcp.run(milliseconds{0});
    const FileDescriptor first = accept_one(listener);
    REQUIRE(::shutdown(first.get(), SHUT_WR) == 0);
    tcp.run(milliseconds{100});
    const std::uint64_t before = tcp.exported();
    std::vector<std::byte> stream;
    read_all(first, stream);  // what its kernel had taken
    std::size_t records = 0;
    for (const DecodedMessage& message : decode_whole(stream)) {
        records += message.records.size();
    }
    CHECK(records <= before);
}

TEST_CASE("TCP export: messages sent and not acknowledged come again, in order", "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(20'000);
    std::vector<std::size_t> ports;  // of the flows, as they come; each number is one flow's
    std::uint64_t lost_in_kernel = 0;
    for (int session = 0; tcp.exported() < 20'000; ++session) {
        REQUIRE(session < 50);
        const milliseconds start{session * 60'000};
        tcp.run(start);
        FileDescriptor connection = accept_one(listener);
        std::vector<std::byte> stream;
        for (int rounds = 0; rounds < 3 && tcp.exported() < 20'000; ++rounds) {
            read_all(connection, stream);
            tcp.run(start + milliseconds{1000 * (rounds + 1)});
        }
        connection = FileDescriptor();
        tcp.run(start + milliseconds{10'000});
        for (const DecodedMessage& message : decode_whole(stream)) {
            for (const DecodedRecord& record : message.records) {
                ports.push_back(record.number(7));
            }
        }
        lost_in_kernel = tcp.exported() - ports.size();
    }
    CHECK(std::ranges::is_sorted(ports));
    CHECK(std::ranges::adjacent_find(ports) == ports.end());
    CHECK(ports.size() + lost_in_kernel == 20'000);
}

TEST_CASE("TCP export: finish gives up on an absent collector after drain_timeout",
          "[export][unit]") {
    const std::uint16_t port = port_without_listener();
    TcpExport tcp(port);
    tcp.queue.put_many(1000);
    tcp.run(milliseconds{0});
    CHECK_FALSE(tcp.worker.finish(at(milliseconds{10})));
    CHECK_FALSE(tcp.worker.finish(at(milliseconds{5009})));
    CHECK(tcp.worker.finish(at(milliseconds{5010})));
    CHECK(tcp.queue.left() == 0);
    CHECK(tcp.counters.queues[0].read_lost(ExportLoss::collector_away) ==
          RecordTally{1000, 10'000, 1'000'000});
    CHECK(tcp.exported() == 0);
}

TEST_CASE("TCP export: after end_now() the end gives up at once", "[export][unit]") {
    const std::uint16_t port = port_without_listener();
    TcpExport tcp(port);
    tcp.queue.put_many(1000);
    tcp.run(milliseconds{0});
    CHECK_FALSE(tcp.worker.finish(at(milliseconds{10})));
    tcp.worker.end_now();
    CHECK(tcp.worker.finish(at(milliseconds{11})));
    CHECK(tcp.queue.left() == 0);
    CHECK(tcp.counters.queues[0].read_lost(ExportLoss::collector_away) ==
          RecordTally{1000, 10'000, 1'000'000});
}

TEST_CASE("TCP export: finish gives up on a collector that does not read", "[export][unit]") {
    const FileDescriptor listener = listen_on(0);
    TcpExport tcp(port_of(listener));
    tcp.queue.put_many(60'000);
    int calls = 0;
    while (!tcp.worker.finish(at(milliseconds{10 * calls}))) {
        REQUIRE(++calls < 10'000);
    }
    const std::uint64_t lost = tcp.counters.queues[0].read_lost(ExportLoss::collector_away).records;
    CHECK(lost > 0);
    CHECK(tcp.exported() > 0);
    CHECK(lost + tcp.exported() == 60'000);
}

TEST_CASE("TCP export: finish ends at once when there is nothing to send", "[export][unit]") {
    const std::uint16_t port = port_without_listener();
    TcpExport tcp(port);
    CHECK(tcp.worker.finish(at(milliseconds{0})));
}
