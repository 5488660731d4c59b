// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_json.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "export/listing/ipfix_reader.hpp"
#include "tests/support/ipfix_bytes.hpp"

using tributary::IpfixReader;
using tributary::IpfixRecord;
using tributary::record_json;
using tributary::test::IpfixBytes;
using tributary::test::Specifier;
using tributary::test::template_record;

namespace {

/// The elements in the JSON of one record, without the members that begin with '@'.
std::string elements_json(const std::vector<Specifier>& fields, const IpfixBytes& values) {
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes().set(2, template_record(256, fields)).set(256, values))
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    const std::string line = record_json(*record);
    const std::string head =
        R"({"@type":"data","@template":256,"@domain":1,"@exportTime":1700000000,"@sequence":7,)";
    REQUIRE(line.substr(0, head.size()) == head);
    return line.substr(head.size());
}

std::string field_json(const Specifier& field, const IpfixBytes& value) {
    return elements_json({field}, value);
}

}  // namespace

TEST_CASE("record_json: values, each type in its own way", "[export][unit]") {
    CHECK(field_json({1, 3}, IpfixBytes().u8(1).u16(0)) == R"("octetDeltaCount":65536})");
    CHECK(field_json({434, 2}, IpfixBytes().u16(0xFFFE)) == R"("mibObjectValueInteger":-2})");
    CHECK(field_json({320, 4}, IpfixBytes().u32(0x3FC00000)) == R"("absoluteError":1.5})");
    CHECK(field_json({320, 8}, IpfixBytes().u64(0x3FF8000000000000)) == R"("absoluteError":1.5})");
    CHECK(field_json({276, 1}, IpfixBytes().u8(1)) == R"("dataRecordsReliability":true})");
    CHECK(field_json({276, 1}, IpfixBytes().u8(2)) == R"("dataRecordsReliability":false})");
    CHECK(field_json({56, 6}, IpfixBytes().u16(0x0A0B).u32(0x0C0D0EFF)) ==
          R"("sourceMacAddress":"0a:0b:0c:0d:0e:ff"})");
    CHECK(field_json({8, 4}, IpfixBytes().u32(0xC0000201)) ==
          R"("sourceIPv4Address":"192.0.2.1"})");
    CHECK(field_json({82, 65535}, IpfixBytes().u8(5).text("a\"b\n\xFF")) ==
          "\"interfaceName\":\"a\\\"b\\n\xEF\xBF\xBD\"}");
    CHECK(field_json({150, 4}, IpfixBytes().u32(1'700'000'000)) ==
          R"("flowStartSeconds":1700000000})");
    CHECK(field_json({152, 8}, IpfixBytes().u64(1'700'000'000'123)) ==
          R"("flowStartMilliseconds":1700000000123})");
}

TEST_CASE("record_json: NTP times, become times since 1970", "[export][unit]") {
    // 1700000000 s + 2208988800 s, and half a second less 2^-32 s: below the resolution of either
    // unit.
    const IpfixBytes time = IpfixBytes().u32(3'908'988'800).u32(0x7FFFFFFF);
    CHECK(field_json({156, 8}, time) == R"("flowStartNanoseconds":1700000000500000000})");
    // The lowest 11 bits do not count for microseconds, and the rest rounds to the nearest.
    CHECK(field_json({154, 8}, IpfixBytes().u32(3'908'988'800).u32(0x800007FF)) ==
          R"("flowStartMicroseconds":1700000000500000})");
    CHECK(field_json({156, 8}, IpfixBytes().u32(0).u32(0)) ==
          R"("flowStartNanoseconds":2085978496000000000})");
}

TEST_CASE("record_json: a value that cannot be interpreted, is hexadecimal", "[export][unit]") {
    CHECK(field_json({7, 3, 12345}, IpfixBytes().u8(0xAB).u16(0xCDEF)) ==
          R"("e12345id7":"abcdef"})");
    CHECK(field_json({8, 3}, IpfixBytes().u8(1).u16(2)) == R"("sourceIPv4Address":"010002"})");
    CHECK(field_json({1, 9}, IpfixBytes().u8(1).u64(2)) ==
          R"("octetDeltaCount":"010000000000000002"})");
    CHECK(field_json({291, 65535}, IpfixBytes().u8(3).u8(255).u16(7)) ==
          R"("basicList":"ff0007"})");
}

TEST_CASE("record_json: an element that recurs, is an array", "[export][unit]") {
    CHECK(elements_json({{4, 1}, {5, 1}, {4, 1}}, IpfixBytes().u8(1).u8(2).u8(3)) ==
          R"("protocolIdentifier":[1,3],"ipClassOfService":2})");
}

TEST_CASE("record_json: padding, is left out", "[export][unit]") {
    CHECK(elements_json({{4, 1}, {210, 2}}, IpfixBytes().u8(1).u16(0)) ==
          R"("protocolIdentifier":1})");
}

TEST_CASE("record_json: label stacks are hexadecimal, tributary's own elements have their names",
          "[export][unit]") {
    CHECK(
        elements_json({{70, 3}, {1, 1, 32473}, {3, 4, 32473}, {351, 8}},
                      IpfixBytes().u8(0).u16(0x0641).u8(4).u32(0xC0000201).u32(1U << 24U).u32(7)) ==
        R"("mplsTopLabelStackSection":"000641","tunnelType":4,)"
        R"("tunnelSourceIPv4Address":"192.0.2.1","layer2SegmentId":72057594037927943})");
}

TEST_CASE("record_json: reverse elements have the names of RFC 5103", "[export][unit]") {
    CHECK(elements_json({{2, 2}, {239, 1}, {2, 2, 29305}, {152, 8, 29305}, {239, 1, 29305}},
                        IpfixBytes().u16(7).u8(1).u16(9).u64(1'700'000'000'123).u8(1)) ==
          R"("packetDeltaCount":7,"biflowDirection":1,"reversePacketDeltaCount":9,)"
          R"("reverseFlowStartMilliseconds":1700000000123,"e29305id239":"01"})");
    CHECK(elements_json({{0x4001, 1, 32473}, {0x4003, 4, 32473}, {0x4000, 1, 32473}},
                        IpfixBytes().u8(4).u32(0xC0000201).u8(5)) ==
          R"("reverseTunnelType":4,"reverseTunnelSourceIPv4Address":"192.0.2.1",)"
          R"("e32473id16384":"05"})");
}

TEST_CASE("record_json: numbers without an octet are null, text and octets are empty",
          "[export][unit]") {
    CHECK(elements_json({{1, 65535}, {82, 65535}, {291, 65535}, {276, 65535}, {8, 65535}, {4, 1}},
                        IpfixBytes().u8(0).u32(0).u8(6)) ==
          R"("octetDeltaCount":null,"interfaceName":"","basicList":"",)"
          R"("dataRecordsReliability":null,"sourceIPv4Address":null,"protocolIdentifier":6})");
}

TEST_CASE("record_json: characters that control a terminal or hide text, are escaped",
          "[export][unit]") {
    CHECK(field_json({82, 65535}, IpfixBytes().u8(9).text("\x1B[\xC2\x9B\xE2\x80\xAE\x7F\n")) ==
          R"("interfaceName":"\u001b[\u009b\u202e\u007f\n"})");
}
