// SPDX-License-Identifier: Apache-2.0
#include "export/messages/framing.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include "tests/support/octets.hpp"

using namespace tributary;
using tributary::test::Octets;
using tributary::test::octets;

namespace {

/// An item with so many octets of 7 as the encoded message.
Octets delimited(std::size_t encoded) {
    DelimitedFraming framing("sevens");
    Octets item(framing.octets_before() + encoded, std::byte{7});
    item.resize(framing.complete(item, encoded, {}));
    return item;
}

}  // namespace

// A varint of 7 bits in each octet, the lowest first, stands before each message.
TEST_CASE("DelimitedFraming: lengths of one octet and of two", "[export][unit]") {
    CHECK(delimited(1) == octets({1, 7}));
    CHECK(delimited(2) == octets({2, 7, 7}));
    CHECK(delimited(127).size() == 128);
    CHECK(delimited(127).front() == std::byte{127});
    CHECK(delimited(128).size() == 130);
    CHECK(delimited(128)[0] == std::byte{0x80});
    CHECK(delimited(128)[1] == std::byte{0x01});
    CHECK(delimited(300)[0] == std::byte{0xAC});
    CHECK(delimited(300)[1] == std::byte{0x02});
    const Octets longest = delimited(kMostDelimited);
    CHECK(longest[0] == std::byte{0xFF});
    CHECK(longest[1] == std::byte{0x7F});
    CHECK(longest.size() == kMostDelimited + 2);
    CHECK(std::all_of(longest.begin() + 2, longest.end(),
                      [](std::byte octet) { return octet == std::byte{7}; }));
}

TEST_CASE("DelimitedFraming: messages are counted, and cut ones are none", "[export][unit]") {
    const DelimitedFraming framing("sevens");
    Octets message;
    const std::vector<std::size_t> sizes{1, 127, 128, 300, 5};
    std::vector<std::size_t> ends{0};
    for (const std::size_t size : sizes) {
        const Octets item = delimited(size);
        message.insert(message.end(), item.begin(), item.end());
        ends.push_back(message.size());
    }
    CHECK(framing.is_message()(message));
    CHECK(framing.records_in(message) == sizes.size());
    for (std::size_t cut = 0; cut < message.size(); ++cut) {
        const bool is_end = cut > 0 && std::ranges::find(ends, cut) != ends.end();
        CHECK(framing.is_message()(MessageView(message).first(cut)) == is_end);
    }
}

TEST_CASE("DelimitedFraming: what a damaged disk may hold is no message", "[export][unit]") {
    CHECK_FALSE(are_delimited({}));
    CHECK_FALSE(are_delimited(octets({0})));  // zeros of a power cut
    CHECK_FALSE(are_delimited(octets({1, 7, 0, 0})));
    CHECK_FALSE(are_delimited(octets({0x81, 0x00, 7})));        // not the shortest form
    CHECK_FALSE(are_delimited(octets({0x81, 0x80, 0x01, 7})));  // longer than any of ours
    CHECK_FALSE(are_delimited(octets({0x80})));
    CHECK(are_delimited(octets({1, 0})));
}

TEST_CASE("Framing: records are taken off one by one", "[export][unit]") {
    const DelimitedFraming delimited_framing("sevens");
    Octets message = delimited(3);
    const Octets long_one = delimited(200);
    message.insert(message.end(), long_one.begin(), long_one.end());
    MessageView rest = message;
    CHECK(delimited_framing.take_record(rest).size() == 3);
    CHECK(delimited_framing.take_record(rest).size() == 200);
    CHECK(delimited_framing.take_record(rest).empty());
    const LineFraming lines("sevens");
    const Octets text = octets({7, 7, '\n', 7, '\n', 7});
    rest = text;
    CHECK(lines.take_record(rest).size() == 2);
    CHECK(lines.take_record(rest).size() == 1);
    CHECK(lines.take_record(rest).empty());
    CHECK(rest.size() == 1);
}
