// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/transport/udp_transport.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/local_collector.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kRecordOctets = 54;  // of an IPv4 record with the default fields
constexpr std::size_t kRecordsPerDatagram = (600 - 20) / kRecordOctets;

/// A worker with two queues that exports by UDP to `port`.
struct UdpExport {
    explicit UdpExport(std::uint16_t port, const RecordLayout& layout = {})
        : first(layout),
          second(layout),
          worker(options_for(port), {.layout = layout}, {&first, &second}, counters,
                 [this](const CollectorEvent& event) { events.push_back(event); }) {}

    static ExportOptions options_for(std::uint16_t port) {
        ExportOptions options = without_options_records();
        options.collectors.resize(1);
        options.collectors[0].host = "127.0.0.1";
        options.collectors[0].port = port;
        options.collectors[0].mtu = 600;
        options.collectors[0].rate = 0;  // paced_export_test.cpp is about that
        return options;
    }
    /// Lets the worker work until it has nothing to do.
    void run(milliseconds uptime) {
        for (int steps = 0; worker.step(at(uptime)); ++steps) {
            REQUIRE(steps < 10'000);
        }
    }
    /// Lets it send the templates, which are not refused.
    void open() {
        run(milliseconds{0});
        run(UdpTransport::kRefusalWait);
    }
    RecordTally exported() const {
        RecordTally sum = counters.queues[0].exported.read();
        return sum += counters.queues[1].exported.read();
    }
    std::uint64_t refused(std::size_t queue) const {
        return counters.queues[queue].read_lost(ExportLoss::send_refused).records;
    }
    int events_of(CollectorEventKind kind) const {
        int count = 0;
        for (const CollectorEvent& event : events) {
            count += event.kind == kind ? 1 : 0;
        }
        return count;
    }

    RecordQueue first;
    RecordQueue second;
    ExportCounters counters{2, 1};
    std::vector<CollectorEvent> events;
    ExportWorker worker;
};

/// Reads and checks the messages that have arrived.
struct Listener {
    std::vector<DecodedMessage> hear() {
        std::vector<DecodedMessage> messages;
        for (auto datagram = receive(socket); datagram.has_value(); datagram = receive(socket)) {
            messages.push_back(decoder.decode(datagram.value()));
        }
        return messages;
    }
    FileDescriptor socket = bind_loopback(SOCK_DGRAM, 0);
    IpfixDecoder decoder;
};

std::size_t records_in(const std::vector<DecodedMessage>& messages) {
    std::size_t records = 0;
    for (const DecodedMessage& message : messages) {
        records += message.records.size();
    }
    return records;
}

std::size_t templates_in(const std::vector<DecodedMessage>& messages) {
    std::size_t templates = 0;
    for (const DecodedMessage& message : messages) {
        templates += message.templates;
    }
    return templates;
}

}  // namespace

TEST_CASE("UDP export: templates come first, also when there is no flow", "[export][unit]") {
    Listener listener;
    UdpExport udp(port_of(listener.socket));
    udp.run(milliseconds{0});
    CHECK(templates_in(listener.hear()) == 8);
    CHECK(udp.counters.collectors[0].connected.read() == 1);
    REQUIRE(udp.events.size() == 1);
    CHECK(udp.events[0].text ==
          "udp 127.0.0.1:" + std::to_string(port_of(listener.socket)) + ": ready");
}

