// SPDX-License-Identifier: Apache-2.0
// A field group of one file and one row (tests/support/small_packets_group.hpp), from the
// configuration to decoded records, listings and the page of fields. No code of the product names
// it.
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "conf/config_error.hpp"
#include "conf/load_config.hpp"
#include "export/ipfix/biflow_splitter.hpp"
#include "export/ipfix/field_reference.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/file_export.hpp"
#include "tests/support/flow_listing_harness.hpp"
#include "tests/support/small_packets_group.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// Under tributary's default number: elements 900 and 901, and their reverse ones.
constexpr std::uint32_t kSmall = kOfEnterprise + 900;
constexpr std::uint32_t kFirst = kOfEnterprise + 901;
constexpr std::uint32_t kReverse = 0x4000;

/// The group is in the table as long as this.
class Added {
public:
    Added() : id(add_field_group(kSmallPackets).value()) {}
    Added(const Added&) = delete;
    Added& operator=(const Added&) = delete;
    ~Added() { remove_field_group(id); }

    FieldGroupId id;
};

Config configured(const std::string& fields, const std::string& parse = "full") {
    std::istringstream text("inputs: [{device: \"af_packet:eth0\", parse: " + parse +
                            "}]\nexport: {collectors: [{host: 192.0.2.1}], fields: [" + fields +
                            "]}\n");
    return load_config(text, "test.yaml", {}, ConfigUse::probe, {}).config;
}

/// The records of a conversation: 3 small packets there with TTL 9, and back one small and two
/// others with TTL 250.
std::vector<Record> conversation(const RecordLayout& layout, FlowDirection direction) {
    FlowCacheOptions options = biflow::kOptions;
    options.direction = direction;
    CacheHarness<280> harness(options, layout);
    PacketFields there = biflow::request();
    PacketFields back = biflow::answer_to(there);
    there.ttl = 9;
    back.ttl = 250;
    const auto send = [&harness](PacketFields fields, std::uint32_t octets) {
        fields.ip_bytes = octets;
        harness.packet(fields, at_ms(1'600'000'000'000));
    };
    for (const std::uint32_t octets : {40U, 127U, 60U}) {
        send(there, octets);
    }
    for (const std::uint32_t octets : {1500U, 40U, 128U}) {
        send(back, octets);
    }
    std::vector<Record> records;
    for (const auto& record : biflow::end_all(harness, at_ms(1'600'000'100'000))) {
        Record& copy = records.emplace_back();
        std::memcpy(static_cast<void*>(&copy), &record, sizeof record);
    }
    return records;
}

/// Exports records into a file. @return  its path
std::string export_to(const TemporaryDirectory& directory, const RecordLayout& layout,
                      const std::vector<Record>& records, FlowDirection for_collector) {
    ExportOptions options;
    options.fields = layout.groups();
    options.options.types = true;
    options.collectors.resize(1);
    options.collectors[0].direction = for_collector;
    RotatingExport exporting(directory, {}, options, {.layout = layout});
    for (const Record& record : records) {
        exporting.queue.put(record);
    }
    exporting.finish(milliseconds{1});
    return (directory / "flows.ipfix").string();
}

std::vector<test::DecodedRecord> records_in(const std::string& path) {
    std::vector<test::DecodedRecord> records;
    for (const DecodedMessage& message : decode_file(path)) {
        for (const test::DecodedRecord& record : message.records) {
            if (record.has(7)) {  // sourceTransportPort: of a flow
                records.push_back(record);
            }
        }
    }
    return records;
}

}  // namespace

TEST_CASE("Added group: export.fields knows it and its elements", "[daemon][unit]") {
    CHECK_THROWS_WITH(configured("small-packets"), Catch::Contains("tcp-analysis, or of their"));
    const Added added;
    CHECK(configured("small-packets").export_.fields.has(added.id));
    const ExportOptions one = configured("firstTimeToLive").export_;
    CHECK(one.fields.has(added.id));
    CHECK(one.partial.has(added.id, 1));
    CHECK_FALSE(one.partial.has(added.id, 0));
    CHECK_THROWS_WITH(configured("small"), Catch::Contains("or small-packets, or of their"));
    CHECK_THROWS_WITH(configured("small-packets", "unified-header"),
                      Catch::Contains("export.fields has small-packets"));
}

