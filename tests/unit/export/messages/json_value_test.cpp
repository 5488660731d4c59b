// SPDX-License-Identifier: Apache-2.0
#include "export/messages/json_value.hpp"

#include <arpa/inet.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "export/messages/protocol_names.hpp"
#include "tests/support/octets.hpp"

using namespace tributary;
using tributary::test::Octets;
using tributary::test::octets;

namespace {

Octets number(std::uint64_t value, std::size_t size) {
    Octets made;
    for (std::size_t at = size; at > 0; --at) {
        made.push_back(at > 8 ? std::byte{0} : static_cast<std::byte>(value >> (8 * (at - 1))));
    }
    return made;
}

std::string json(JsonForm form, const Octets& value) {
    std::string room(most_json_octets(form, value.size()), '\0');
    const char* const end = put_json_value(room.data(), form, value);
    room.resize(static_cast<std::size_t>(end - room.data()));
    return room;
}

std::string text_json(std::string_view text) {
    Octets value;
    for (const char each : text) {
        value.push_back(static_cast<std::byte>(each));
    }
    return json(JsonForm::text, value);
}

std::string system_address(const Octets& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size());
    return '"' + std::string(text.data()) + '"';
}

}  // namespace

TEST_CASE("JSON values: numbers of any size", "[export][unit]") {
    CHECK(json(JsonForm::unsigned_number, number(65'536, 3)) == "65536");
    CHECK(json(JsonForm::unsigned_number, number(~std::uint64_t{0}, 8)) == "18446744073709551615");
    CHECK(json(JsonForm::signed_number, number(0xFFFE, 2)) == "-2");
    CHECK(json(JsonForm::signed_number, number(std::uint64_t{1} << 63U, 8)) ==
          "-9223372036854775808");
    CHECK(json(JsonForm::float_number, number(0x3FC0'0000, 4)) == "1.5");
    CHECK(json(JsonForm::float_number, number(0x3FF8'0000'0000'0000, 8)) == "1.5");
    CHECK(json(JsonForm::float_number, number(0x7FC0'0000, 4)) == R"("NaN")");
    CHECK(json(JsonForm::float_number, number(0x7F80'0000, 4)) == R"("Infinity")");
    CHECK(json(JsonForm::float_number, number(0xFFF0'0000'0000'0000, 8)) == R"("-Infinity")");
    CHECK(json(JsonForm::boolean, number(1, 1)) == "true");
    CHECK(json(JsonForm::boolean, number(2, 1)) == "false");
}

TEST_CASE("JSON values: what IPFIXcol2 formats", "[export][unit]") {
    CHECK(json(JsonForm::protocol, number(6, 1)) == R"("TCP")");
    CHECK(json(JsonForm::protocol, number(58, 1)) == R"("IPv6-ICMP")");
    CHECK(json(JsonForm::protocol, number(61, 1)) == R"("61")");
    CHECK(json(JsonForm::protocol, number(142, 1)) == R"("ROHC")");
    CHECK(json(JsonForm::protocol, number(255, 1)) == R"("255")");
    CHECK(json(JsonForm::tcp_flags, number(0x1A, 1)) == R"(".AP.S.")");
    CHECK(json(JsonForm::tcp_flags, number(0x01FF, 2)) == R"("UAPRSF")");
    CHECK(json(JsonForm::tcp_flags, number(0, 2)) == R"("......")");
    CHECK(json(JsonForm::mac_address, octets({0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0xFF})) ==
          R"("0A:0B:0C:0D:0E:FF")");
    CHECK(json(JsonForm::octet_array, number(0x01'2345, 3)) == "74565");
    CHECK(json(JsonForm::octet_array, octets({0, 1, 2, 3, 4, 5, 6, 7, 0xAB})) ==
          R"("0x0001020304050607AB")");
    for (const std::string_view name : kProtocolNames) {
        CHECK(name.size() <= kLongestProtocolName);
    }
}

TEST_CASE("JSON values: times", "[export][unit]") {
    CHECK(json(JsonForm::seconds, number(1'526'067'869, 4)) == R"("2018-05-11T19:44:29.000Z")");
    CHECK(json(JsonForm::milliseconds, number(1'526'067'869'006, 8)) ==
          R"("2018-05-11T19:44:29.006Z")");
    CHECK(json(JsonForm::milliseconds, number(951'782'400'000, 8)) ==
          R"("2000-02-29T00:00:00.000Z")");
    CHECK(json(JsonForm::milliseconds, number(0, 8)) == R"("1970-01-01T00:00:00.000Z")");
    CHECK(json(JsonForm::milliseconds, number(253'402'300'799'999, 8)) ==
          R"("9999-12-31T23:59:59.999Z")");
    CHECK(json(JsonForm::milliseconds, number(253'402'300'800'000, 8)) == "null");
    CHECK(json(JsonForm::milliseconds, number(~std::uint64_t{0}, 8)) == "null");
    CHECK(json(JsonForm::seconds, number(~std::uint64_t{0}, 8)) == "null");
    CHECK(json(JsonForm::microseconds, number(0xE308'8E80'4000'0000, 8)) ==
          R"("2020-09-13T12:26:40.250Z")");
    CHECK(json(JsonForm::nanoseconds, number(0xE308'8E80'C000'0000, 8)) ==
          R"("2020-09-13T12:26:40.750Z")");
}

TEST_CASE("JSON values: addresses are those of inet_ntop()", "[export][unit]") {
    CHECK(json(JsonForm::address, octets({192, 0, 2, 100})) == R"("192.0.2.100")");
    std::minstd_rand random(1);
    for (int round = 0; round < 20'000; ++round) {
        Octets address;
        // Words of 0, of one digit and of all, so that runs of zeros are frequent.
        for (int word = 0; word < 8; ++word) {
            const auto kind = random() % 4;
            const auto value = kind == 0 ? random() % 0x1'0000 : kind == 1 ? random() % 16 : 0;
            const Octets both = number(kind == 2 && word == 5 ? 0xFFFF : value, 2);
            address.insert(address.end(), both.begin(), both.end());
        }
        REQUIRE(json(JsonForm::address, address) == system_address(address));
        address.resize(4);
        REQUIRE(json(JsonForm::address, address) == system_address(address));
    }
}

TEST_CASE("JSON values: texts are escaped, and stay UTF-8", "[export][unit]") {
    CHECK(text_json("") == R"("")");
    CHECK(text_json("eth0 \xC3\xA4") == "\"eth0 \xC3\xA4\"");
    CHECK(text_json("a\"b\\c") == R"("a\"b\\c")");
    CHECK(text_json("\n\x1b[2J\x7f") == R"("\u000a\u001b[2J\u007f")");
    CHECK(text_json("\xE2\x80\xAE\xF3\xA0\x81\x81") == R"("\u202e\udb40\udc41")");
    CHECK(text_json("\xFF"
                    "a\xC3") ==
          "\"\xEF\xBF\xBD"
          "a\xEF\xBF\xBD\"");
    CHECK(text_json(std::string(40, '\0')).size() == 2 + 40 * kMostJsonTextOctets);
}

TEST_CASE("JSON values: of an impossible size they are null", "[export][unit]") {
    CHECK(json(JsonForm::unsigned_number, {}) == "null");
    CHECK(json(JsonForm::unsigned_number, number(0, 9)) == "null");
    CHECK(json(JsonForm::float_number, number(0, 3)) == "null");
    CHECK(json(JsonForm::boolean, number(0, 2)) == "null");
    CHECK(json(JsonForm::protocol, {}) == "null");
    CHECK(json(JsonForm::tcp_flags, number(0, 3)) == "null");
    CHECK(json(JsonForm::mac_address, number(0, 5)) == "null");
    CHECK(json(JsonForm::address, number(0, 5)) == "null");
    CHECK(json(JsonForm::octet_array, {}) == "null");
    CHECK(json(JsonForm::microseconds, number(0, 4)) == "null");
}
