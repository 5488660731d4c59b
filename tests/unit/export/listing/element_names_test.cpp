// SPDX-License-Identifier: Apache-2.0
#include "export/listing/element_names.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "export/listing/flow_json.hpp"
#include "export/listing/ipfix_reader.hpp"
#include "tests/support/ipfix_bytes.hpp"

using tributary::ElementNames;
using tributary::ElementRegistry;
using tributary::IpfixReader;
using tributary::IpfixRecord;
using tributary::record_json;
using tributary::TributaryElement;
using tributary::test::IpfixBytes;
using tributary::test::Specifier;
using tributary::test::template_record;

namespace {

const IpfixBytes types_template =
    template_record(400, {{346, 4}, {303, 2}, {339, 1}, {341, 65535}}, 2);

/// RFC 5610's record of an element.
IpfixBytes description(std::uint32_t enterprise, std::uint16_t number, std::uint8_t type,
                       const std::string& name) {
    return IpfixBytes().u32(enterprise).u16(number).u8(type).u8(255).u16(name.size()).text(name);
}

struct Read {
    std::vector<std::string> data;  ///< elements in the JSON of the data records
    std::uint64_t refused_names{};
};

Read read(const IpfixBytes& file) {
    std::istringstream input(file.octets());
    IpfixReader reader(input, "x.ipfix");
    Read got;
    while (const IpfixRecord* record = reader.next()) {
        const std::string line = record_json(*record);
        if (!record->layout->options) {
            const std::string last = R"("@sequence":7,)";
            got.data.push_back(line.substr(line.find(last) + last.size()));
        }
    }
    got.refused_names = reader.refused_names();
    return got;
}

/// The data record of one octet for each field, after these descriptions.
Read read(const std::vector<IpfixBytes>& descriptions, const std::vector<Specifier>& fields) {
    IpfixBytes told;
    for (const IpfixBytes& each : descriptions) {
        told.text(each.octets());
    }
    IpfixBytes values;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        values.u8(index + 1);
    }
    return read(IpfixBytes()
                    .message(IpfixBytes().set(3, types_template).set(400, told))
                    .message(IpfixBytes().set(2, template_record(300, fields)).set(300, values)));
}

}  // namespace

TEST_CASE("ElementNames: a description behind the template, names the records to come",
          "[export][unit]") {
    const IpfixBytes layout =
        template_record(300, {{9, 1, 4711}, {0x4009, 1, 4711}, {7, 1, 12345}});
    const IpfixBytes data = IpfixBytes().u8(1).u8(2).u8(3);
    IpfixBytes told;
    told.text(description(4711, 9, 3, "retransmissions").octets())
        .text(description(4711, 0x4009, 3, "reverseRetransmissions").octets())
        .text(description(12345, 7, 1, "peer").octets());
    IpfixBytes file;
    file.message(IpfixBytes().set(2, layout).set(300, data))
        .message(IpfixBytes().set(3, types_template).set(400, told).set(300, data));
    CHECK(read(file).data ==
          std::vector<std::string>{
              R"("e4711id9":"01","e4711id16393":"02","e12345id7":"03"})",
              R"("retransmissions":1,"reverseRetransmissions":2,"12345/peer":3})"});
}

TEST_CASE("ElementNames: names of others and of our JSON members, cannot be taken",
          "[export][unit]") {
    const Read got =
        read({description(12345, 1, 1, "@type"), description(12345, 2, 1, "octetDeltaCount"),
              description(12345, 3, 1, "e12345id4"), description(12345, 9, 1, "tunnelType")},
             {{1, 1},
              {1, 1, 12345},
              {2, 1, 12345},
              {3, 1, 12345},
              {4, 1, 12345},
              {1, 1, 32473},
              {9, 1, 12345}});
    CHECK(got.data.at(0) ==
          R"("octetDeltaCount":1,"12345/@type":2,"12345/octetDeltaCount":3,"12345/e12345id4":4,)"
          R"("e12345id4":"05","tunnelType":6,"12345/tunnelType":7})");
    CHECK(got.refused_names == 0);
}

