// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/ipfix_item_format.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/record_items.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/protobuf_fields.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint32_t kSourcePort = 7;

/// A format, and the accounts that MessageCollector would keep.
struct Topic {
    explicit Topic(RecordFormatKind kind = RecordFormatKind::ipfix, KafkaKey key = KafkaKey::flow,
                   std::size_t buffer = std::size_t{4} << 20U) {
        options.probe.address = "192.0.2.7";
        options.observation_domain = 42;
        options.fields = kAllGroups;
        metering.layout = RecordLayout::of(kAllGroups, FlowDirection::uniflow);
        CollectorOptions collector;
        collector.transport = TransportKind::kafka;
        collector.format = kind;
        collector.kafka.key = key;
        collector.buffer = buffer;
        format = std::make_unique<IpfixItemFormat>(options, collector, metering);
    }

    /// @return  false: the message is full
    bool put(const Record& record) {
        if (format->append(bytes_of(record), message) != AppendResult::added) {
            return false;
        }
        const std::uint64_t port = record.core.key.source_port.value;
        message.entries.push_back({.number = port});
        const std::byte* const bytes = bytes_of(record);
        message.records.insert(message.records.end(), bytes, bytes + record_size(metering.layout));
        return true;
    }
    void close() { format->close(message, {.wall = kNow, .uptime = {}}); }

    ExportOptions options;
    MeteringProcess metering;
    std::unique_ptr<IpfixItemFormat> format;
    OutgoingMessage message;
};

/// Reads a message by a decoder that has heard nothing, and that expects number 0.
DecodedMessage read_alone(std::span<const std::byte> message) {
    constexpr std::ptrdiff_t kSequenceAt = 8;  // RFC 7011 §3.1
    Octets octets(message.begin(), message.end());
    std::uint32_t sequence = 0;
    for (std::ptrdiff_t at = kSequenceAt; at < kSequenceAt + 4; ++at) {
        sequence =
            sequence << 8U | std::to_integer<std::uint32_t>(message[static_cast<std::size_t>(at)]);
    }
    std::fill_n(octets.begin() + kSequenceAt, 4, std::byte{});
    IpfixDecoder fresh;
    DecodedMessage read = fresh.decode(octets);
    read.sequence = sequence;
    return read;
}

/// Reads all items, each by a decoder that has heard nothing, and judges what every message has.
///
/// @param next  by key, the next sequence number
/// @return      the source ports of all records, in order
std::vector<std::uint64_t> read_all(const OutgoingMessage& message,
                                    std::map<std::string, std::uint32_t>& next) {
    std::vector<std::uint64_t> ports;
    RecordItems items(message.octets);
    std::uint32_t count = 0;
    while (const auto item = items.next()) {
        ++count;
        const DecodedMessage read = read_alone(item->value);
        CHECK(item->value.size() <= IpfixItemFormat::kMostItem);
        CHECK(read.records.size() == item->tally.records);
        CHECK(item->tally.packets == 10 * item->tally.records);
        CHECK(item->tally.octets == 1000 * item->tally.records);
        CHECK(read.domain == 42);
        CHECK(read.export_time == 1'600'000'001);
        std::uint32_t& sequence = next[text_of(item->key)];
        CHECK(read.sequence == sequence);
        sequence += static_cast<std::uint32_t>(read.records.size());
        for (const DecodedRecord& record : read.records) {
            ports.push_back(record.number(kSourcePort));
        }
    }
    CHECK(items.at_end());
    CHECK(count == message.data_records);
    return ports;
}

}  // namespace

TEST_CASE("IpfixItemFormat: entries and records are in the order of the items, each is there once",
          "[export][unit]") {
    Topic topic;
    std::map<std::string, std::uint32_t> next;
    for (unsigned round = 0; round < 3; ++round) {
        for (std::uint16_t port = 0; port < 900; ++port) {
            REQUIRE(topic.put(record_of(port)));
        }
        topic.close();
        const std::vector<std::uint64_t> ports = read_all(topic.message, next);
        REQUIRE(ports.size() == 900);
        REQUIRE(topic.message.entries.size() == 900);
        const std::size_t octets = record_size(topic.metering.layout);
        std::vector<bool> seen(900);
        for (std::size_t i = 0; i < ports.size(); ++i) {
            REQUIRE(topic.message.entries[i].number == ports[i]);
            const Record expected = record_of(static_cast<std::uint16_t>(ports[i]));
            REQUIRE(std::memcmp(topic.message.records.data() + i * octets, bytes_of(expected),
                                octets) == 0);
            seen.at(ports[i]) = true;
        }
        CHECK(std::ranges::count(seen, true) == 900);
        CHECK(topic.message.latest_end == record_of(0).core.end);
        CHECK(are_items(topic.message.octets));
        CHECK(topic.format->readmit(topic.message));
        topic.message.clear();
    }
    CHECK(next.size() == IpfixItemFormat::kLanes);  // 900 flows: each lane has some
}

