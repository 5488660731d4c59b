// SPDX-License-Identifier: Apache-2.0
#include "export/listing/ipfix_reader.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/ipfix_reading.hpp"

using tributary::IpfixInputError;
using tributary::IpfixReader;
using tributary::IpfixRecord;
using tributary::IpfixType;
using tributary::TributaryElement;
using tributary::test::describe;
using tributary::test::IpfixBytes;
using tributary::test::Outcome;
using tributary::test::read_all;
using tributary::test::Records;
using tributary::test::small_record;
using tributary::test::small_template;
using tributary::test::template_record;

TEST_CASE("IpfixReader: records of one message, all given with their registered names",
          "[export][unit]") {
    IpfixBytes data;
    data.u8(17).u16(3).u8(6).u16(0x1234);
    const Outcome outcome =
        read_all(IpfixBytes().message(IpfixBytes().set(2, small_template).set(256, data)).octets());
    CHECK(outcome.records == Records{"256:protocolIdentifier=11,packetDeltaCount=3",
                                     "256:protocolIdentifier=6,packetDeltaCount=1234"});
    CHECK(outcome.fault.empty());
}

TEST_CASE("IpfixReader: a record, carries its message's header", "[export][unit]") {
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes().set(2, small_template).set(256, small_record), 99)
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    CHECK(record->domain == 99);
    CHECK(record->export_time == 1'700'000'000);
    CHECK(record->sequence == 7);
    CHECK(reader.next() == nullptr);
    CHECK(reader.next() == nullptr);
}

TEST_CASE("IpfixReader: padding after templates and records, is passed over", "[export][unit]") {
    const IpfixBytes templates = IpfixBytes().text(small_template.octets()).u32(0);
    const IpfixBytes data = IpfixBytes().text(small_record.octets()).u16(0);
    IpfixBytes file;
    file.message(IpfixBytes().set(2, templates).set(256, data))
        .message(IpfixBytes().set(256, data));
    CHECK(read_all(file.octets()).records ==
          Records(2, "256:protocolIdentifier=11,packetDeltaCount=3"));
}

TEST_CASE("IpfixReader: variable lengths, short and long form", "[export][unit]") {
    const IpfixBytes layout = template_record(300, {{82, 65535}, {4, 1}});
    IpfixBytes data;
    data.u8(1).u8(0xAB).u8(1).u8(255).u16(2).u16(0xCDEF).u8(2);
    const Outcome outcome =
        read_all(IpfixBytes().message(IpfixBytes().set(2, layout).set(300, data)).octets());
    CHECK(outcome.records == Records{"300:interfaceName=ab,protocolIdentifier=1",
                                     "300:interfaceName=cdef,protocolIdentifier=2"});
}

TEST_CASE("IpfixReader: unknown and reverse elements, are named", "[export][unit]") {
    const IpfixBytes layout = template_record(300, {{7, 1, 12345}, {2, 1, 29305}, {32000, 1}});
    const Outcome outcome =
        read_all(IpfixBytes()
                     .message(IpfixBytes().set(2, layout).set(300, IpfixBytes().u8(1).u8(2).u8(3)))
                     .octets());
    CHECK(outcome.records == Records{"300:e12345id7=1,reversePacketDeltaCount=2,e0id32000=3"});
}