TEST_CASE("ElementNames: one name for two elements, stays with the first", "[export][unit]") {
    SECTION("of one enterprise") {
        const Read got = read({description(12345, 1, 1, "peer"), description(12345, 2, 1, "peer")},
                              {{1, 1, 12345}, {2, 1, 12345}});
        CHECK(got.data.at(0) == R"("12345/peer":1,"e12345id2":"02"})");
        CHECK(got.refused_names == 1);
    }
    SECTION("our own element under two numbers") {
        const Read got = read({description(4711, 9, 3, "retransmissions"),
                               description(4712, 9, 3, "retransmissions")},
                              {{9, 1, 4711}, {9, 1, 4712}, {9, 1, 32473}});
        CHECK(got.data.at(0) == R"("retransmissions":1,"4712/retransmissions":2,"e32473id9":3})");
    }
    SECTION("that differ in octets which are no UTF-8") {
        const Read got =
            read({description(12345, 1, 1, "a\xFE"), description(12345, 2, 1, "a\xFF")},
                 {{1, 1, 12345}, {2, 1, 12345}});
        CHECK(got.data.at(0) == R"("12345/a\\xfe":1,"12345/a\\xff":2})");
    }
}

TEST_CASE("ElementNames: a new description, renames, and frees the former name", "[export][unit]") {
    const Read got = read({description(12345, 1, 1, "a"), description(12345, 1, 1, "b"),
                           description(12345, 2, 1, "a"), description(12345, 2, 1, "a")},
                          {{1, 1, 12345}, {2, 1, 12345}});
    CHECK(got.data.at(0) == R"("12345/b":1,"12345/a":2})");
    CHECK(got.refused_names == 0);
}

TEST_CASE("ElementNames: registered elements, cannot be described anew", "[export][unit]") {
    const Read got = read({description(0, 1, 13, "mine"), description(29305, 1, 13, "mine")},
                          {{1, 1}, {1, 1, 29305}});
    CHECK(got.data.at(0) == R"("octetDeltaCount":1,"reverseOctetDeltaCount":2})");
}

TEST_CASE("ElementNames: a name that is too long, is not taken", "[export][unit]") {
    const std::string longest(ElementNames::kLongestName, 'n');
    const Read got =
        read({description(12345, 1, 1, longest), description(12345, 2, 1, longest + "n"),
              description(12345, 3, 1, std::string(60'000, 'n')),
              // 33 octets, each written out as four
              description(12345, 4, 1, std::string(33, '\x1B'))},
             {{1, 1, 12345}, {2, 1, 12345}, {3, 1, 12345}, {4, 1, 12345}});
    CHECK(got.data.at(0) ==
          "\"12345/" + longest + R"(":1,"e12345id2":"02","e12345id3":"03","e12345id4":"04"})");
    CHECK(got.refused_names == 3);
}

TEST_CASE("ElementNames: so many elements and no more, are kept", "[export][unit]") {
    ElementNames names(std::make_shared<ElementRegistry>());
    for (std::size_t count = 0; count < ElementNames::kMostElements; ++count) {
        REQUIRE(names.find(static_cast<std::uint32_t>(1'000'000 + count), 1) != nullptr);
    }
    CHECK(names.find(1, 1) == nullptr);
    REQUIRE(names.find(0, 1) != nullptr);  // registered
    CHECK(names.find(0, 1)->name == "octetDeltaCount");
    CHECK(names.find(1'000'000, 1)->name == "e1000000id1");
}

TEST_CASE("ElementNames: an element of tributary's has its meaning under every enterprise",
          "[export][unit]") {
    // As in two files behind each other, whose probes have numbers of their own.
    const std::vector<Specifier> fields = {{1, 1, 32473}, {1, 1, 4711}, {2, 1, 4711}};
    IpfixBytes told;
    told.text(description(4711, 1, 1, "tunnelType").octets())
        .text(description(4711, 2, 1, "somethingElse").octets());
    std::istringstream input(IpfixBytes()
                                 .message(IpfixBytes().set(3, types_template).set(400, told))
                                 .message(IpfixBytes()
                                              .set(2, template_record(300, fields))
                                              .set(300, IpfixBytes().u8(1).u8(2).u8(3)))
                                 .octets());
    IpfixReader reader(input, "x.ipfix");
    const IpfixRecord* record = reader.next();
    while (record != nullptr && record->layout->options) {
        record = reader.next();
    }
    REQUIRE(record != nullptr);
    const auto own = [&](std::size_t field) { return record->layout->fields[field].element->own; };
    CHECK(own(0) == TributaryElement::tunnel_type);
    CHECK(own(1) == TributaryElement::tunnel_type);
    CHECK(own(2) == TributaryElement::none);
    const std::string line = record_json(*record);
    // One of them has the name, the first that was seen.
    CHECK(line.find(R"("tunnelType":)") != std::string::npos);
    CHECK(line.find(R"("e32473id1":)") != std::string::npos);
    CHECK(line.find(R"("4711/somethingElse":3)") != std::string::npos);
}
