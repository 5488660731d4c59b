// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "conf/scalars.hpp"
#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

std::string repeat(const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

}  // namespace

TEST_CASE("yaml: an unknown key is refused with what was meant", "[conf][unit]") {
    CHECK(refusal("flows:\n  max-flow: 5\n") ==
          "probe.yaml:2: flows.max-flow is not a key; did you mean flows.max-flows?");
    CHECK(refusal("flow:\n  max-flows: 5\n") ==
          "probe.yaml:1: flow is not a key; did you mean flows?");
    CHECK(refusal("\nflows: {idel-timeout: 5}\n") ==
          "probe.yaml:2: flows.idel-timeout is not a key; did you mean flows.idle-timeout?");
}

TEST_CASE("yaml: a key like no other is refused with those there are", "[conf][unit]") {
    CHECK(refusal("cores: {colour: 5}\n") ==
          "probe.yaml:1: cores.colour is not a key; must be one of: export, input, helpers, numa");
    CHECK(refusal("\"a\\nb\": 5\n") ==
          "probe.yaml:1: a?b is not a key; must be one of: inputs, flows, fields, tables, "
          "recorder, triggers, export, cores, read, "
          "telemetry, control, log");
}

TEST_CASE("yaml: a key given twice is refused at every level", "[conf][unit]") {
    CHECK(refusal("flows: {}\nflows: {}\n") ==
          "probe.yaml:2: flows is given twice, first in probe.yaml:1; must be given once (remove "
          "one)");
    CHECK(refusal("flows:\n  max-flows: 1\n  max-flows: 2\n") ==
          "probe.yaml:3: flows.max-flows is given twice, first in probe.yaml:2; must be given once "
          "(remove one)");
    CHECK(probe_refusal("inputs:\n  - {device: a}\n  - {device: a, device: b}\n") ==
          "probe.yaml:3: inputs.1.device is given twice, first in probe.yaml:3; must be given once "
          "(remove one)");
}

TEST_CASE("yaml: a list or value where keys belong is refused", "[conf][unit]") {
    CHECK(refusal("- flows\n") ==
          "probe.yaml:1: the configuration is a list; must be a map of keys (KEY: VALUE lines)");
    CHECK(refusal("flows") ==
          "probe.yaml:1: the configuration is flows; must be a map of keys (KEY: VALUE lines)");
    CHECK(refusal("flows:\n  - max-flows: 1\n") ==
          "probe.yaml:1: flows is a list; must be a map of keys (KEY: VALUE lines)");
    CHECK(probe_refusal("inputs: {device: a}\n") ==
          "probe.yaml:1: inputs is a map; must be a list (lines that begin with \"-\")");
    CHECK(probe_refusal("inputs: [eth0]\n") ==
          "probe.yaml:1: inputs.0 is eth0; must be a map of keys (KEY: VALUE lines)");
}

TEST_CASE("yaml: broken syntax is refused with its line", "[conf][unit]") {
    CHECK(refusal("flows:\n  max-flows: 5\n   idle-timeout: 5\n") ==
          "probe.yaml:3: this is not YAML: illegal map value (see brackets, quotes and indentation "
          "up to here)");
    CHECK(refusal("flows: {max-flows: 5\n") ==
          "probe.yaml:2: this is not YAML: end of map flow not found (see brackets, quotes and "
          "indentation up to here)");
}

TEST_CASE("yaml: what only more elaborate YAML has is refused by name", "[conf][unit]") {
    CHECK(refusal("flows: {}\n---\nread: {}\n") ==
          "probe.yaml:3: a second YAML document starts here; must be one document");
    CHECK(refusal("read: &r {queues: 1}\nflows: *r\n") ==
          "probe.yaml:2: YAML aliases are not supported; must be the value itself (write it out "
          "again)");
    CHECK(refusal("read: &r [*r]\n") ==
          "probe.yaml:1: YAML aliases are not supported; must be the value itself (write it out "
          "again)");
    CHECK(refusal("read: {queues: !!int 1}\n") ==
          "probe.yaml:1: the YAML tag tag:yaml.org,2002:int is not supported; must be the value "
          "alone");
    CHECK(refusal("? [a]\n: b\n") == "probe.yaml:1: a key is a list; must be a word");
    CHECK(refusal("? {a: b}\n: b\n") == "probe.yaml:1: a key is a map; must be a word");
    CHECK(refusal("~: b\n") == "probe.yaml:1: a key is empty; must be a word");
}