TEST_CASE("Added group: records that are too large are refused", "[daemon][unit]") {
    static constexpr FieldGroup kHuge{.name = "huge", .octets = 1000};
    const std::optional<FieldGroupId> huge = add_field_group(kHuge);
    REQUIRE(huge);
    CHECK_THROWS_WITH(configured("huge"),
                      Catch::Contains("export.fields needs records of 1080 octets; must be groups "
                                      "of at most 840 octets together"));
    remove_field_group(*huge);
    std::vector<FieldGroup> rows(kMostFieldGroups, kSmallPackets);
    std::vector<std::string> names;
    std::vector<FieldGroupId> added;
    for (std::size_t place = 0; place < rows.size(); ++place) {
        names.push_back("group-" + std::to_string(place));
    }
    for (std::size_t place = 0; place < rows.size(); ++place) {
        rows[place].name = names[place];
        if (const auto id = add_field_group(rows[place])) {
            added.push_back(*id);
        }
    }
    CHECK(added.size() == kMostFieldGroups - kStandardFieldGroups);
    std::ranges::for_each(added, remove_field_group);
    CHECK(lasting_groups() == kEveryGroup);
    CHECK_FALSE(add_field_group(kFieldGroup<ExtremesGroup>));  // there is one of this name
}

TEST_CASE("Added group: groups go in any order, and their numbers are given anew",
          "[daemon][unit]") {
    static constexpr FieldGroup kFirst{.name = "first", .octets = 8};
    static constexpr FieldGroup kSecond{.name = "second", .octets = 8};
    static constexpr FieldGroup kThird{.name = "third", .octets = 8};
    const FieldGroupId first = add_field_group(kFirst).value();
    const FieldGroupId second = add_field_group(kSecond).value();
    remove_field_group(first);
    CHECK(find_field_group("second") == second);
    CHECK_FALSE(find_field_group("first"));
    CHECK_FALSE(find_field_group(""));
    CHECK(lasting_groups().has(second));
    CHECK_FALSE(lasting_groups().has(first));
    CHECK(field_group(first).elements.empty());
    CHECK_FALSE(configured("second").export_.fields.has(first));
    CHECK(add_field_group(kThird) == first);
    CHECK_FALSE(add_field_group(kSecond));  // there is one of this name
    remove_field_group(second);
    remove_field_group(first);
    CHECK(lasting_groups() == kEveryGroup);
}

TEST_CASE("Added group: a table and its successor have groups of one name", "[daemon][unit]") {
    static constexpr FieldGroup kTable{.name = "table", .chosen_by = ChosenBy::table, .octets = 8};
    static constexpr FieldGroup kNext{.name = "table", .chosen_by = ChosenBy::table, .octets = 16};
    const FieldGroupId first = add_field_group(kTable).value();
    const std::optional<FieldGroupId> next = add_field_group(kNext);
    REQUIRE(next);
    CHECK(*next != first);
    CHECK(lasting_groups() == kEveryGroup);  // a table's group is not among them
    CHECK_FALSE(find_field_group("table"));
    remove_field_group(first);
    CHECK(field_group(*next).octets == 16);
    remove_field_group(*next);
}

TEST_CASE("Added group: records of too many kinds are refused", "[daemon][unit]") {
    const Added added;
    std::istringstream text(
        "inputs: [{device: \"af_packet:eth0\"}]\n"
        "flows: {direction: biflow, tunnel: inner, tcp-analysis: true}\n"
        "export: {collectors: [{host: 192.0.2.1, mtu: 1400}], fields: [extremes, layer2, "
        "tcp-counts, "
        "flow-label, mpls, fragments, small-packets]}\n");
    CHECK_THROWS_WITH(
        load_config(text, "test.yaml", {}, ConfigUse::probe, {}),
        Catch::Contains("makes 31680 kinds of records") && Catch::Contains("at most 16128"));
}