TEST_CASE("UDP export: full messages at once, the rest after flush_interval", "[export][unit]") {
    Listener listener;
    UdpExport udp(port_of(listener.socket));
    udp.open();
    udp.first.put_many(15);
    udp.run(milliseconds{500});
    std::vector<DecodedMessage> heard = listener.hear();
    CHECK(records_in(heard) == kRecordsPerDatagram);
    for (const DecodedMessage& message : heard) {
        CHECK(message.octets <= 600);
    }
    udp.run(milliseconds{1499});
    CHECK(listener.hear().empty());
    udp.run(milliseconds{1500});
    heard = listener.hear();
    CHECK(records_in(heard) == 15 - kRecordsPerDatagram);
    CHECK(udp.exported().records == kRecordsPerDatagram);  // the last datagram may still come back
    udp.run(milliseconds{1700});
    CHECK(udp.exported() == RecordTally{15, 150, 15'000});
    CHECK(udp.counters.collectors[0].records.read() == RecordTally{15, 150, 15'000});
}

TEST_CASE("UDP export: templates again after template_refresh", "[export][unit]") {
    Listener listener;
    UdpExport udp(port_of(listener.socket));
    udp.run(milliseconds{5000});
    CHECK(templates_in(listener.hear()) == 8);
    udp.run(milliseconds{604'999});
    CHECK(listener.hear().empty());
    udp.run(milliseconds{605'000});
    CHECK(templates_in(listener.hear()) == 8);
    udp.run(milliseconds{605'001});
    CHECK(listener.hear().empty());
}

TEST_CASE("UDP export: templates again after so many packets", "[export][unit]") {
    Listener listener;
    ExportOptions options = UdpExport::options_for(port_of(listener.socket));
    options.template_refresh_packets = 4;
    RecordQueue queue;
    ExportCounters counters(1, 1);
    ExportWorker worker(options, {}, {&queue}, counters, {});
    static_cast<void>(worker.step(at(milliseconds{0})));
    static_cast<void>(worker.step(at(milliseconds{200})));
    queue.put_many(10 * kRecordsPerDatagram);
    for (int steps = 1; worker.step(at(milliseconds{1500 * steps})); ++steps) {
        REQUIRE(steps < 100);
    }
    static_cast<void>(worker.step(at(milliseconds{200'000})));
    std::string order;
    for (const DecodedMessage& message : listener.hear()) {
        order += message.templates != 0 ? 'T' : 'd';
    }
    CHECK(order == "TddddTddddTdd");
}

TEST_CASE("UDP export: a template that is not plain comes before its first record, then with all",
          "[export][unit]") {
    Listener listener;
    UdpExport udp(port_of(listener.socket), RecordLayout::of(groups_of<MplsGroup>()));
    udp.run(milliseconds{0});
    CHECK(templates_in(listener.hear()) == 8);
    udp.run(milliseconds{200});
    udp.first.put(labelled_record(1));
    udp.run(milliseconds{500'000});
    udp.run(milliseconds{501'000});
    std::vector<DecodedMessage> heard =
        listener.hear();  // which refuses data before their template
    REQUIRE(heard.size() == 2);
    CHECK(heard[0].templates == 1);
    CHECK(heard[1].records.size() == 1);
    udp.second.put(labelled_record(2));
    udp.run(milliseconds{502'000});
    udp.run(milliseconds{503'000});
    heard = listener.hear();
    CHECK(templates_in(heard) == 0);
    CHECK(records_in(heard) == 1);
    udp.run(milliseconds{599'999});
    CHECK(listener.hear().empty());
    udp.run(milliseconds{600'000});  // the late one has not put it off
    CHECK(templates_in(listener.hear()) == 9);
    udp.run(milliseconds{600'001});
    CHECK(listener.hear().empty());
}

TEST_CASE("UDP export: a listener that returns gets every template", "[export][unit]") {
    Listener listener;
    const std::uint16_t port = port_of(listener.socket);
    UdpExport udp(port, RecordLayout::of(groups_of<MplsGroup>()));
    udp.open();
    udp.first.put(labelled_record(1));
    udp.run(milliseconds{500});
    udp.run(milliseconds{1500});
    listener.socket = FileDescriptor();
    udp.first.put(labelled_record(2));  // refused
    udp.run(milliseconds{2000});
    udp.run(milliseconds{3000});
    udp.run(milliseconds{3200});
    CHECK(udp.refused(0) == 1);

    Listener again;
    again.socket = bind_loopback(SOCK_DGRAM, port);
    udp.first.put(labelled_record(3));
    udp.run(milliseconds{4000});
    udp.run(milliseconds{5000});
    udp.run(milliseconds{5200});
    std::size_t templates = 0;
    std::size_t data = 0;
    while (const auto datagram = receive(again.socket)) {
        const bool is_template = (*datagram)[16] == std::byte{0} && (*datagram)[17] == std::byte{2};
        templates += is_template ? 1 : 0;
        data += is_template ? 0 : 1;
        CHECK((is_template || templates == 2));
    }
    CHECK(templates == 2);
    CHECK(data == 1);
}

TEST_CASE("UDP export: each queue's records have their own account", "[export][unit]") {
    Listener listener;
    UdpExport udp(port_of(listener.socket));
    udp.open();
    udp.first.put_many(300);
    udp.second.put_many(700);
    udp.run(milliseconds{500});
    udp.run(milliseconds{1500});
    udp.run(milliseconds{1700});
    CHECK(udp.counters.queues[0].exported.read() == RecordTally{300, 3000, 300'000});
    CHECK(udp.counters.queues[1].exported.read() == RecordTally{700, 7000, 700'000});
    CHECK(records_in(listener.hear()) == 1000);
}

TEST_CASE("UDP export: while no collector listens records wait, and come after the templates",
          "[export][unit]") {
    Listener listener;
    const std::uint16_t port = port_of(listener.socket);
    listener.socket = FileDescriptor();
    UdpExport udp(port);
    udp.first.put_many(100);
    udp.second.put_many(50);
    udp.open();
    CHECK(udp.counters.collectors[0].connected.read() == 0);
    udp.run(milliseconds{1199});
    CHECK(udp.counters.collectors[0].refused.read() == 1);
    udp.run(milliseconds{1200});
    udp.run(milliseconds{1400});
    CHECK(udp.counters.collectors[0].refused.read() == 2);
    CHECK(udp.events_of(CollectorEventKind::refused) == 1);
    CHECK(udp.exported() == RecordTally{});

    listener.socket = bind_loopback(SOCK_DGRAM, port);
    udp.run(milliseconds{2400});
    CHECK(templates_in(listener.hear()) == 8);
    udp.run(milliseconds{2599});
    CHECK(listener.hear().empty());
    udp.run(milliseconds{2600});
    udp.run(milliseconds{2800});
    CHECK(records_in(listener.hear()) == 150);  // which judges the numbers
    CHECK(udp.exported() == RecordTally{150, 1500, 150'000});
    CHECK(udp.refused(0) + udp.refused(1) == 0);
    CHECK(udp.counters.collectors[0].connected.read() == 1);
    CHECK(udp.events_of(CollectorEventKind::connected) == 2);
}

TEST_CASE("UDP export: a collector that goes away loses the messages under way", "[export][unit]") {
    Listener listener;
    const std::uint16_t port = port_of(listener.socket);
    UdpExport udp(port);
    udp.open();
    CHECK(templates_in(listener.hear()) == 8);
    listener.socket = FileDescriptor();
    udp.first.put_many(100);
    udp.run(milliseconds{500});
    udp.run(milliseconds{700});
    const std::uint64_t refused = udp.refused(0);  // how many left before ICMP came, chance decides
    CHECK(refused >= kRecordsPerDatagram);
    CHECK(udp.counters.collectors[0].read_lost(ExportLoss::send_refused) ==
          udp.counters.queues[0].read_lost(ExportLoss::send_refused));

    listener.socket = bind_loopback(SOCK_DGRAM, port);
    udp.run(milliseconds{1700});
    udp.run(milliseconds{1900});
    udp.run(milliseconds{2900});
    udp.run(milliseconds{3100});
    CHECK(udp.exported().records == 100 - refused);
    // Numbers go on, so that the listener notices that it missed some; templates come first.
    std::vector<std::uint64_t> sequences;
    while (const auto datagram = receive(listener.socket)) {
        sequences.push_back(std::to_integer<std::uint32_t>((*datagram)[11]));
    }
    REQUIRE(!sequences.empty());
    CHECK(sequences.front() == refused);
    CHECK(sequences.size() == 1 + (100 - refused) / kRecordsPerDatagram);
    for (std::size_t i = 1; i < sequences.size(); ++i) {
        CHECK(sequences[i] == refused + (i - 1) * kRecordsPerDatagram);
    }
}

TEST_CASE("UDP export: finish waits for the refusal of the last datagram", "[export][unit]") {
    Listener listener;
    UdpExport udp(port_of(listener.socket));
    udp.open();
    listener.socket = FileDescriptor();
    udp.first.put_many(3);
    milliseconds uptime{300};
    while (!udp.worker.finish(at(uptime))) {
        REQUIRE(uptime < milliseconds{1000});
        uptime += milliseconds{10};
    }
    CHECK(uptime >= milliseconds{300} + UdpTransport::kRefusalWait);
    CHECK(udp.exported().records == 0);
    CHECK(udp.refused(0) == 3);
}

TEST_CASE("UDP export: finish gives up where no collector has ever listened", "[export][unit]") {
    Listener listener;
    const std::uint16_t port = port_of(listener.socket);
    listener.socket = FileDescriptor();
    UdpExport udp(port);
    udp.first.put_many(3);
    milliseconds uptime{0};
    while (!udp.worker.finish(at(uptime))) {
        REQUIRE(uptime < milliseconds{60'000});
        uptime += milliseconds{10};
    }
    CHECK(uptime < ExportOptions{}.drain_timeout + std::chrono::seconds{2});
    CHECK(udp.counters.queues[0].read_lost(ExportLoss::collector_away).records == 3);
}

TEST_CASE("UDP export: a message that the kernel never sends is lost by name", "[export][unit]") {
    const Listener listener;
    ExportOptions options = UdpExport::options_for(port_of(listener.socket));
    options.collectors[0].mtu = 65'535;  // a datagram holds 65'507
    RecordQueue queue;
    queue.put_many(2000);
    ExportCounters counters(1, 1);
    ExportWorker worker(options, {}, {&queue}, counters, {});
    static_cast<void>(worker.step(at(milliseconds{0})));
    for (int steps = 0; worker.step(at(milliseconds{200})); ++steps) {
        REQUIRE(steps < 100);
    }
    CHECK(counters.queues[0].read_lost(ExportLoss::send_failed).records > 1000);
    CHECK(counters.collectors[0].errors.read() == 1);
}

TEST_CASE("UDP export: types of elements come before their templates, again with each refresh",
          "[export][unit]") {
    Listener listener;
    ExportOptions options = UdpExport::options_for(port_of(listener.socket));
    options.options_interval = std::chrono::seconds{60};
    const RecordLayout layout = RecordLayout::of(groups_of<TcpAnalysisGroup>());
    RecordQueue queue(layout);
    ExportCounters counters(1, 1);
    ExportWorker worker(options, {.layout = layout}, {&queue}, counters, {});
    const auto run = [&](milliseconds uptime) {
        for (int steps = 0; worker.step(at(uptime)); ++steps) {
            REQUIRE(steps < 10'000);
        }
    };
    Record record = record_of(1);
    record.core.key.protocol = 6;
    queue.put(record);
    run(milliseconds{0});
    run(milliseconds{200});
    run(milliseconds{1200});
    std::size_t types = 0;
    const auto count_types = [&types, &listener] {
        types = 0;
        for (const DecodedMessage& message : listener.hear()) {  // which judges the order
            for (const auto& each : message.records) {
                types += each.has(303) ? 1 : 0;
            }
        }
        return types;
    };
    CHECK(count_types() == 12);
    CHECK(listener.decoder.types().size() == 12);
    run(milliseconds{599'000});
    CHECK(count_types() == 0);  // options records alone
    run(milliseconds{601'000});
    CHECK(count_types() == 12);
}