TEST_CASE("yaml: an anchor without alias changes nothing", "[conf][unit]") {
    CHECK(load("read: &r {queues: 3}\n").config.read.queues == 3);
}

TEST_CASE("yaml: bytes that are no text are refused with their line", "[conf][unit]") {
    const std::string tail = " there are bytes that are no text; must be YAML in UTF-8";
    CHECK(refusal("read: {}\n\xFF\n") == "probe.yaml:2:" + tail);
    CHECK(refusal("\xFF\xFE\x41") == "probe.yaml:1:" + tail);
    CHECK(refusal(std::string("read\0: {}", 9)) == "probe.yaml:1:" + tail);
    CHECK(refusal("# \x04") == "probe.yaml:1:" + tail);
    CHECK(refusal(std::string(1U << 20U, '#')) == "accepted");
    CHECK(refusal(std::string((1U << 20U) + 1, '#')) ==
          "probe.yaml: the configuration is larger than 1 MiB; must be a YAML file");
}

TEST_CASE("yaml: UTF-8 in comments and byte order mark are fine", "[conf][unit]") {
    CHECK(load("\xEF\xBB\xBF# \xC3\xBC \xE2\x82\xAC \xF0\x9F\x90\x9F\nread: {queues: 3}\r\n")
              .config.read.queues == 3);
}

TEST_CASE("yaml: any depth of nesting ends in an error", "[conf][unit]") {
    const std::string message = "probe.yaml:1: lists and maps are nested too deeply; must be YAML";
    CHECK(refusal(repeat("[", 100'000)) == message);
    CHECK(refusal(repeat("{a: ", 100'000)) == message);
    CHECK(refusal(repeat("- ", 100'000)) == message);
    CHECK(refusal(repeat("[", 400) + repeat("]", 400)) ==
          "probe.yaml:1: the configuration is a list; must be a map of keys (KEY: VALUE lines)");
}

TEST_CASE("count_text_bytes: stops at the first byte that is not UTF-8", "[conf][unit]") {
    CHECK(count_text_bytes("a\t\r\nz") == 5);
    CHECK(count_text_bytes("\xC2\x80") == 2);
    CHECK(count_text_bytes("\xF4\x8F\xBF\xBF") == 4);
    CHECK(count_text_bytes("ab\x7F") == 2);
    CHECK(count_text_bytes("\xC0\x80") == 0);          // overlong
    CHECK(count_text_bytes("\xE0\x9F\x80") == 0);      // overlong
    CHECK(count_text_bytes("\xED\xA0\x80") == 0);      // surrogate
    CHECK(count_text_bytes("\xF4\x90\x80\x80") == 0);  // above U+10FFFF
    CHECK(count_text_bytes("a\xE2\x82") == 1);         // cut
    CHECK(count_text_bytes("\x80") == 0);
}

TEST_CASE("parse_seconds: takes up to three decimals, and seconds_text gives them back",
          "[conf][unit]") {
    using std::chrono::milliseconds;
    CHECK(parse_seconds("5") == milliseconds(5000));
    CHECK(parse_seconds("0.25") == milliseconds(250));
    CHECK(parse_seconds("1.001") == milliseconds(1001));
    for (const char* text : {"", ".", "1.", ".5", "1.0005", "-1", "1.-5", "1e3", "0x1",
                             "99999999999999999999", "1000000000001"}) {
        CHECK_FALSE(parse_seconds(text));
    }
    CHECK(seconds_text(milliseconds(5000)) == "5");
    CHECK(seconds_text(milliseconds(250)) == "0.25");
    CHECK(seconds_text(milliseconds(1001)) == "1.001");
}

TEST_CASE("split_host_and_port: parts names, addresses and ports", "[conf][unit]") {
    const auto split = [](const char* text) {
        const auto parts = split_host_and_port(text);
        return parts ? parts->host + " " + parts->port : "refused";
    };
    CHECK(split("a.example:2055") == "a.example 2055");
    CHECK(split("192.0.2.1") == "192.0.2.1 ");
    CHECK(split("[2001:db8::1]:2055") == "2001:db8::1 2055");
    CHECK(split("[2001:db8::1]") == "2001:db8::1 ");
    CHECK(split("2001:db8::1") == "2001:db8::1 ");
    for (const char* text : {"", ":2055", "a:", "[2001:db8::1", "[]:2055", "[::1]2055", "[::1]:"}) {
        CHECK(split(text) == "refused");
    }
}

}  // namespace tributary
