// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "conf/dump_config.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

using std::chrono::seconds;
using Texts = std::vector<std::string>;

constexpr const char* kDns =
    "fields:\n"
    "  - {name: dnsId, from: l4, offset: 8, octets: 2, as: unsigned16, when: udp port 53}\n";

/// A run on captures with this table, in line 1, or 3 behind the field of kDns.
std::string table(const std::string& keys) { return "tables: [{" + keys + "}]\n"; }

std::string table_judged(const std::string& keys) { return refusal(table(keys)); }

/// A run on captures with this own field, in line 1.
std::string field_judged(const std::string& keys) { return refusal("fields: [{" + keys + "}]\n"); }

/// A probe whose inputs have these further keys, with one table behind them, in line 3.
std::string probe_with_table(const std::string& first, const std::string& second,
                             const std::string& table_keys) {
    return "inputs: [{device: net_null0" + first + "}, {device: net_null1" + second +
           "}]\nexport: {collectors: [{host: h, tables: [main, a]}]}\n" + table(table_keys) + kDns;
}

std::string probe_judged(const std::string& first, const std::string& second,
                         const std::string& table_keys) {
    return probe_refusal(probe_with_table(first, second, table_keys));
}

}  // namespace

TEST_CASE("tables: every key reaches its member", "[conf][unit]") {
    const Config config = load(R"(
fields:
  - {name: dnsId, from: payload, offset: 7, octets: 3, as: unsigned32, when: udp port 53, number: 9}
  - {name: peer, from: frame, as: ipv6Address}
tables:
  - name: a-1
    filter: not net 10.0.0.0/8
    key: [sourceAddress/24/56, " destinationAddress/24/56", dnsId]
    values: [packetDeltaCount, max(ipTTL), distinct(peer)]
    direction: biflow
    spread: key
    max-flows: 5k
    idle-timeout: 6
    active-timeout: 7
  - {name: b, key: [ipVersion]}
)")
                              .config;
    REQUIRE(config.fields.size() == 2);
    CHECK(config.fields[0] == OwnField{.name = "dnsId",
                                       .from = OwnFieldBase::payload,
                                       .offset = 7,
                                       .octets = 3,
                                       .as = OwnFieldType::unsigned32,
                                       .when = "udp port 53",
                                       .number = 9});
    CHECK(config.fields[1] == OwnField{.name = "peer",
                                       .from = OwnFieldBase::frame,
                                       .octets = 16,
                                       .as = OwnFieldType::ipv6_address});
    REQUIRE(config.tables.size() == 2);
    TableDeclaration expected{.name = "a-1",
                              .filter = "not net 10.0.0.0/8",
                              .key = {"sourceAddress/24/56", " destinationAddress/24/56", "dnsId"},
                              .values = {"packetDeltaCount", "max(ipTTL)", "distinct(peer)"},
                              .direction = FlowDirection::biflow,
                              .max_flows = 5000,
                              .idle_timeout = seconds(6),
                              .active_timeout = seconds(7),
                              .spread = TableSpread::key};
    CHECK(config.tables[0] == expected);
    expected = {.name = "b", .filter = {}, .key = {"ipVersion"}, .values = {}};
    CHECK(config.tables[1] == expected);
    CHECK(load("").config.tables.empty());
    CHECK(load("tables:\nfields: []\n").config.tables.empty());
}