TEST_CASE("IpfixItemFormat: a lane has the hash that its key names, and its records their order",
          "[export][unit]") {
    Topic topic;
    for (std::uint16_t turn = 0; turn < 20; ++turn) {
        for (std::uint16_t port = 0; port < 30; ++port) {
            Record record = record_of(port);
            record.core.end += std::chrono::milliseconds{turn};
            REQUIRE(topic.put(record));
        }
    }
    topic.close();
    std::map<std::uint64_t, std::uint32_t> lane_of;
    std::map<std::uint64_t, std::uint64_t> last_end;
    RecordItems items(topic.message.octets);
    while (const auto item = items.next()) {
        CHECK(std::stoul(text_of(item->key), nullptr, 16) == item->hash);
        const DecodedMessage read = read_alone(item->value);
        for (const DecodedRecord& record : read.records) {
            const std::uint64_t port = record.number(kSourcePort);
            CHECK(lane_of.emplace(port, item->hash).first->second == item->hash);
            constexpr std::uint32_t kFlowEndMilliseconds = 153;
            CHECK(record.number(kFlowEndMilliseconds) >= last_end[port]);
            last_end[port] = record.number(kFlowEndMilliseconds);
        }
    }
    CHECK(lane_of.size() == 30);
}

TEST_CASE("IpfixItemFormat: full messages, of records of many shapes, keep their limits",
          "[export][unit]") {
    const KafkaKey key = GENERATE(KafkaKey::flow, KafkaKey::none);
    const std::size_t buffer = GENERATE(std::size_t{65'536}, std::size_t{4} << 20U);
    Topic topic(RecordFormatKind::ipfix, key, buffer);
    const std::size_t most = buffer == 65'536 ? 65'000 : IpfixItemFormat::kMostMessage;
    const RecordLayout& layout = topic.metering.layout;
    const std::size_t stride = GENERATE(1U, 97U);
    std::map<std::string, std::uint32_t> next;
    for (unsigned round = 0; round < 2; ++round) {
        std::size_t put = 0;
        for (std::size_t shape = 0;; shape = (shape + stride) % shape_count(layout)) {
            const Record record =
                record_of_shape(shape_at(shape, layout), layout, static_cast<std::uint16_t>(put));
            if (!topic.put(record)) {
                break;
            }
            ++put;
            REQUIRE(put < 65'536);
        }
        topic.close();
        CHECK(topic.message.octets.size() <= most);
        CHECK(topic.message.octets.size() > most / 3);
        RecordItems items(topic.message.octets);
        std::size_t records = 0;
        while (const auto item = items.next()) {
            const DecodedMessage read = read_alone(item->value);
            CHECK(item->value.size() <= IpfixItemFormat::kMostItem);
            CHECK(item->key.size() == (key == KafkaKey::none ? 0U : 2U));
            records += read.records.size();
        }
        CHECK(records == put);
        topic.message.clear();
    }
}

TEST_CASE("IpfixItemFormat: RawFlow around each message", "[export][unit]") {
    Topic topic(RecordFormatKind::rawflow, KafkaKey::none);
    REQUIRE(topic.put(record_of(7)));
    topic.close();
    RecordItems items(topic.message.octets);
    const auto item = items.next();
    REQUIRE(item);
    CHECK_FALSE(items.next());
    const ProtobufFields frame = protobuf_fields(item->value);
    CHECK(number_of(frame, 1) == 1'600'000'001);
    CHECK(number_of(frame, 5) == 1);
    const DecodedMessage read = read_alone(test::octets_of(frame, 2));
    REQUIRE(read.records.size() == 1);
    CHECK(read.records[0].number(kSourcePort) == 7);
}

TEST_CASE("IpfixItemFormat: a discarded message leaves nothing, and takes no number",
          "[export][unit]") {
    Topic topic;
    REQUIRE(topic.put(record_of(1)));
    topic.format->discard(topic.message);
    topic.message.clear();
    REQUIRE(topic.put(record_of(1)));
    topic.close();
    std::map<std::string, std::uint32_t> next;
    CHECK(read_all(topic.message, next) == std::vector<std::uint64_t>{1});
}
