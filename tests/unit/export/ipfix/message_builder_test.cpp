// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/message_builder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "export/export_error.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/octets.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::uint32_t kDomain = 0x0102'0304;

/// Adds a record of so many octets, all of this value. @return  false: there is no room
bool add(MessageBuilder& builder, std::uint16_t template_id, std::size_t count, int value) {
    std::byte* const at = builder.append(template_id, count);
    if (at != nullptr) {
        std::fill_n(at, count, static_cast<std::byte>(value));
    }
    return at != nullptr;
}

/// The octets of a message with this length and these sets; it has neither number nor time.
Octets message(int high_length, int low_length, std::initializer_list<int> sets) {
    Octets made = octets({0, 10, high_length, low_length, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4});
    std::ranges::copy(octets(sets), std::back_inserter(made));
    return made;
}

Octets closed(MessageBuilder& builder, std::uint32_t records) {
    const MessageBuilder::Message message = builder.close();
    CHECK(message.records == records);
    return {message.octets.begin(), message.octets.end()};
}

}  // namespace

TEST_CASE("MessageBuilder: a message without a record has no octets", "[export][unit]") {
    MessageBuilder builder(kDomain, 1400);
    CHECK(closed(builder, 0).empty());
    REQUIRE(add(builder, 256, 2, 7));
    CHECK_FALSE(closed(builder, 1).empty());
    CHECK(closed(builder, 0).empty());
}

TEST_CASE("MessageBuilder: records of one template share a set", "[export][unit]") {
    MessageBuilder builder(kDomain, 1400);
    REQUIRE(add(builder, 0x0123, 3, 0xAA));
    REQUIRE(add(builder, 0x0123, 3, 0xBB));
    CHECK(closed(builder, 2) ==
          message(0, 26, {0x01, 0x23, 0, 10, 0xAA, 0xAA, 0xAA, 0xBB, 0xBB, 0xBB}));
}

TEST_CASE("MessageBuilder: a record of another template begins a set, also one that was there",
          "[export][unit]") {
    MessageBuilder builder(kDomain, 1400);
    REQUIRE(add(builder, 256, 1, 1));
    REQUIRE(add(builder, 65'535, 2, 2));
    REQUIRE(add(builder, 256, 1, 3));
    REQUIRE(add(builder, 256, 1, 4));
    CHECK(closed(builder, 4) == message(0, 33,
                                        {1, 0, 0, 5, 1,           // 256
                                         0xFF, 0xFF, 0, 6, 2, 2,  // 65535
                                         1, 0, 0, 6, 3, 4}));     // 256
}

TEST_CASE("MessageBuilder: nothing of a message is in the next one", "[export][unit]") {
    MessageBuilder builder(kDomain, 1400);
    REQUIRE(add(builder, 300, 200, 0xEE));
    static_cast<void>(closed(builder, 1));
    for (int times = 0; times < 2; ++times) {  // the set that was open last is not continued
        REQUIRE(add(builder, 300, 1, 5));
        CHECK(closed(builder, 1) == message(0, 21, {1, 44, 0, 5, 5}));
    }
}

TEST_CASE("MessageBuilder: the limit is exact to the octet, with and without a set header",
          "[export][unit]") {
    for (const std::size_t spare : {0U, 1U, 2U}) {
        CAPTURE(spare);
        MessageBuilder builder(kDomain, 16 + 4 + 10 + spare);
        CHECK(builder.has_room(256, 10 + spare));
        CHECK_FALSE(builder.has_room(256, 11 + spare));
        REQUIRE(add(builder, 256, 10, 1));
        CHECK(add(builder, 256, 1, 2) == (spare >= 1));
        CHECK_FALSE(builder.has_room(257, 1));  // a set header has four octets
        CHECK_FALSE(add(builder, 257, 1, 3));
        CHECK(closed(builder, spare >= 1 ? 2 : 1).size() == 30 + std::min<std::size_t>(spare, 1));
    }
    MessageBuilder with_second(kDomain, 16 + 4 + 10 + 4 + 1);
    REQUIRE(add(with_second, 256, 10, 1));
    CHECK_FALSE(add(with_second, 257, 2, 2));
    CHECK(add(with_second, 257, 1, 2));
    CHECK(closed(with_second, 2).size() == 35);
}

TEST_CASE("MessageBuilder: a record that finds no room changes nothing", "[export][unit]") {
    MessageBuilder builder(kDomain, 30);
    REQUIRE(add(builder, 256, 2, 1));
    CHECK_FALSE(add(builder, 256, 9, 2));
    CHECK_FALSE(add(builder, 257, 5, 2));
    CHECK_FALSE(add(builder, 256, 70'000, 2));
    REQUIRE(add(builder, 256, 2, 3));  // still in the first set
    CHECK(closed(builder, 2) == message(0, 24, {1, 0, 0, 8, 1, 1, 3, 3}));
}

TEST_CASE("MessageBuilder: the longest message, of one record and of many", "[export][unit]") {
    MessageBuilder builder(kDomain, 65'535);
    CHECK_FALSE(builder.has_room(256, 65'516));
    REQUIRE(add(builder, 256, 65'515, 9));
    CHECK_FALSE(add(builder, 256, 1, 9));
    Octets whole = closed(builder, 1);
    REQUIRE(whole.size() == 65'535);
    CHECK(Octets(whole.begin() + 2, whole.begin() + 4) == octets({0xFF, 0xFF}));
    CHECK(Octets(whole.begin() + 16, whole.begin() + 20) == octets({1, 0, 0xFF, 0xEF}));
    std::uint32_t records = 0;
    while (add(builder, records % 2 == 0 ? 256 : 257, 1, 8)) {
        ++records;
    }
    CHECK(records == (65'535 - 16) / 5);
    whole = closed(builder, records);
    CHECK(whole.size() == 16 + 5 * records);
    CHECK(is_data_message(whole));
}

TEST_CASE("MessageBuilder: a limit that no message has is refused", "[export][unit]") {
    CHECK_THROWS_AS(MessageBuilder(kDomain, 15), ExportError);
    CHECK_THROWS_AS(MessageBuilder(kDomain, 65'536), ExportError);
    MessageBuilder empty(kDomain, 16);
    CHECK_FALSE(empty.has_room(256, 1));
    CHECK(closed(empty, 0).empty());
}
