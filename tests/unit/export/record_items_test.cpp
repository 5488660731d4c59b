// SPDX-License-Identifier: Apache-2.0
#include "export/record_items.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/octets.hpp"

using namespace tributary;

namespace {

std::vector<std::byte> octets_of(std::string_view text) {
    const auto octets = std::as_bytes(std::span(text));
    return {octets.begin(), octets.end()};
}

std::vector<std::byte> item_of(std::string_view key, std::string_view value, std::uint32_t hash,
                               const RecordTally& tally) {
    const std::vector<std::byte> key_octets = octets_of(key);
    const std::vector<std::byte> value_octets = octets_of(value);
    std::vector<std::byte> item(kRecordItemHeader);
    write_item_header({.key = key_octets, .value = value_octets, .hash = hash, .tally = tally},
                      item);
    std::ranges::copy(key_octets, std::back_inserter(item));
    std::ranges::copy(value_octets, std::back_inserter(item));
    return item;
}

std::vector<std::byte> three_items() {
    std::vector<std::byte> octets = item_of("a", "first", 1, {1, 10, 1000});
    std::ranges::copy(item_of("", "second", 2, {}), std::back_inserter(octets));
    std::ranges::copy(item_of("ccc", "", 3, {1, 3, 300}), std::back_inserter(octets));
    return octets;
}

}  // namespace

TEST_CASE("RecordItems: gives what was written, in order", "[export][unit]") {
    const std::vector<std::byte> octets = three_items();
    RecordItems items(octets);
    const auto first = items.next();
    REQUIRE(first);
    CHECK(text_of(first->key) == "a");
    CHECK(text_of(first->value) == "first");
    CHECK(first->hash == 1);
    CHECK(first->tally == RecordTally{1, 10, 1000});
    const auto second = items.next();
    REQUIRE(second);
    CHECK(second->key.empty());
    CHECK(text_of(second->value) == "second");
    CHECK(second->tally == RecordTally{});
    CHECK_FALSE(items.at_end());
    const auto third = items.next();
    REQUIRE(third);
    CHECK(text_of(third->key) == "ccc");
    CHECK(third->value.empty());
    CHECK_FALSE(items.next());
    CHECK(items.at_end());
}

TEST_CASE("RecordItems: octets that are cut anywhere are no items", "[export][unit]") {
    const std::vector<std::byte> octets = three_items();
    CHECK(are_items(octets));
    std::vector<std::size_t> whole{octets.size()};
    for (RecordItems items(octets); items.next();) {
        whole.push_back(octets.size() - items.rest().size());
    }
    for (std::size_t size = 0; size <= octets.size(); ++size) {
        INFO(size);
        CHECK(are_items(MessageView(octets).first(size)) == (std::ranges::count(whole, size) > 0));
    }
}

TEST_CASE("RecordItems: a message begins with the first item of a record", "[export][unit]") {
    CHECK_FALSE(are_items(item_of("", "second", 2, {})));
    CHECK(are_items(item_of("", "first", 2, {1, 0, 0})));
}

TEST_CASE("RecordItems: a length of 4 GiB does not wrap", "[export][unit]") {
    std::vector<std::byte> item = item_of("a", "value", 1, {1, 1, 1});
    std::fill_n(item.begin(), 8, std::byte{0xFF});
    CHECK_FALSE(are_items(item));
}

TEST_CASE("RecordItems: set_tally() changes nothing else", "[export][unit]") {
    std::vector<std::byte> item = item_of("key", "value", 7, {});
    set_tally(item, {1, 2, 3});
    CHECK(item == item_of("key", "value", 7, {1, 2, 3}));
}
