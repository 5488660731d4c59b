// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/item_framing.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include "export/record_items.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/export_harness.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

MeteringProcess metering() {
    MeteringProcess made;
    made.layout = RecordLayout::of(kAllGroups, FlowDirection::uniflow);
    return made;
}

/// Items one behind the other, whose encoded records are so many octets of 7.
Octets items_of(ItemFraming& framing, const std::vector<std::size_t>& lengths) {
    const Record record = record_of(1);
    Octets all;
    for (const std::size_t length : lengths) {
        Octets item(framing.octets_before() + length + framing.octets_behind(), std::byte{7});
        item.resize(framing.complete(item, length, {.bytes = bytes_of(record)}));
        all.insert(all.end(), item.begin(), item.end());
    }
    return all;
}

}  // namespace

TEST_CASE("ItemFraming: values are records, bare or with their lengths in front",
          "[export][unit]") {
    const auto key = GENERATE(KafkaKey::flow, KafkaKey::none);
    const auto form = GENERATE(ItemValue::bare, ItemValue::delimited);
    ItemFraming framing("sevens", form, key, metering());
    const std::vector<std::size_t> lengths{1, 127, 128, 300};
    const Octets message = items_of(framing, lengths);
    REQUIRE(are_items(message));
    CHECK(framing.records_in(message) == lengths.size());

    RecordItems items(message);
    MessageView rest = message;
    for (const std::size_t length : lengths) {
        const auto item = items.next();
        REQUIRE(item.has_value());
        CHECK(item->key.size() == (key == KafkaKey::flow ? 8 : 0));
        CHECK(item->tally.records == 1);
        MessageView value = item->value;
        if (form == ItemValue::delimited) {
            CHECK(are_delimited(value));
            value = take_delimited(value);
        }
        CHECK(value.size() == length);
        CHECK(std::ranges::count(value, std::byte{7}) == static_cast<std::ptrdiff_t>(length));
        CHECK(std::ranges::equal(framing.take_record(rest), value));
    }
    CHECK(items.at_end());
    CHECK(framing.take_record(rest).empty());
}

TEST_CASE("ItemFraming: a spool of bare values is not one of delimited values", "[export][unit]") {
    const ItemFraming bare("sevens", ItemValue::bare, KafkaKey::flow, metering());
    const ItemFraming delimited("sevens", ItemValue::delimited, KafkaKey::flow, metering());
    CHECK(bare.name() == "kafka sevens");
    CHECK(delimited.name() == "kafka delimited sevens");
}