TEST_CASE("tables: timeouts that are left out are those of flows", "[conf][unit]") {
    const auto timeouts = [](const std::string& keys) {
        const TableDeclaration table = load("tables: [{name: a, key: [ipVersion]" + keys +
                                            "}]\nflows: {idle-timeout: 11, active-timeout: 12}\n")
                                           .config.tables.at(0);
        return std::array{table.idle_timeout, table.active_timeout};
    };
    CHECK(timeouts("") == std::array{seconds(11), seconds(12)});
    CHECK(timeouts(", idle-timeout: 1m") == std::array{seconds(60), seconds(12)});
    CHECK(timeouts(", idle-timeout: inherit, active-timeout: 2147483648") ==
          std::array{seconds(11), seconds(2'147'483'648)});
    CHECK(table_judged("name: a, key: [ipVersion], idle-timeout: 0") ==
          "probe.yaml:1: tables.0.idle-timeout is 0; must be inherit or a whole number of seconds "
          "from 1 to 2147483648 (a flow without a packet for this long is exported; inherit: "
          "flows.idle-timeout; default inherit)");
    CHECK(table_judged("name: a, key: [ipVersion], active-timeout: 2147483649")
              .find("must be inherit or a whole number of seconds from 1 to") != std::string::npos);
}

TEST_CASE("tables: octets that are left out are those of the field's type", "[conf][unit]") {
    const auto octets = [](const std::string& keys) {
        return int{load("fields: [{name: x, " + keys + "}]\n").config.fields.at(0).octets};
    };
    CHECK(octets("from: l4") == 1);
    CHECK(octets("as: unsigned16") == 2);
    CHECK(octets("as: unsigned32, octets: auto") == 4);
    CHECK(octets("as: unsigned64") == 8);
    CHECK(octets("as: unsigned64, octets: 5") == 5);
    CHECK(octets("as: ipv4Address") == 4);
    CHECK(octets("as: macAddress") == 6);
    CHECK(octets("as: string, octets: 32") == 32);
    CHECK(field_judged("name: x, as: string") ==
          "probe.yaml:1: fields.0.octets is missing; must be from 1 to 32 (string has no number of "
          "octets of its own)");
    CHECK(field_judged("name: x, as: octetArray, octets: 33")
              .find("fields.0.octets is 33; must be auto or a whole number from 1 to 32 (") !=
          std::string::npos);
}

TEST_CASE("tables: what is dumped loads to the same", "[conf][unit]") {
    const Config first =
        load(std::string("flows: {idle-timeout: 9}\n") + kDns +
             "tables:\n"
             "  - {name: a, filter: 'host \"x\"', key: [dnsId, sourceAddress/0/64], values: []}\n"
             "  - {name: 'null', key: [ipVersion], values: [min(dnsId)], active-timeout: 1d}\n")
            .config;
    const std::string dump = dump_config(first);
    CHECK(dump.find(R"yaml(fields:
  - name: "dnsId"
    from: l4
    offset: 8
    octets: 2
    as: unsigned16
    when: "udp port 53"
    number: auto
tables:
  - name: "a"
    filter: "host \"x\""
    key: ["dnsId", "sourceAddress/0/64"]
    values: []
    direction: uniflow
    spread: queue
    max-flows: 100000
    idle-timeout: 9
    active-timeout: 300
  - name: "null"
    filter: ""
    key: ["ipVersion"]
    values: ["min(dnsId)"]
    direction: uniflow
    spread: queue
    max-flows: 100000
    idle-timeout: 9
    active-timeout: 86400
)yaml") != std::string::npos);
    const Config again = load(dump).config;
    CHECK(again.tables == first.tables);
    CHECK(again.fields == first.fields);
    CHECK(dump_config(again) == dump);
}

TEST_CASE("tables: a table has a name of its own", "[conf][unit]") {
    const std::string limits =
        "; must be a small letter, then small letters, digits and hyphens, at most 32 of them "
        "together, other than main";
    for (const char* wrong : {"main", "A", "1a", "a_b", "-a", "a b"}) {
        CHECK(table_judged("name: " + std::string(wrong) + ", key: [ipVersion]")
                  .starts_with("probe.yaml:1: tables.0.name is " + std::string(wrong) + limits));
    }
    CHECK(table_judged("name: '', key: [ipVersion]")
              .starts_with("probe.yaml:1: tables.0.name is empty" + limits));
    CHECK(table_judged("name: a2345678901234567890123456789012, key: [ipVersion]") == "accepted");
    CHECK(table_judged("name: a23456789012345678901234567890123, key: [ipVersion]").find(limits) !=
          std::string::npos);
    CHECK(table_judged("key: [ipVersion]") == "probe.yaml:1: tables.0.name is missing" + limits);
    CHECK(table_judged("name: layer2, key: [ipVersion]") ==
          "probe.yaml:1: tables.0.name is layer2; must be another name (it is a group of "
          "export.fields)");
    CHECK(refusal("tables:\n- {name: a, key: [ipVersion]}\n- {name: b, key: [ipVersion]}\n"
                  "- {name: a, key: [vlanId]}\n") ==
          "probe.yaml:4: tables.2.name is a; must differ from tables.0.name (collectors and "
          "accounts tell tables apart by it)");
}

TEST_CASE("tables: eight tables and 64 fields are the most", "[conf][unit]") {
    std::string tables = "tables:\n";
    for (int i = 0; i < 8; ++i) {
        tables += "- {name: t" + std::to_string(i) + ", key: [ipVersion]}\n";
    }
    CHECK(refusal(tables) == "accepted");
    CHECK(refusal(tables + "- {name: t8, key: [ipVersion]}\n") ==
          "probe.yaml:1: tables has 9 items; must have at most 8");
    std::string fields = "fields:\n";
    for (int i = 1; i <= 64; ++i) {
        const std::string number = std::to_string(i);
        fields += "- {name: f" + number + ", number: " + number + "}\n";
    }
    CHECK(refusal(fields) == "accepted");
    CHECK(refusal(fields + "- {name: f65, number: 65}\n") ==
          "probe.yaml:1: fields has 65 items; must have at most 64");
}

TEST_CASE("tables: what the key and the values name is checked", "[conf][unit]") {
    CHECK(table_judged("name: a") ==
          "probe.yaml:1: tables.0.key is missing; must be a list of fields, at least one, such as "
          "[sourceAddress, destinationAddress]");
    CHECK(table_judged("name: a, key: []")
              .starts_with("probe.yaml:1: tables.0.key is []; must be a list of fields, at least "
                           "one (what the packets of a flow have in common: "));
    CHECK(table_judged("name: a, key: ipVersion")
              .starts_with("probe.yaml:1: tables.0.key is ipVersion; must be a list of fields, at "
                           "least one ("));
    CHECK(table_judged("name: a, key: [{ipVersion: 1}]").find("must be a list of fields") !=
          std::string::npos);
    CHECK(table_judged("name: a, key: [sourceAdress]") ==
          "probe.yaml:1: tables.0.key: 'sourceAdress': there is no such field; did you mean "
          "sourceAddress?");
    CHECK(table_judged("name: a, key: [sourceAddress/33/64]") ==
          "probe.yaml:1: tables.0.key: 'sourceAddress/33/64': behind an address are the prefix "
          "lengths of IPv4 (0 to 32) and of IPv6 (0 to 128), not both 0, as in "
          "sourceAddress/24/56");
    CHECK(refusal("tables:\n- name: a\n  key: [ipVersion]\n  values:\n  - packetDeltaCount\n  - "
                  "max(sourceAddress)\n") ==
          "probe.yaml:4: tables.0.values: 'max(sourceAddress)': sourceAddress is no number, and "
          "max() is of numbers; distinct() takes any field");
    CHECK(table_judged("name: a, key: [ipVersion], values: [top(ipTTL)]")
              .starts_with("probe.yaml:1: tables.0.values: 'top(ipTTL)': there is no function "));
    CHECK(table_judged("name: a, key: [sourceAddress], direction: biflow") ==
          "probe.yaml:1: tables.0.direction: in biflows the key has both sides alike: beside "
          "'sourceAddress' it needs 'destinationAddress'");
    CHECK(table_judged("name: a, key: [ipVersion], direction: biflow") ==
          "probe.yaml:1: tables.0.direction: in biflows the key has fields of source and "
          "destination, such as sourceAddress and destinationAddress; this one has none");
    CHECK(table_judged("name: a, key: [ipVersion], colour: red") ==
          "probe.yaml:1: tables.0.colour is not a key; must be one of: name, filter, key, values, "
          "direction, spread, max-flows, idle-timeout, active-timeout");
}

TEST_CASE("tables: spread by key, for a limited number of queues", "[conf][unit]") {
    const std::string spread = "name: a, key: [ipVersion], spread: key";
    CHECK(probe_judged(", queues: 20", ", queues: 12", spread) == "accepted");
    CHECK(probe_judged(", queues: 20", ", queues: 13", spread) ==
          "probe.yaml:3: tables.0.spread is key, but there are 33 queues (inputs.0.queues, ...); "
          "must be queue, or there must be at most 32 (each queue has a ring to each other)");
    CHECK(probe_judged(", queues: 20", ", queues: 13", "name: a, key: [ipVersion]") == "accepted");
    CHECK(refusal(table(spread), {"read.queues=32"}) == "accepted");
    CHECK(refusal(table(spread), {"read.queues=33"}) ==
          "probe.yaml:1: tables.0.spread is key, but there are 33 queues (read.queues); must be "
          "queue, or there must be at most 32 (each queue has a ring to each other)");
    CHECK(table_judged("name: a, key: [ipVersion], spread: ring")
              .starts_with("probe.yaml:1: tables.0.spread is ring; must be queue or key ("));
}

TEST_CASE("tables: records are no longer than a record may be", "[conf][unit]") {
    CHECK(table_judged(
              "name: a, key: [ipVersion], values: [distinct(ipTTL), distinct(sourceAddress)]") ==
          "accepted");
    CHECK(table_judged(
              "name: a, key: [ipVersion], values: [distinct(ipTTL), distinct(sourceAddress), "
              "distinct(vlanId)]") ==
          "probe.yaml:1: tables.0: its records take 1064 octets, more than 840; distinct() takes "
          "328 each, in biflows twice");
}

TEST_CASE("tables: all faults of tables and fields are told in one run", "[conf][unit]") {
    CHECK(refusals("tables:\n"
                   "- {name: a, key: [sourceAdress]}\n"
                   "- {name: a, key: [ipVersion], values: [max(x)], max-flows: 0}\n"
                   "- {name: tunnel, key: [tunnelId]}\n"
                   "- {name: c, keys: [ipVersion]}\n") ==
          "probe.yaml:3: tables.1.max-flows is 0; must be a whole number from 1 to 1073741824 "
          "(flows that the table holds at once, in each queue, as flows.max-flows; default "
          "100000)\n"
          "probe.yaml:5: tables.3.keys is not a key; did you mean tables.3.key?\n"
          "probe.yaml:2: tables.0.key: 'sourceAdress': there is no such field; did you mean "
          "sourceAddress?\n"
          "probe.yaml:4: tables.2.name is tunnel; must be another name (it is a group of "
          "export.fields)\n"
          "probe.yaml:4: tables.2.key: 'tunnelId': packets inside tunnels are metered, and so have "
          "one, with flows.tunnel: inner alone");
}

TEST_CASE("tables: fields of tunnels need packets inside tunnels", "[conf][unit]") {
    CHECK(table_judged("name: a, key: [tunnelId]").find("flows.tunnel: inner alone") !=
          std::string::npos);
    CHECK(refusal(table("name: a, key: [tunnelId]"), {"flows.tunnel=inner"}) == "accepted");
}

TEST_CASE("tables: own fields are good by themselves, and with one another", "[conf][unit]") {
    CHECK(field_judged("offset: 1") ==
          "probe.yaml:1: fields.0.name is missing; must be a letter, then letters and digits, at "
          "most 48 of them together");
    CHECK(field_judged("name: dns-id")
              .starts_with("probe.yaml:1: fields.0.name is dns-id; must be a letter, then letters "
                           "and digits, at most 48 of them together ("));
    CHECK(field_judged("name: ipTTL") ==
          "probe.yaml:1: fields.0: 'ipTTL' is the name of an element that tributary has; choose "
          "another one");
    CHECK(field_judged("name: x, as: unsigned16, octets: 3") ==
          "probe.yaml:1: fields.0: 'x': unsigned16 has 1 to 2 octets, not 3");
    CHECK(
        field_judged("name: x, from: l5")
            .starts_with("probe.yaml:1: fields.0.from is l5; must be frame, l3, l4 or payload ("));
    CHECK(field_judged("name: x, as: float32").find("; must be unsigned8, unsigned16, ") !=
          std::string::npos);
    CHECK(field_judged("name: x, offset: 65536").find("must be a whole number from 0 to 65535 (") !=
          std::string::npos);
    CHECK(field_judged("name: x, number: 1793")
              .find("must be auto or a whole number from 1 to 1792 (") != std::string::npos);
    CHECK(refusals("fields:\n- {name: x}\n- {name: x}\n- {name: y, number: 1}\n"
                   "- {name: z, number: 1}\n") ==
          "probe.yaml:3: fields.1: 'x' is there twice\n"
          "probe.yaml:5: fields.3: 'z' and 'y' would have the same element numbers; give one of "
          "them another name or a number (1 to 1792) that is not 1");
    // Tables are not table_judged by fields that are wrong.
    CHECK(refusals("fields: [{name: ipTTL}]\ntables: [{name: a, key: [nothing]}]\n") ==
          "probe.yaml:1: fields.0: 'ipTTL' is the name of an element that tributary has; choose "
          "another one");
}

TEST_CASE("tables: unified headers carry some fields, and no frames", "[conf][unit]") {
    const std::string unified = ", parse: unified-header";
    CHECK(probe_judged("", "", "name: a, filter: tcp, key: [flowLabelIPv6, dnsId]") == "accepted");
    CHECK(probe_judged(unified, unified, "name: a, key: [sourceAddress/24/56, ipTTL]") ==
          "accepted");
    CHECK(probe_judged("", unified, "name: a, key: [flowLabelIPv6], values: [max(vlanTagCount)]") ==
          "probe.yaml:3: tables.0 has flowLabelIPv6 and vlanTagCount, but inputs.1.parse is "
          "unified-header; must be without them (unified headers do not carry them)");
    CHECK(probe_judged(unified, "", "name: a, key: [dnsId]") ==
          "probe.yaml:3: tables.0 has dnsId, but inputs.0.parse is unified-header; must be without "
          "it (unified headers do not carry it)");
    CHECK(probe_judged("", unified, "name: a, filter: tcp, key: [ipVersion]") ==
          "probe.yaml:3: tables.0.filter is given, but inputs.1.parse is unified-header; must be "
          "left out (the sender of unified headers can choose among packets)");
    const std::vector<std::string> read{"read.parse=unified-header"};
    CHECK(refusal(table("name: a, key: [flowLabelIPv6]"), read) ==
          "probe.yaml:1: tables.0 has flowLabelIPv6, but read.parse is unified-header; must be "
          "without it (unified headers do not carry it)");
    CHECK(refusal(table("name: a, filter: tcp, key: [ipVersion]"), read)
              .starts_with("probe.yaml:1: tables.0.filter is given, but read.parse is "
                           "unified-header; must be left out "));
    CHECK(refusal(table("name: a, key: [ipVersion]"), read) == "accepted");
}

TEST_CASE("tables: with own fields all inputs parse alike", "[conf][unit]") {
    const std::string why =
        "; must be without fields of your own, or all inputs must have the same parse and "
        "trim-length (headers are walked once more for such fields, alike for all inputs)";
    const std::string dns = "name: a, key: [dnsId]";
    CHECK(probe_judged("", ", trim-length: 99", dns) == "accepted");
    CHECK(probe_judged(", parse: trimmed", ", parse: trimmed", dns) == "accepted");
    CHECK(probe_judged("", ", parse: trimmed", "name: a, key: [flowLabelIPv6]") == "accepted");
    CHECK(
        probe_judged("", ", parse: trimmed", dns) ==
        "probe.yaml:3: tables.0 has dnsId, but inputs.0.parse is full and inputs.1.parse trimmed" +
            why);
    CHECK(probe_judged(", parse: trimmed", ", parse: trimmed, trim-length: 99", dns) ==
          "probe.yaml:3: tables.0 has dnsId, but inputs.0.trim-length is 128 and "
          "inputs.1.trim-length 99" +
              why);
}

TEST_CASE("tables: one of biflows has an initiator, too", "[conf][unit]") {
    const std::string biflows =
        "tables: [{name: a, key: [sourceAddress, destinationAddress], direction: biflow}]\n";
    const std::string by_port = "flows: {initiator-by-port: true}\n";
    CHECK(refusal(by_port + biflows) == "accepted");
    CHECK(refusal(by_port).find("flows.direction is uniflow; must be false") != std::string::npos);
    const Texts device{"inputs.0.device=net_null0"};
    CHECK(refusal(by_port + biflows, device, ConfigUse::preparse_device) == "accepted");
}

TEST_CASE("tables: preparse, which makes no flows, does not look at them", "[conf][unit]") {
    const std::string text = "tables: 7\nfields: [{name: 8}]\n";
    CHECK(refusal(text, {"inputs.0.device=net_null0"}, ConfigUse::preparse_device) == "accepted");
    CHECK(refusal(text, {}, ConfigUse::preparse_captures) == "accepted");
    CHECK(refusals(text).find("tables is 7; must be a list") != std::string::npos);
}

}  // namespace tributary