TEST_CASE(
    "IpfixReader: an element described by RFC 5610, takes its name and type in later templates",
    "[export][unit]") {
    const IpfixBytes types = template_record(400, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2);
    const IpfixBytes type = IpfixBytes().u32(12345).u16(7).u8(18).u8(4).text("peer");
    const IpfixBytes layout = template_record(300, {{7, 4, 12345}});
    std::istringstream input(IpfixBytes()
                                 .message(IpfixBytes().set(3, types).set(400, type))
                                 .message(IpfixBytes().set(2, layout).set(300, IpfixBytes().u32(1)))
                                 .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    CHECK(record->layout->options);
    CHECK(record->layout->scope_fields == 2);
    record = reader.next();
    REQUIRE(record != nullptr);
    CHECK(record->layout->fields[0].element->name == "12345/peer");
    CHECK(record->layout->fields[0].element->type == IpfixType::ipv4_address);
}

TEST_CASE("IpfixReader: tributary's own elements, are known under their default number",
          "[export][unit]") {
    const IpfixBytes layout =
        template_record(300, {{1, 1, 32473}, {3, 4, 32473}, {99, 1, 32473}, {1, 1, 12345}});
    const IpfixBytes data = IpfixBytes().u8(4).u32(0xC0000201).u8(5).u8(6);
    std::istringstream input(
        IpfixBytes().message(IpfixBytes().set(2, layout).set(300, data)).octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    CHECK(describe(*record) ==
          "300:tunnelType=4,tunnelSourceIPv4Address=c0000201,e32473id99=5,e12345id1=6");
    CHECK(record->layout->fields[0].element->own == TributaryElement::tunnel_type);
    CHECK(record->layout->fields[1].element->own == TributaryElement::tunnel_source_ipv4_address);
    CHECK(record->layout->fields[1].element->type == IpfixType::ipv4_address);
    CHECK(record->layout->fields[2].element->own == TributaryElement::none);
    CHECK(record->layout->fields[3].element->own == TributaryElement::none);
}

TEST_CASE("IpfixReader: an exporter's descriptions of its elements, are used", "[export][unit]") {
    const std::uint32_t enterprise = GENERATE(32473U, 12345U);
    const std::string name = GENERATE("tunnelType", "tunnelId", "beerGlobalTemperature");
    const IpfixBytes types = template_record(400, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2);
    const IpfixBytes type = IpfixBytes().u32(enterprise).u16(1).u8(3).u8(name.size()).text(name);
    const IpfixBytes layout = template_record(300, {{1, 4, enterprise}});
    std::istringstream input(IpfixBytes()
                                 .message(IpfixBytes().set(3, types).set(400, type))
                                 .message(IpfixBytes().set(2, layout).set(300, IpfixBytes().u32(1)))
                                 .octets());
    IpfixReader reader(input, "x.ipfix");
    REQUIRE(reader.next() != nullptr);
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    // Of our own elements the one with this number has its plain name, from any enterprise.
    CHECK(record->layout->fields[0].element->name ==
          (name == "tunnelType" ? name : std::to_string(enterprise) + "/" + name));
    // With another number it is another exporter's.
    CHECK(record->layout->fields[0].element->own ==
          (name == "tunnelType" ? TributaryElement::tunnel_type : TributaryElement::none));
}

TEST_CASE("IpfixReader: ntop's elements that tributary writes, are known", "[export][unit]") {
    const IpfixBytes layout =
        template_record(300, {{109, 4, 35632}, {112, 4, 35632}, {9, 4, 35632}});
    const IpfixBytes data = IpfixBytes().u32(4).u32(5).u32(6);
    std::istringstream input(
        IpfixBytes().message(IpfixBytes().set(2, layout).set(300, data)).octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    CHECK(record->layout->fields[0].element->name == "RETRANSMITTED_IN_PKTS");
    CHECK(record->layout->fields[0].element->type == IpfixType::unsigned32);
    CHECK(record->layout->fields[1].element->name == "OOORDER_OUT_PKTS");
    CHECK(record->layout->fields[2].element->name == "e35632id9");
}

TEST_CASE("IpfixReader: templates, belong to their domain and can change", "[export][unit]") {
    const IpfixBytes other = template_record(256, {{4, 2}, {2, 1}});
    IpfixBytes file;
    file.message(IpfixBytes().set(2, small_template), 1)
        .message(IpfixBytes().set(256, small_record), 2)
        .message(IpfixBytes().set(256, small_record).set(2, other).set(256, small_record), 1);
    const Outcome outcome = read_all(file.octets());
    CHECK(outcome.records == Records{"256:protocolIdentifier=11,packetDeltaCount=3",
                                     "256:protocolIdentifier=1100,packetDeltaCount=3"});
    CHECK(outcome.skipped == 1);
}

TEST_CASE("IpfixReader: withdrawn templates, one and all, are gone", "[export][unit]") {
    const bool one = GENERATE(true, false);
    const IpfixBytes withdrawal = IpfixBytes().u16(one ? 256 : 2).u16(0);
    const Outcome outcome = read_all(
        IpfixBytes()
            .message(IpfixBytes().set(2, small_template).set(2, withdrawal).set(256, small_record))
            .octets());
    CHECK(outcome.records.empty());
    CHECK(outcome.skipped == 1);
    CHECK(outcome.fault.empty());
}

TEST_CASE("IpfixReader: sets of reserved ids, are skipped", "[export][unit]") {
    const Outcome outcome = read_all(IpfixBytes()
                                         .message(IpfixBytes()
                                                      .set(2, small_template)
                                                      .set(77, IpfixBytes().u8(1))
                                                      .set(256, small_record))
                                         .octets());
    CHECK(outcome.records.size() == 1);
    CHECK(outcome.skipped == 0);
}

TEST_CASE("IpfixReader: a field name that recurs, is chained", "[export][unit]") {
    std::istringstream input(
        IpfixBytes()
            .message(IpfixBytes()
                         .set(2, template_record(300, {{4, 1}, {2, 1}, {4, 1}, {4, 1}}))
                         .set(300, IpfixBytes().u32(0)))
            .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    REQUIRE(record != nullptr);
    const auto& fields = record->layout->fields;
    CHECK(fields[0].next_same_element == 2);
    CHECK(fields[2].next_same_element == 3);
    CHECK(fields[3].next_same_element == 0);
    CHECK_FALSE(fields[0].repeated);
    CHECK(fields[2].repeated);
    CHECK(fields[1].next_same_element == 0);
}

TEST_CASE("IpfixReader: every cut of a file, gives the whole messages' records and reports where",
          "[export][unit]") {
    IpfixBytes first;
    first.message(IpfixBytes().set(2, small_template).set(256, small_record));
    const std::string file =
        IpfixBytes(first).message(IpfixBytes().set(256, small_record)).octets();
    const std::size_t boundary = first.octets().size();
    for (std::size_t cut = 1; cut < file.size(); ++cut) {
        const Outcome outcome = read_all(file.substr(0, cut));
        CHECK(outcome.records.size() == (cut < boundary ? 0 : 1));
        const std::string place = cut < boundary
                                      ? "x.ipfix: message 1 at octet 0: the file ends inside"
                                      : "x.ipfix: message 2 at octet 39: the file ends inside";
        CHECK(outcome.fault.substr(0, place.size()) == (cut == boundary ? "" : place));
    }
}

TEST_CASE("IpfixReader: a contradiction inside a message, is reported after the records before it",
          "[export][unit]") {
    struct Case {
        IpfixBytes sets;
        std::string fault;
    };
    const IpfixBytes text_template = template_record(300, {{82, 65535}});
    const std::vector<Case> cases{
        {IpfixBytes().u16(256).u16(3), "set 256 has length 3 where 4 octets are left"},
        {IpfixBytes().u16(256).u16(5), "set 256 has length 5 where 4 octets are left"},
        {IpfixBytes().u8(1), "set header needs 4 octets, 1 are left"},
        {IpfixBytes().set(1, IpfixBytes()), "set id 1 is not in use"},
        {IpfixBytes().set(2, template_record(255, {{4, 1}})), "template id 255 is below 256"},
        {IpfixBytes().set(2, IpfixBytes().u16(256).u16(2).u32(1)),
         "template needs 4 octets, 0 are left"},
        {IpfixBytes().set(2, IpfixBytes().u16(256).u16(1).u16(0x8001).u16(1)),
         "template needs 4 octets, 0 are left"},
        {IpfixBytes().set(3, IpfixBytes().u16(256).u16(1)),
         "options template needs 2 octets, 0 are left"},
        {IpfixBytes().set(3, template_record(257, {{4, 1}}, 2)),
         "template 257 has 2 scope fields of 1"},
        {IpfixBytes().set(2, template_record(257, {{82, 0}})),
         "template 257 describes records without a single octet"},
        {IpfixBytes().set(2, IpfixBytes().u16(3).u16(0)), "template id 3 cannot be withdrawn"},
        {IpfixBytes().set(2, text_template).set(300, IpfixBytes().u8(2).u8(0)),
         "interfaceName needs 2 octets, 1 are left"},
        {IpfixBytes().set(2, text_template).set(300, IpfixBytes().u8(255).u8(0)),
         "interfaceName needs 2 octets, 1 are left"},
    };
    for (const Case& item : cases) {
        const IpfixBytes sets =
            IpfixBytes().set(2, small_template).set(256, small_record).text(item.sets.octets());
        const Outcome outcome = read_all(IpfixBytes().message(sets).octets());
        CHECK(outcome.records.size() == 1);
        CHECK(outcome.fault == "x.ipfix: message 1 at octet 0: " + item.fault);
    }
}

TEST_CASE("IpfixReader: another format, is refused by its version", "[export][unit]") {
    CHECK(read_all("netflow version nine.").fault ==
          "x.ipfix: message 1 at octet 0: this is not IPFIX: version 28261 instead of 10");
    CHECK(read_all(IpfixBytes().u16(10).u16(15).u32(0).u32(0).u32(0).octets()).fault ==
          "x.ipfix: message 1 at octet 0: message length 15 is less than its header's 16");
}

TEST_CASE("IpfixReader: an empty input, has no records", "[export][unit]") {
    const Outcome outcome = read_all("");
    CHECK(outcome.records.empty());
    CHECK(outcome.fault.empty());
}

TEST_CASE("IpfixReader: an input that cannot be read, is distinguished from its end",
          "[export][unit]") {
    std::istringstream input;
    input.setstate(std::ios::badbit);
    IpfixReader reader(input, "x.ipfix");
    CHECK_THROWS_AS(reader.next(), IpfixInputError);
}
