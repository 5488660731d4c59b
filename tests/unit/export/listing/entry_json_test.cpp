// SPDX-License-Identifier: Apache-2.0
#include "export/listing/entry_json.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "export/listing/ipfix_reader.hpp"
#include "tests/support/ipfix_bytes.hpp"

using tributary::entry_json;
using tributary::IpfixReader;
using tributary::IpfixRecord;
using tributary::test::IpfixBytes;
using tributary::test::Specifier;
using tributary::test::template_record;

namespace {

/// The members of a record of these fields between the type and the observation domain.
std::string members(const std::vector<Specifier>& fields, const IpfixBytes& values) {
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes().set(2, template_record(256, fields)).set(256, values))
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    const std::string line = entry_json(*record);
    const std::string head = R"({"@type":"ipfix.entry",)";
    const std::string tail = R"(,"iana:observationDomainId":1})";
    REQUIRE(line.starts_with(head));
    REQUIRE(line.ends_with(tail));
    return line.substr(head.size(), line.size() - head.size() - tail.size());
}

constexpr std::uint32_t kReverse = 29'305;
constexpr std::uint32_t kOwn = 32'473;
constexpr std::uint32_t kCert = 6871;
constexpr std::uint32_t kNtop = 35'632;

}  // namespace

TEST_CASE("entry_json: names of IANA's elements and of their reverse", "[export][unit]") {
    CHECK(members({{4, 1}, {6, 2}}, IpfixBytes().u8(6).u16(0x12)) ==
          R"("iana:protocolIdentifier":"TCP","iana:tcpControlBits":".A..S.")");
    CHECK(members({{1, 8, kReverse}}, IpfixBytes().u64(5)) ==
          R"("iana@reverse:octetDeltaCount@reverse":5)");
    CHECK(members({{6, 1, kReverse}}, IpfixBytes().u8(1)) ==
          R"("iana@reverse:tcpControlBits@reverse":".....F")");
    CHECK(members({{236, 65535, kReverse}}, IpfixBytes().u8(1).text("x")) ==
          R"("iana@reverse:VRFname@reverse":"x")");
}

TEST_CASE("entry_json: elements of enterprises, known and unknown", "[export][unit]") {
    CHECK(members({{2, 4, kOwn}}, IpfixBytes().u32(9)) == R"("tributary:tunnelId":9)");
    CHECK(members({{2 | 0x4000, 4, kOwn}}, IpfixBytes().u32(9)) ==
          R"("tributary:tunnelId@reverse":9)");
    CHECK(members({{15, 1, kCert}}, IpfixBytes().u8(2)) == R"("cert:unionTCPFlags":2)");
    CHECK(members({{15 | 0x4000, 1, kCert}}, IpfixBytes().u8(2)) ==
          R"("cert:unionTCPFlags@reverse":2)");
    CHECK(members({{29'999, 1, kNtop}}, IpfixBytes().u8(2)) == R"("en35632:id29999":2)");
    CHECK(members({{7, 2, 12'345}}, IpfixBytes().u16(2)) == R"("en12345:id7":2)");
    CHECK(members({{7, 9, 12'345}}, IpfixBytes().u64(2).u8(0xAB)) ==
          R"("en12345:id7":"0x0000000000000002AB")");
}

TEST_CASE("entry_json: elements that a record describes", "[export][unit]") {
    const auto type = [](std::uint16_t number, std::uint8_t data_type, const std::string& name) {
        return IpfixBytes()
            .u32(12'345)
            .u16(number)
            .u8(data_type)
            .u8(name.size())
            .text(name)
            .octets();
    };
    std::istringstream input(
        IpfixBytes()
            .message(
                IpfixBytes()
                    .set(3, template_record(400, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2))
                    .set(400, IpfixBytes().text(type(1, 2, "peer") + type(2, 18, "a\"b") +
                                                type(3, 12, "id4")))
                    .set(2,
                         template_record(
                             256, {{1, 2, 12'345}, {2, 4, 12'345}, {3, 6, 12'345}, {4, 1, 12'345}}))
                    .set(256, IpfixBytes().u16(9).u32(0x0A000001).u32(0).u16(1).u8(5)))
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    while (record != nullptr && record->layout->options) {
        record = reader.next();
    }
    REQUIRE(record != nullptr);
    // A name like that of an element without a description is not taken.
    CHECK(entry_json(*record) ==
          R"({"@type":"ipfix.entry","en12345:peer":9,"en12345:a\"b":"10.0.0.1",)"
          R"("en12345:id3":"00:00:00:00:00:01","en12345:id4":5,"iana:observationDomainId":1})");
}

TEST_CASE("entry_json: an element that occurs more than once, and values that cannot be",
          "[export][unit]") {
    CHECK(members({{1, 1}, {2, 1}, {1, 2}}, IpfixBytes().u8(1).u8(2).u16(3)) ==
          R"("iana:octetDeltaCount":[1,3],"iana:packetDeltaCount":2)");
    CHECK(members({{8, 3}}, IpfixBytes().u8(1).u16(2)) == R"("iana:sourceIPv4Address":null)");
}

TEST_CASE("entry_json: a record that has an observation domain has no second one",
          "[export][unit]") {
    std::istringstream input(IpfixBytes()
                                 .message(IpfixBytes()
                                              .set(2, template_record(256, {{149, 4}}))
                                              .set(256, IpfixBytes().u32(77)))
                                 .octets());
    IpfixReader reader(input, "x.ipfix");
    CHECK(entry_json(*reader.next()) == R"({"@type":"ipfix.entry","iana:observationDomainId":77})");
}