TEST_CASE("Added group: packets of uniflows make its elements", "[daemon][unit]") {
    const Added added;
    FieldGroups groups = groups_of<TcpCountsGroup>();
    groups.set(added.id);
    const RecordLayout layout = RecordLayout::of(groups);
    const TemporaryDirectory directory;
    const auto records =
        records_in(export_to(directory, layout, conversation(layout, FlowDirection::uniflow), {}));
    REQUIRE(records.size() == 2);
    for (const test::DecodedRecord& record : records) {
        const bool is_there = record.number(7) == 40000;
        CHECK(record.number(kSmall) == (is_there ? 3 : 1));
        CHECK(record.text(kFirst) == (is_there ? "ttl 9" : "ttl 250"));
        CHECK(record.number(222) == 3);  // tcpAckTotalCount, of another group
    }
}

TEST_CASE("Added group: a biflow has it twice, and is split into two uniflows with one each",
          "[daemon][unit]") {
    const Added added;
    FieldGroups groups;
    groups.set(added.id);
    const RecordLayout layout = RecordLayout::of(groups, FlowDirection::biflow);
    const std::vector<Record> biflows = conversation(layout, FlowDirection::biflow);
    const TemporaryDirectory directory;
    auto records = records_in(export_to(directory, layout, biflows, FlowDirection::biflow));
    REQUIRE(records.size() == 1);
    CHECK(records[0].number(kSmall) == 3);
    CHECK(records[0].number(kSmall + kReverse) == 1);
    CHECK(records[0].text(kFirst) == "ttl 9");
    CHECK(records[0].text(kFirst + kReverse) == "ttl 250");

    const TemporaryDirectory other;
    records = records_in(export_to(other, layout, biflows, FlowDirection::uniflow));
    REQUIRE(records.size() == 2);
    CHECK(records[0].number(kSmall) == 3);
    CHECK(records[0].text(kFirst) == "ttl 9");
    CHECK(records[1].number(kSmall) == 1);
    CHECK(records[1].text(kFirst) == "ttl 250");
    CHECK_FALSE(records[1].has(kSmall + kReverse));
}

TEST_CASE("Added group: a record without its text has another template", "[daemon][unit]") {
    const Added added;
    FieldGroups groups;
    groups.set(added.id);
    const RecordLayout layout = RecordLayout::of(groups);
    std::vector<Record> records(2, record_of(1));
    auto& group = records[1].group<SmallPacketsGroup>(layout.places.at(added.id));
    group.first.set("ttl 255, as long as it goes");  // more than fits
    const TemporaryDirectory directory;
    const auto got = records_in(export_to(directory, layout, records, {}));
    REQUIRE(got.size() == 2);
    CHECK_FALSE(got[0].has(kFirst));
    CHECK(got[1].text(kFirst) == "ttl 255, as");
    CHECK(got[0].template_id != got[1].template_id);
}

TEST_CASE("Added group: tributary flows shows it, sorts by it and filters by it",
          "[daemon][unit]") {
    const Added added;
    FieldGroups groups;
    groups.set(added.id);
    const RecordLayout layout = RecordLayout::of(groups);
    const TemporaryDirectory directory;
    const std::string path =
        export_to(directory, layout, conversation(layout, FlowDirection::uniflow), {});
    FlowListingOptions options;
    options.files = {path};
    const Listed table = list(options);
    CHECK(table.warnings.empty());
    CHECK(table.lines.at(0).find("Octets  Small") != std::string::npos);

    options.format = ListingFormat::json;
    options.filter = FlowFilter("small-packets > 2");
    const Listed json = list(options);
    REQUIRE(json.lines.size() == 1);
    CHECK(json.lines[0].find(R"("smallPackets":3,"firstTimeToLive":"ttl 9")") != std::string::npos);

    options.format = ListingFormat::csv;
    options.filter = {};
    const Listed csv = list(options);
    CHECK(csv.lines.at(0).find(",zeroWindow,smallPackets,") != std::string::npos);
    CHECK(csv.lines.at(0).ends_with(",reverseZeroWindow,reverseSmallPackets"));
}

TEST_CASE("Added group: the page of fields gets its section", "[daemon][unit]") {
    const Added added;
    CHECK(field_reference("# Fields\n\n## Templates\n\nids\n")
              .ends_with("## Group `small-packets`\n\n"
                         "| element | enterprise's number | type | what it says |\n"
                         "|---|---|---|---|\n"
                         "| `smallPackets` | 900 | unsigned32 | packets of less than 128 octets |\n"
                         "| `firstTimeToLive` | 901 | string | the first packet's TTL |\n\n"
                         "## Templates\n\nids\n"));
}
