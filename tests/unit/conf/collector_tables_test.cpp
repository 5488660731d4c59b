// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "conf/declared_tables.hpp"
#include "export/export_error.hpp"
#include "export/ipfix/ipfix_encoder.hpp"
#include "tests/unit/conf/config_harness.hpp"

// The tables that collectors get.

namespace tributary {
namespace {

using Texts = std::vector<std::string>;

/// Of different kinds, each in a line of its own from 2 on.
constexpr const char* kTables =
    "tables:\n"
    "- {name: subnets, key: [sourceAddress/24/56], values: [max(ipTTL), last(ipTTL)]}\n"
    "- {name: tags, key: [vlanTagCount, ipVersion]}\n"
    "- {name: pairs, key: [sourceAddress, destinationAddress, dnsId], direction: biflow}\n"
    "fields: [{name: dnsId, offset: 8, as: unsigned16, when: udp port 53}]\n"
    "inputs: [{device: net_null0}]\n";

/// A probe with these tables, and these collectors in line 7.
std::string probe(const std::string& collectors, const std::string& more = "") {
    return std::string(kTables) + "export: {" + more + "collectors: [" + collectors + "]}\n";
}

std::string tables_judged(const std::string& collectors, const std::string& more = "") {
    return probe_refusal(probe(collectors, more));
}

Texts warnings_of_collectors(const std::string& collectors, const Texts& sets = {}) {
    return load(probe(collectors), sets, ConfigUse::probe).warnings;
}

constexpr const char* kAll = "{host: all, tables: [main, subnets, tags, pairs]}";

}  // namespace

TEST_CASE("collector tables: the main one, or those that it names", "[conf][unit]") {
    const auto tables = [](const std::string& keys) {
        return load(probe("{host: h" + keys + "}"), {}, ConfigUse::probe)
            .config.export_.collectors.at(0)
            .tables;
    };
    CHECK(tables("") == Texts{"main"});
    CHECK(tables(", tables: [subnets]") == Texts{"subnets"});
    CHECK(tables(", tables: [pairs, main]") == Texts{"pairs", "main"});
    const std::string limits =
        "; must be a list of names of tables, at least one, and none twice (the tables whose "
        "records this collector gets: ";
    for (const char* wrong : {"[]", "[main, main]", "[Main]", "[a_b]"}) {
        const std::string text = wrong;
        CHECK(tables_judged("{host: h, tables: " + text + "}")
                  .starts_with("probe.yaml:7: export.collectors.0.tables is " + text + limits));
    }
    CHECK(tables_judged("{host: h, tables: main}").find("tables is main" + limits) !=
          std::string::npos);
    CHECK(tables_judged("{host: h, tables: [main, subnet]}") ==
          "probe.yaml:7: export.collectors.0.tables has subnet, but there is no such table; must "
          "be names of tables (main, subnets, tags and pairs); did you mean subnets?");
    CHECK(probe_refusal(kProbe, {"export.collectors.0.tables=[subnets]"}) ==
          "--set export.collectors.0.tables=[subnets]: export.collectors.0.tables has subnets, but "
          "there is no such table; must be names of tables (main)");
}

TEST_CASE("collector tables: with failover all collectors have the same", "[conf][unit]") {
    const std::string three = "{host: a, tables: [main, tags]}, {host: b, tables: [tags, main]}, ";
    CHECK(tables_judged(three + "{host: c}") == "accepted");
    CHECK(tables_judged(three + "{host: c}", "mode: balance, ") == "accepted");
    CHECK(tables_judged(three + "{host: c, tables: [main, tags]}", "mode: failover, ") ==
          "accepted");
    CHECK(tables_judged(three + "{host: c}", "mode: failover, ") ==
          "probe.yaml:7: export.collectors.2.tables has main, but export.mode is failover, and "
          "export.collectors.0.tables has main and tags; must be the same (each record can come to "
          "each collector)");
    CHECK(tables_judged("{host: a, tables: [tags]}, {host: b}", "mode: failover, ")
              .find("collectors.1.tables has main, but export.mode is failover") !=
          std::string::npos);
}

TEST_CASE("collector tables: formats without a place for a table's fields are refused",
          "[conf][unit]") {
    const std::string file = "transport: file, path: /tmp/a, tables: [main, subnets], format: ";
    const std::string topic = "transport: kafka, brokers: b, topic: t, tables: [subnets], format: ";
    for (const char* good : {"ipfix", "json"}) {
        CHECK(tables_judged("{" + file + good + "}") == "accepted");
        CHECK(tables_judged("{" + topic + good + "}") == "accepted");
    }
    CHECK(tables_judged("{" + topic + "rawflow}", "probe: {address: 192.0.2.1}, ") == "accepted");
    const std::string why =
        ": what a declared table has is in neither csv nor flowmessage, whose fields are always "
        "the same)";
    CHECK(tables_judged("{" + file + "csv}") ==
          "probe.yaml:7: export.collectors.0.tables has subnets, but format is csv; must be main "
          "alone (or format json or ipfix" +
              why);
    CHECK(tables_judged("{" + topic + "flowmessage}") ==
          "probe.yaml:7: export.collectors.0.tables has subnets, but format is flowmessage; must "
          "be main alone (or format json, rawflow or ipfix" +
              why);
}

TEST_CASE("collector tables: a key with elements of tributary's own goes to none without them",
          "[conf][unit]") {
    const std::string without = "enterprise-elements: false, tables: ";
    CHECK(tables_judged("{host: h, " + without + "[main, subnets]}") == "accepted");
    CHECK(tables_judged("{host: h, " + without + "[tags]}") ==
          "probe.yaml:7: export.collectors.0.tables has tags, whose key has vlanTagCount, but "
          "enterprise-elements is false; must be without this table, or enterprise-elements true "
          "(its flows could not be told apart without this element)");
    CHECK(tables_judged("{host: h, profile: vflow, tables: [main, pairs]}")
              .find("tables has pairs, whose key has dnsId, but enterprise-elements is false; ") !=
          std::string::npos);
    CHECK(
        warnings_of_collectors(std::string(kAll) + ", {host: h, " + without + "[main, subnets]}") ==
        Texts{"export.collectors.1.enterprise-elements is false: its records of table subnets "
              "are without lastIpTTL"});
}

TEST_CASE("collector tables: what goes to no collector is warned of", "[conf][unit]") {
    CHECK(warnings_of_collectors(kAll).empty());
    CHECK(
        warnings_of_collectors("{host: a, tables: [pairs]}, {host: b, tables: [subnets, pairs]}") ==
        Texts{"table main goes to no collector; add it to the tables of an item of "
              "export.collectors",
              "table tags goes to no collector; add it to the tables of an item of "
              "export.collectors"});
    CHECK(load(kTables).warnings.empty());  // captures, without collectors
}

TEST_CASE("collector tables: own fields and timeouts without effect are warned of",
          "[conf][unit]") {
    CHECK(warnings_of_collectors(kAll, {"fields.1={name: spare}"}) ==
          Texts{"fields.1, spare, is in no table's key or values: no record has it"});
    CHECK(load("fields: [{name: a}, {name: b}]\ntables: [{name: t, key: [a], values: [max(b)]}]\n")
              .warnings.empty());
    CHECK(warnings_of_collectors(kAll, {"tables.1.idle-timeout=301"}) ==
          Texts{"tables.1.idle-timeout is longer than tables.1.active-timeout: no record ends by "
                "it"});
    CHECK(warnings_of_collectors(kAll, {"flows.idle-timeout=301"}) ==
          Texts{"flows.idle-timeout is longer than flows.active-timeout: no record ends by it"});
}

TEST_CASE("collector tables: biflows of a table are biflows for the collector", "[conf][unit]") {
    CHECK(tables_judged("{host: h, direction: biflow, tables: [main, pairs]}") == "accepted");
    CHECK(tables_judged("{host: h, direction: biflow, tables: [main, tags]}")
              .find("direction is biflow, but flows.direction is uniflow; must be uniflow or "
                    "inherit") != std::string::npos);
    const auto of_goflow2 = [](const std::string& tables) {
        return warnings_of_collectors(
            std::string(kAll) + ", {host: h, profile: goflow2, direction: inherit, tables: [" +
            tables + "]}");
    };
    CHECK(of_goflow2("main, subnets").empty());
    CHECK(of_goflow2("pairs") ==
          Texts{"export.collectors.1.direction is biflow, but profile is goflow2: goflow2 drops "
                "the reverse half of biflows without a word; the profile's own is uniflow"});
}

TEST_CASE("collector tables: the key of messages is an element of some table", "[conf][unit]") {
    const auto topic = [](const std::string& keys) {
        return tables_judged("{transport: kafka, brokers: b, topic: t, format: json, " + keys +
                             "}");
    };
    CHECK(topic("tables: [subnets], key: maximumTTL") == "accepted");
    CHECK(topic("tables: [pairs], key: sourceIPAddress") == "accepted");
    CHECK(topic("tables: [main, tags], key: sourceTransportPort") == "accepted");
    CHECK(topic("tables: [main], key: maximumTTL").find("but no record has this element; ") !=
          std::string::npos);
    CHECK(topic("tables: [tags], key: sourceTransportPort") ==
          "probe.yaml:7: export.collectors.0.key is sourceTransportPort, but no record has this "
          "element; must be flow, none or an element that records have (export.fields and flows "
          "decide)");
}

TEST_CASE("collector tables: while a probe runs, its tables are no words of other keys",
          "[conf][unit]") {
    const std::string text = probe(kAll);
    const Config config = load(text, {}, ConfigUse::probe).config;
    const CompiledTable running(config.tables.at(0), config.fields, {});
    const auto running_id = add_field_group(*running.group());
    REQUIRE(running_id);
    CHECK(probe_refusal(text) == "accepted");  // its own name is not taken
    for (const char* word : {"subnets", "lastIpTTL"}) {
        const std::string told = probe_refusal(text, {"export.fields=[" + std::string(word) + "]"});
        CHECK(told.find("must be a list of none or some of extremes, layer2, tcp-counts, "
                        "flow-label, mpls, tunnel, fragments or tcp-analysis, or of their "
                        "elements by name (") != std::string::npos);
    }
    CHECK(tables_judged(
              "{transport: kafka, brokers: b, topic: t, format: json, tables: [subnets], key: "
              "lastIpTTL}")
              .find("key is lastIpTTL; must be flow, none or the name of an element (") !=
          std::string::npos);
    remove_field_group(*running_id);
}

TEST_CASE("collector tables: datagrams hold a table's templates and records", "[conf][unit]") {
    std::string values;
    for (const char* function : {"sum", "min", "max", "first", "last", "or"}) {
        for (const char* field : {"sourceTransportPort", "destinationTransportPort", "ipTTL",
                                  "fragmentIdentification", "vlanTagCount", "tcpControlBits"}) {
            values += (values.empty() ? "" : ", ") + std::string(function) + "(" + field + ")";
        }
    }
    const std::string text =
        "tables: [{name: long, key: [sourceAddress, destinationAddress], "
        "direction: biflow, values: [" +
        values +
        "]}]\ninputs: [{device: net_null0}]\n"
        "export: {collectors: [{host: h, tables: [main, long]}]}\n";
    const LoadedConfig loaded = load(text, {}, ConfigUse::probe);
    const auto compiled = compile_if_good(loaded.config, loaded.config.tables.at(0));
    REQUIRE(compiled != nullptr);
    const CollectorOptions& collector = loaded.config.export_.collectors.at(0);
    const std::size_t least = least_message(loaded.config, collector, *compiled);
    CHECK(probe_refusal(text, {"export.collectors.0.mtu=" + std::to_string(least)}) == "accepted");
    CHECK(probe_refusal(text, {"export.collectors.0.mtu=" + std::to_string(least - 1)}) ==
          "--set export.collectors.0.mtu=" + std::to_string(least - 1) +
              ": export.collectors.0.mtu is " + std::to_string(least - 1) +
              ", but tables has long; must be at least " + std::to_string(least) +
              " (its templates and records are long)");
    CHECK(probe_refusal(text, {"export.collectors.0.mtu=512",
                               "export.collectors.0.tables=[main]"}) == "accepted");
    // The encoder takes messages of this length, and none that is shorter.
    const auto id = add_field_group(*compiled->group());
    REQUIRE(id);
    FieldGroups groups;
    groups.set(*id);
    const RecordLayout layout = RecordLayout::of(groups, FlowDirection::biflow);
    const TableElements elements{.key = compiled->key(), .is_declared = true};
    CHECK_NOTHROW(
        IpfixEncoder(loaded.config.export_, layout, least, kFurtherTemplateIds, elements));
    CHECK_THROWS_AS(
        IpfixEncoder(loaded.config.export_, layout, least - 1, kFurtherTemplateIds, elements),
        ExportError);
    remove_field_group(*id);
}

}  // namespace tributary
