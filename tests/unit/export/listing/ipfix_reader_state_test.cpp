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

namespace {

constexpr std::uint32_t kCert = 6871;
const IpfixBytes name_template = template_record(400, {{145, 2}, {1000, 65535, kCert}}, 1);

IpfixBytes name_of(std::uint16_t id, const std::string& name) {
    return IpfixBytes().u16(id).u8(255).u16(name.size()).text(name);
}

/// The tables of the records of flows in an input, as they are read.
struct Tables {
    std::vector<std::string> of_records;
    std::vector<std::string> named;
    std::uint64_t refused{};
    std::uint64_t before{};
};

Tables tables_in(const IpfixBytes& file) {
    std::istringstream input(file.octets());
    IpfixReader reader(input, "x.ipfix");
    Tables tables;
    while (const IpfixRecord* record = reader.next()) {
        if (!record->layout->options) {
            tables.of_records.emplace_back(record->table);
        }
    }
    tables.named.assign(reader.tables().begin(), reader.tables().end());
    tables.refused = reader.refused_tables();
    tables.before = reader.records_before_tables();
    return tables;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("IpfixReader: the name of a template is that of its records' table", "[export][unit]") {
    const IpfixBytes other = template_record(257, {{4, 1}, {2, 2}});
    const Tables tables = tables_in(
        IpfixBytes()
            .message(IpfixBytes().set(2, small_template).set(2, other).set(3, name_template), 1)
            .message(IpfixBytes().set(2, small_template).set(256, small_record), 2)
            .message(IpfixBytes().set(400, name_of(256, "nets")).set(256, small_record), 1)
            .message(IpfixBytes().set(257, small_record), 1)
            .message(IpfixBytes().set(256, small_record), 2));
    CHECK(tables.of_records == Texts{"", "nets", "unnamed", "unnamed"});
    CHECK(tables.named == Texts{"nets"});
    CHECK(tables.before == 1);
}

TEST_CASE("IpfixReader: a template keeps its name when it is sent again, and loses it when changed",
          "[export][unit]") {
    const IpfixBytes changed = template_record(256, {{4, 1}, {2, 1}, {1, 1}});
    const Tables tables =
        tables_in(IpfixBytes().message(IpfixBytes()
                                           .set(2, small_template)
                                           .set(3, name_template)
                                           .set(400, name_of(256, "nets"))
                                           .set(2, small_template)
                                           .set(256, small_record)
                                           .set(2, changed)
                                           .set(256, small_record)
                                           .set(400, name_of(256, "others"))
                                           .set(256, small_record)
                                           .set(400, name_of(256, "nets"))
                                           .set(256, small_record)
                                           .set(2, IpfixBytes().u16(256).u16(0))  // withdrawn
                                           .set(2, changed)
                                           .set(256, small_record)));
    CHECK(tables.of_records == Texts{"nets", "unnamed", "others", "nets", "unnamed"});
    CHECK(tables.named == Texts{"nets", "others"});
    CHECK(tables.before == 0);
}

TEST_CASE("IpfixReader: names of tables are printable, and bounded", "[export][unit]") {
    const auto named = [](const std::string& name) {
        return tables_in(IpfixBytes().message(IpfixBytes()
                                                  .set(2, small_template)
                                                  .set(3, name_template)
                                                  .set(400, name_of(256, "first"))
                                                  .set(400, name_of(256, name))
                                                  .set(256, small_record)));
    };
    CHECK(named("a\x1B[2J\n").of_records == Texts{"a\\x1b[2J\\x0a"});
    CHECK(named(std::string(128, 'n')).of_records == Texts{std::string(128, 'n')});
    const Tables longer = named(std::string(129, 'n'));
    CHECK(longer.of_records == Texts{"unnamed"});
    CHECK(longer.refused == 1);
    CHECK(named(std::string(33, '\x1B')).refused == 1);  // each written out as four
    CHECK(named("").of_records == Texts{"unnamed"});
    CHECK(named("unnamed").of_records == Texts{"unnamed"});
    CHECK(named("unnamed").named == Texts{"first"});

    IpfixBytes sets = IpfixBytes().set(2, small_template).set(3, name_template);
    for (std::size_t count = 0; count <= IpfixReader::kMostTables; ++count) {
        sets.set(400, name_of(256, "table" + std::to_string(count)));
    }
    const Tables many = tables_in(IpfixBytes().message(sets.set(256, small_record)));
    CHECK(many.named.size() == IpfixReader::kMostTables);
    CHECK(many.refused == 1);
    CHECK(many.of_records == Texts{"unnamed"});
}

TEST_CASE("IpfixReader: what else options records say of templates names no table",
          "[export][unit]") {
    const auto tables = [](const IpfixBytes& layout, const IpfixBytes& record) {
        return tables_in(IpfixBytes().message(IpfixBytes()
                                                  .set(2, small_template)
                                                  .set(3, layout)
                                                  .set(400, record)
                                                  .set(256, small_record)))
            .named;
    };
    CHECK(tables(name_template, name_of(256, "nets")) == Texts{"nets"});
    CHECK(tables(name_template, name_of(257, "nets")).empty());  // there is no such template
    CHECK(tables(name_template, name_of(400, "nets")).empty());  // of options
    // As YAF names the kinds of its records: with a description beside the name.
    CHECK(tables(template_record(400, {{145, 2}, {1000, 65535, kCert}, {1001, 65535, kCert}}, 1),
                 IpfixBytes().u16(256).u8(4).text("flow").u8(0))
              .empty());
    CHECK(tables(template_record(400, {{145, 2}, {1000, 65535, 12'345}}, 1), name_of(256, "nets"))
              .empty());
    CHECK(tables(template_record(400, {{149, 2}, {1000, 65535, kCert}}, 1), name_of(256, "nets"))
              .empty());
}
