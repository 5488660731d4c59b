// SPDX-License-Identifier: Apache-2.0
#include "export/messages/protobuf_writer.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>

#include "tests/support/octets.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using Wire = ProtobufWireType;

/// What `write` writes; the octet behind the slack must stay as it is.
template <class Write>
Octets written(Write write) {
    constexpr std::size_t kRoom = 64;
    std::array<std::byte, kRoom> room;
    room.fill(std::byte{0xEE});
    ProtobufWriter to(room.data());
    write(to);
    for (std::size_t at = to.size() + ProtobufWriter::kSlack; at < kRoom; ++at) {
        CHECK(room.at(at) == std::byte{0xEE});
    }
    return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(to.size())};
}

}  // namespace

// protobuf.dev/programming-guides/encoding has 150 as field 1, "testing" as field 2, and 1 as a
// varint among its examples.
TEST_CASE("protobuf_writer: the examples of protobuf's own documentation", "[export][unit]") {
    CHECK(written([](ProtobufWriter& to) {
              to.put_varint({1, Wire::varint}, 150);
          }) == octets({0x08, 0x96, 0x01}));
    constexpr std::array kText{std::byte{'t'}, std::byte{'e'}, std::byte{'s'}, std::byte{'t'},
                               std::byte{'i'}, std::byte{'n'}, std::byte{'g'}};
    CHECK(written([&](ProtobufWriter& to) {
              to.put_octets({2, Wire::length}, kText);
          }) == octets({0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6E, 0x67}));
}

TEST_CASE("protobuf_writer: tags of one and two octets", "[export][unit]") {
    CHECK(written([](ProtobufWriter& to) {
              to.put_varint({15, Wire::varint}, 0);
              to.put_varint({16, Wire::varint}, 0);
              to.put_octets({2047, Wire::length}, {});
          }) == octets({0x78, 0x00, 0x80, 0x01, 0x00, 0xFA, 0x7F, 0x00}));
    static_assert(ProtobufTag(15, Wire::varint).size() == 1);
    static_assert(ProtobufTag(16, Wire::varint).size() == 2);
}

TEST_CASE("protobuf_writer: varints at each change of length", "[export][unit]") {
    for (unsigned length = 1; length <= kLongestVarint; ++length) {
        const std::uint64_t least = length == 1 ? 0 : std::uint64_t{1} << 7U * (length - 1);
        const std::uint64_t most =
            length == kLongestVarint ? ~std::uint64_t{0} : (std::uint64_t{1} << 7U * length) - 1;
        for (const std::uint64_t value : {least, most}) {
            const Octets made = written([value](ProtobufWriter& to) { to.put_raw_varint(value); });
            CHECK(made.size() == length);
            CHECK(varint_octets(value) == length);
            std::uint64_t read = 0;
            for (std::size_t at = made.size(); at-- > 0;) {
                read = read << 7U | (std::to_integer<std::uint64_t>(made[at]) & 0x7FU);
                CHECK(((made[at] & std::byte{0x80}) == std::byte{}) == (at + 1 == made.size()));
            }
            CHECK(read == value);
        }
    }
    CHECK(kLongestVarint == 10);
}

TEST_CASE("protobuf_writer: a value of 0 without presence is left out, fixed64 never",
          "[export][unit]") {
    CHECK(written([](ProtobufWriter& to) {
              to.put_varint_unless_zero({1, Wire::varint}, 0);
              to.put_varint_unless_zero({1, Wire::varint}, 1);
          }) == octets({0x08, 0x01}));
    CHECK(written([](ProtobufWriter& to) {
              to.put_fixed64({1, Wire::fixed64}, 0x0102030405060708);
          }) == octets({0x09, 8, 7, 6, 5, 4, 3, 2, 1}));
}
