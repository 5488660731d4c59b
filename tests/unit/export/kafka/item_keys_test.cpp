// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/item_framing.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/flow_share.hpp"
#include "export/ipfix/encoder_options.hpp"
#include "export/kafka/ipfix_item_format.hpp"
#include "export/kafka/murmur2.hpp"
#include "export/messages/json_encoder.hpp"
#include "export/messages/record_format.hpp"
#include "tests/support/added_table.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/two_layouts.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

std::span<const std::byte> octets_of_text(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// JSON records for a topic whose key is an element.
struct KeyedTopic {
    explicit KeyedTopic(const std::string& element, FlowDirection cache = FlowDirection::uniflow,
                        std::optional<FlowDirection> direction = {},
                        ItemValue form = ItemValue::bare) {
        metering.layout = RecordLayout::of({}, cache);
        CollectorOptions collector;
        collector.transport = TransportKind::kafka;
        collector.direction = direction;
        const ExportOptions own = encoder_options({}, collector, metering);
        const MeteringProcess sent = metering_as_sent(metering, collector);
        format = std::make_unique<RecordFormat>(
            RecordFormatParts{.encoder = std::make_unique<JsonEncoder>(own, sent, StreamIdentity{}),
                              .framing = std::make_unique<ItemFraming>(
                                  "json", form, KafkaKey::field, metering,
                                  [=](const MeteringProcess& tables) {
                                      return ElementText(element, own,
                                                         metering_as_sent(tables, collector));
                                  })},
            collector, metering);
    }

    /// The items of a record.
    std::vector<RecordItem> put(const Record& record) {
        REQUIRE(format->append(bytes_of(record), message) == AppendResult::added);
        format->close(message, {});
        CHECK(are_items(message.octets));
        CHECK(format->readmit(message));
        std::vector<RecordItem> made;
        for (RecordItems items(message.octets); const auto item = items.next();) {
            made.push_back(*item);
        }
        return made;
    }

    MeteringProcess metering;
    std::unique_ptr<RecordFormat> format;
    OutgoingMessage message;
};

}  // namespace

// Kafka's UtilsTest.testMurmur2, and librdkafka's unittest_murmur2.
TEST_CASE("murmur2: the known answers of Kafka and of librdkafka", "[export][unit]") {
    static constexpr std::array<std::pair<std::string_view, std::uint32_t>, 14> kAnswers{{
        {"21", static_cast<std::uint32_t>(-973932308)},
        {"foobar", static_cast<std::uint32_t>(-790332482)},
        {"a-little-bit-long-string", static_cast<std::uint32_t>(-985981536)},
        {"a-little-bit-longer-string", static_cast<std::uint32_t>(-1486304829)},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", static_cast<std::uint32_t>(-58897971)},
        {"abc", 479470107},
        {"kafka", 0xD067CF64},
        {"giberish123456789", 0x8F552B0C},
        {"1234", 0x9FC97B14},
        {"234", 0xE7C009CA},
        {"34", 0x873930DA},
        {"4", 0x5A4B5CA1},
        {"PreAmbleWillBeRemoved,ThePrePartThatIs", 0x78424F1C},
        {"", 0x106E08D9},
    }};
    for (const auto& [key, hash] : kAnswers) {
        INFO(key);
        CHECK(murmur2(octets_of_text(key)) == hash);
    }
}

TEST_CASE("ItemFraming: key FIELD is the element's text, its partition that of murmur2",
          "[export][unit]") {
    KeyedTopic topic("sourceIPAddress");
    for (std::uint16_t number = 0; number < 200; ++number) {
        const std::vector<RecordItem> items = topic.put(record_of(number, number % 2 == 0 ? 4 : 6));
        REQUIRE(items.size() == 1);
        const std::string value = text_of(items[0].value);
        const std::string key = text_of(items[0].key);
        INFO(value);
        CHECK(value.find(":\"" + key + "\",\"iana:destinationIP") != std::string::npos);
        CHECK(value.starts_with(R"({"@type")"));
        CHECK(value.ends_with("}"));
        CHECK(items[0].tally.records == 1);
        for (const std::int32_t partitions : {1, 3, 12, 120}) {
            CHECK(
                static_cast<std::int32_t>(items[0].hash % static_cast<std::uint32_t>(partitions)) ==
                rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), partitions,
                                                 nullptr, nullptr));
        }
    }
}

TEST_CASE("ItemFraming: a record without the element has no key, and goes by its flow's number",
          "[export][unit]") {
    KeyedTopic topic("sourceIPv4Address");
    const Record record = record_of(7, 6);
    const std::vector<RecordItem> items = topic.put(record);
    REQUIRE(items.size() == 1);
    CHECK(items[0].key.empty());
    CHECK(items[0].hash == FlowShare().of(bytes_of(record)));
    CHECK(text_of(items[0].value).starts_with(R"({"@type")"));
}

