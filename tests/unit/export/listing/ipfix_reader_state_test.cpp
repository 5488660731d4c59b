// SPDX-License-Identifier: Apache-2.0
#include "export/listing/ipfix_reader.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/ipfix_reading.hpp"

using tributary::IpfixReader;
using tributary::IpfixRecord;
using tributary::test::describe;
using tributary::test::IpfixBytes;
using tributary::test::Outcome;
using tributary::test::read_all;
using tributary::test::Records;
using tributary::test::small_record;
using tributary::test::small_template;
using tributary::test::Specifier;
using tributary::test::template_record;

TEST_CASE("IpfixReader: all templates of a kind are withdrawn, in their domain alone",
          "[export][unit]") {
    const bool options = GENERATE(true, false);
    const std::uint16_t kind = options ? 3 : 2;
    const IpfixBytes scoped = template_record(257, {{4, 1}, {2, 2}}, 1);
    IpfixBytes file;
    file.message(IpfixBytes().set(2, small_template).set(3, scoped), 1)
        .message(IpfixBytes().set(2, small_template).set(3, scoped), 2)
        .message(IpfixBytes().set(kind, IpfixBytes().u16(kind).u16(0)), 1)
        .message(IpfixBytes().set(256, small_record).set(257, small_record), 1)
        .message(IpfixBytes().set(256, small_record).set(257, small_record), 2);
    const Outcome outcome = read_all(file.octets());
    const std::string data = "256:protocolIdentifier=11,packetDeltaCount=3";
    const std::string scope = "o257:protocolIdentifier=11,packetDeltaCount=3";
    CHECK(outcome.records == Records{options ? data : scope, data, scope});
    CHECK(outcome.skipped == 1);
}

TEST_CASE("IpfixReader: an id that changes its kind, is of one template", "[export][unit]") {
    const IpfixBytes scoped = template_record(256, {{4, 1}, {2, 2}}, 1);
    const IpfixBytes all_data = IpfixBytes().u16(2).u16(0);
    const Outcome outcome = read_all(IpfixBytes()
                                         .message(IpfixBytes()
                                                      .set(2, small_template)
                                                      .set(3, scoped)
                                                      .set(2, all_data)
                                                      .set(256, small_record)
                                                      .set(2, small_template)
                                                      .set(256, small_record))
                                         .octets());
    CHECK(outcome.records == Records{"o256:protocolIdentifier=11,packetDeltaCount=3",
                                     "256:protocolIdentifier=11,packetDeltaCount=3"});
}

TEST_CASE("IpfixReader: fields without octets, are in no record", "[export][unit]") {
    const IpfixBytes layout = template_record(300, {{82, 0}, {10, 4}, {1, 0}, {4, 1}}, 3);
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes().set(3, layout).set(300, IpfixBytes().u32(5).u8(6)))
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    CHECK(describe(*record) == "o300:ingressInterface=5,protocolIdentifier=6");
    CHECK(record->layout->scope_fields == 1);
}

TEST_CASE("IpfixReader: templates beyond the limit, are refused and all else is read",
          "[export][unit]") {
    constexpr std::size_t kFields = 16'000;
    // 65 templates of 16,000 fields, and one that still finds room
    constexpr std::size_t kFull = IpfixReader::kMostFields / kFields;
    const IpfixBytes large = template_record(300, std::vector<Specifier>(kFields, {4, 1}));
    IpfixBytes file;
    for (std::uint32_t domain = 0; domain <= kFull; ++domain) {
        file.message(IpfixBytes().set(2, large), domain);
    }
    file.message(IpfixBytes().set(2, small_template).set(256, small_record), 9);
    // The former template of that id is gone, too: it does not describe the records.
    file.message(IpfixBytes().set(2, template_record(300, {{4, 1}})), 0)
        .message(IpfixBytes().set(300, IpfixBytes().u8(17)), 0)
        .message(IpfixBytes().set(2, large), 1000)
        .message(IpfixBytes().set(2, large), 0)
        .message(IpfixBytes().set(300, IpfixBytes().u8(17)), 0);
    std::istringstream input(file.octets());
    IpfixReader reader(input, "x.ipfix");
    Records records;
    while (const IpfixRecord* record = reader.next()) {
        records.push_back(describe(*record));
    }
    CHECK(records ==
          Records{"256:protocolIdentifier=11,packetDeltaCount=3", "300:protocolIdentifier=11"});
    CHECK(reader.refused_templates() == 2);
    CHECK(reader.first_refusal() ==
          "x.ipfix: message 66 at octet " + std::to_string(kFull * (16 + 8 + 4 * kFields)) +
              ": template 300 is beyond what is kept: 262144 templates, 1048576 fields in them, "
              "65536 elements");
    CHECK(reader.sets_without_template() == 1);
}

TEST_CASE("IpfixReader: a described name in a fault, is printable and in one line",
          "[export][unit]") {
    const IpfixBytes types = template_record(400, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2);
    const IpfixBytes type = IpfixBytes().u32(1234).u16(5).u8(13).u8(5).text("\x1B[2J\n");
    const IpfixBytes layout = template_record(257, {{4, 1}, {5, 65535, 1234}});
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes().set(3, types).set(400, type))
            .message(IpfixBytes().set(2, layout).set(257, IpfixBytes().u16(0x06FF)))
            .octets());
    IpfixReader reader(input, "a\x1B[31m.ipfix");
    REQUIRE(reader.next() != nullptr);
    CHECK_THROWS_WITH(reader.next(), "a\\x1b[31m.ipfix: message 2 at octet " +
                                         std::to_string(16 + 4 + 22 + 4 + 13) +
                                         ": 1234/\\x1b[2J\\x0a needs 2 octets, 0 are left");
}
