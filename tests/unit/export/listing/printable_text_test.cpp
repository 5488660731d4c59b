// SPDX-License-Identifier: Apache-2.0
#include "export/listing/printable_text.hpp"

#include <catch2/catch.hpp>
#include <string>

using tributary::printable;
using tributary::printable_json;
using tributary::printable_lines;

TEST_CASE("printable: text of any script, stays", "[export][unit]") {
    const std::string text = "eth0 Zürich \xE5\x9B\xBD \xF0\x9F\x9A\x80 a\\b \"c\"";
    CHECK(printable(text) == text);
    CHECK(printable_lines(text) == text);
    CHECK(printable_json(text) == text);
    CHECK(printable("").empty());
}

TEST_CASE("printable: characters that control a terminal, are written out in one line",
          "[export][unit]") {
    CHECK(printable("\x1B[2J\x1B[31mHELLO\nsecond\r\t\x7F") ==
          "\\x1b[2J\\x1b[31mHELLO\\x0asecond\\x0d\\x09\\x7f");
    CHECK(printable("\xC2\x9B"
                    "2J") == "\\u009b2J");  // CSI in one character
    CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("printable: characters that hide or reverse text, are written out", "[export][unit]") {
    CHECK(printable("a\xE2\x80\xAE"
                    "b") == "a\\u202eb");
    CHECK(printable("\xE2\x81\xA6\xE2\x80\x8B\xEF\xBB\xBF\xE2\x80\xA8") ==
          "\\u2066\\u200b\\ufeff\\u2028");
    CHECK(printable("\xF3\xA0\x81\x81") == "\\U000e0041");
    CHECK(printable("\xF0\x91\x82\xBD\xEF\xBE\xA0\xE1\x9E\xB4\xE0\xA3\xA2") ==
          "\\U000110bd\\uffa0\\u17b4\\u08e2");
}

TEST_CASE("printable: octets that are no UTF-8, are written out", "[export][unit]") {
    CHECK(printable("\xFF\xFE") == "\\xff\\xfe");
    CHECK(printable("\xC0\xAF") == "\\xc0\\xaf");  // overlong
    CHECK(printable("\xE0\x80\x8A") == "\\xe0\\x80\\x8a");
    CHECK(printable("\xF0\x80\x80\x8A") == "\\xf0\\x80\\x80\\x8a");
    CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // a surrogate
    CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    CHECK(printable("\xE5\x9B") == "\\xe5\\x9b");  // cut
    CHECK(printable("\xE5\x9B"
                    "a") ==
          "\\xe5\\x9b"
          "a");
    CHECK(printable("\x80") == "\\x80");
}

TEST_CASE("printable_lines: line ends, stay", "[export][unit]") {
    CHECK(printable_lines("a\nb\x1B\r\n") == "a\nb\\x1b\\x0d\n");
}

TEST_CASE("printable_json: hidden characters, are escaped as JSON requires", "[export][unit]") {
    CHECK(printable_json("\"a\\n\xE2\x80\xAE\xC2\x9B\x7F\"") == "\"a\\n\\u202e\\u009b\\u007f\"");
    CHECK(printable_json("\"\xF3\xA0\x81\x81\"") == "\"\\udb40\\udc41\"");
    CHECK(printable_json("{\n \"a\": 1\n}\n") == "{\n \"a\": 1\n}\n");
}