TEST_CASE("ItemFraming: the two uniflows of a biflow each have their own value as key",
          "[export][unit]") {
    KeyedTopic topic("sourceIPv4Address", FlowDirection::biflow, FlowDirection::uniflow);
    Record record = record_of(7);
    auto& reverse = record.group<ReverseGroup>(topic.metering.layout.reverse_at);
    reverse.packets = 3;
    const std::vector<RecordItem> items = topic.put(record);
    REQUIRE(items.size() == 2);
    CHECK(text_of(items[0].key) == "192.0.0.1");
    CHECK(text_of(items[1].key) == "198.0.0.2");
    CHECK(items[0].tally.records == 1);
    CHECK(items[1].tally.records == 0);
    KeyedTopic whole("sourceIPv4Address", FlowDirection::biflow);
    const std::vector<RecordItem> biflow = whole.put(record);
    REQUIRE(biflow.size() == 1);
    CHECK(text_of(biflow[0].key) == "192.0.0.1");
}

TEST_CASE("ItemFraming: an element that no record has is refused, but where no new record comes",
          "[export][unit]") {
    const auto key_of = [](const MeteringProcess& tables) {
        return ElementText("maximumTTL", {}, tables);
    };
    const auto make = [&key_of](const MeteringProcess& metering) {
        return ItemFraming("sevens", ItemValue::bare, KafkaKey::field, metering, key_of);
    };
    const TableChoice takes_new{};
    const TableChoice ends{.taken = {}, .staying = {}, .takes_new = false};
    const std::string refusal = "no record has the element maximumTTL";
    MeteringProcess metering = two_layouts();
    CHECK_THROWS_WITH(make({}), refusal);
    ItemFraming framing = make(metering);
    CHECK_NOTHROW(framing.prepare_tables(metering, takes_new));
    const std::size_t octets = framing.octets_before();

    INFO("its one table ends");
    metering.further[0].is_ending = true;
    CHECK_THROWS_WITH(framing.prepare_tables(metering, takes_new), refusal);
    CHECK_NOTHROW(framing.prepare_tables(metering, ends));
    metering.further[0] = {};
    CHECK_THROWS_WITH(framing.prepare_tables(metering, takes_new), refusal);
    framing.take_tables(framing.prepare_tables(metering, ends));
    CHECK(framing.octets_before() < octets);

    INFO("a record has no key then, and goes by its flow's number");
    const Record record = record_of(7);
    std::vector<std::byte> item(framing.octets_before() + 1, std::byte{7});
    item.resize(framing.complete(item, 1, {.bytes = bytes_of(record), .sent = bytes_of(record)}));
    RecordItems items(item);
    const std::optional<RecordItem> made = items.next();
    REQUIRE(made.has_value());
    CHECK(made->key.empty());
    CHECK(made->hash == FlowShare().of(bytes_of(record)));
    CHECK(made->value.size() == 1);
}

TEST_CASE("ItemFraming: a key of any length, with values that have their length in front",
          "[export][unit]") {
    KeyedTopic topic("sourceIPAddress", FlowDirection::uniflow, {}, ItemValue::delimited);
    for (const std::uint8_t version : {std::uint8_t{4}, std::uint8_t{6}}) {
        const std::vector<RecordItem> items = topic.put(record_of(7, version));
        REQUIRE(items.size() == 1);
        CHECK(text_of(items[0].key) == (version == 4 ? "192.0.0.1" : "c000:1::"));
        MessageView value = items[0].value;
        REQUIRE(are_delimited(value));
        const std::string record = text_of(take_delimited(value));
        CHECK(value.empty());
        CHECK(record.starts_with(R"({"@type")"));
        CHECK(record.ends_with("}"));
    }
}

TEST_CASE("Kafka: keys and lanes of a declared table go by its key, the same for both directions",
          "[export][unit]") {
    const AddedTable macs(true);
    MeteringProcess metering;
    metering.further = {macs.for_export("macs")};
    CollectorOptions collector;
    collector.transport = TransportKind::kafka;
    collector.tables = {"main", "macs"};
    IpfixItemFormat format({}, collector, metering);
    ItemFraming framing("sevens", ItemValue::bare, KafkaKey::flow, metering);
    OutgoingMessage message;
    message.layout = 1;
    const FlowShare share(macs.layout, macs.elements);
    for (unsigned key = 0; key < 2000; ++key) {
        Record record = macs.record({.dscp = static_cast<std::uint8_t>(key / 100),
                                     .destination_mac = 200,
                                     .source_mac = static_cast<std::uint8_t>(key % 100)});
        auto& octets = record.group<DeclaredGroup>(macs.layout.places[macs.group]).key;
        const std::uint32_t number = share.of(bytes_of(record));
        REQUIRE(format.append(bytes_of(record), message) == AppendResult::added);
        std::swap(octets.source_mac, octets.destination_mac);
        REQUIRE(share.of(bytes_of(record)) == number);
        REQUIRE(format.append(bytes_of(record), message) == AppendResult::added);

        std::vector<std::byte> item(framing.octets_before() + 1, std::byte{7});
        item.resize(framing.complete(item, 1, {.bytes = bytes_of(record), .layout = 1}));
        RecordItems items(item);
        const std::optional<RecordItem> made = items.next();
        REQUIRE(made.has_value());
        CHECK(made->hash == number);
        CHECK(std::stoul(text_of(made->key), nullptr, 16) == number);
    }
    format.close(message, at(std::chrono::milliseconds{0}));
    RecordItems items(message.octets);
    std::size_t lanes = 0;
    for (auto item = items.next(); item; item = items.next()) {
        CHECK(item->tally.records % 2 == 0);  // both directions of each key
        ++lanes;
    }
    CHECK(lanes == IpfixItemFormat::kLanes);
}
