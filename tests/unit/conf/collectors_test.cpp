// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/conf/config_harness.hpp"

using namespace tributary;

namespace {

/// The check's result for a probe with this collector: "accepted", or why not.
std::string collector_judged(const std::string& collector) {
    return probe_refusal("inputs: [{device: net_null0}]\nexport:\n  collectors:\n    - {" +
                         collector + "}\n");
}

}  // namespace

TEST_CASE("collectors: modes, and what each may have otherwise", "[conf][unit]") {
    CHECK(load("").config.export_.mode == ExportMode::copy);
    CHECK(load("export: {mode: balance}").config.export_.mode == ExportMode::balance);
    CHECK(load("export: {mode: failover}").config.export_.mode == ExportMode::failover);
    CHECK(refusal("export: {mode: all}")
              .find("export.mode is all; must be copy, balance or "
                    "failover (") != std::string::npos);
    const auto collector = [](const std::string& keys) {
        return load("inputs: [{device: net_null0}]\nexport: {collectors: [{host: h" + keys + "}]}",
                    {}, ConfigUse::probe)
            .config.export_.collectors[0];
    };
    CHECK_FALSE(collector("").observation_domain.has_value());
    CHECK_FALSE(collector("").timestamps.has_value());
    CHECK(collector("").buffer == 4'194'304);
    CHECK(collector(", observation-domain: 0").observation_domain == 0U);
    CHECK_FALSE(collector(", observation-domain: inherit").observation_domain.has_value());
    CHECK(collector(", timestamps: nanoseconds").timestamps == TimestampUnit::nanoseconds);
    CHECK(collector(", buffer: 65536").buffer == 65'536);
    CHECK(set_in_probe("export.collectors.0.observation-domain=-1")
              .find("observation-domain is -1; must be inherit or a whole number from 0 to "
                    "4294967295 (") != std::string::npos);
    CHECK(set_in_probe("export.collectors.0.timestamps=seconds")
              .find("timestamps is seconds; must be inherit or milliseconds, microseconds or "
                    "nanoseconds (") != std::string::npos);
    CHECK(set_in_probe("export.collectors.0.buffer=65535").find("; must be a whole number from") !=
          std::string::npos);
}

TEST_CASE("load_config: a probe needs a collector, and no two that are the same", "[conf][unit]") {
    CHECK(probe_refusal("inputs: [{device: net_null0}]\n") ==
          "probe.yaml:1: export.collectors is empty; must have one item (such as {host: "
          "192.0.2.1})");
    CHECK(probe_refusal(kProbe, {"export.collectors.1.host=h"}) == "accepted");
    CHECK(probe_refusal(kProbe, {"export.collectors.1={host: h}",
                                 "export.collectors.2={host: h, "
                                 "transport: tcp}"}) == "accepted");
    CHECK(
        probe_refusal(kProbe, {"export.collectors.1={host: h}", "export.collectors.2={host: h}"}) ==
        "--set export.collectors.2={host: h}: export.collectors.2 is at h, port 4739, udp; must "
        "differ from export.collectors.1 (it would get its records twice)");
    CHECK(probe_refusal(kProbe, {"export.collectors.1={host: h, port: 9, transport: tcp}",
                                 "export.collectors.2={host: h, port: 9, transport: tls}"})
              .find(" is at h, port 9, tls; must differ from export.collectors.1 ") !=
          std::string::npos);
    CHECK(probe_refusal(kProbe, {"export.collectors.1={transport: tcp}"})
              .find("export.collectors.1.host is missing") != std::string::npos);
    std::vector<std::string> many;
    for (int i = 1; i <= 16; ++i) {
        many.push_back("export.collectors." + std::to_string(i) + ".host=h" + std::to_string(i));
    }
    CHECK(probe_refusal(kProbe, many)
              .find("export.collectors has 17 items; must have at most "
                    "16") != std::string::npos);
}

TEST_CASE("load_config: a collector has what its transport needs", "[conf][unit]") {
    CHECK(collector_judged("host: h, transport: tcp") == "accepted");
    CHECK(collector_judged("path: /tmp/a, transport: file") == "accepted");
    CHECK(collector_judged("port: 4739") ==
          "probe.yaml:4: export.collectors.0.host is missing; must be the collector's name or "
          "address (or transport must be file)");
    CHECK(collector_judged("host: '', transport: tcp") ==
          "probe.yaml:4: export.collectors.0.host is missing; must be the collector's name or "
          "address (or transport must be file)");
    CHECK(collector_judged("transport: file") ==
          "probe.yaml:4: export.collectors.0.path is missing; must be the path of the file to "
          "write (transport is file)");
    CHECK(
        collector_judged("transport: file, path: a, host: h") ==
        "probe.yaml:4: export.collectors.0.host is given, but transport is file; must be left out "
        "(or transport udp, tcp or tls)");
    CHECK(
        collector_judged("transport: file, path: a, port: 4739") ==
        "probe.yaml:4: export.collectors.0.port is given, but transport is file; must be left out "
        "(or transport udp, tcp or tls)");
    CHECK(collector_judged("transport: file, path: a, port: auto") == "accepted");
    CHECK(collector_judged("host: a, transport: tcp, udp-segmentation: true") ==
          "probe.yaml:4: export.collectors.0.udp-segmentation is true, but transport is not udp; "
          "must be left out (a stream has no datagrams)");
    CHECK(collector_judged("host: a, transport: tcp, mtu: 9000") ==
          "probe.yaml:4: export.collectors.0.mtu is given, but transport is not udp; must be left "
          "out (a stream has no datagrams)");
    CHECK(collector_judged("host: a, transport: tcp, spool: {max-size: 10000000}") ==
          "probe.yaml:4: export.collectors.0.spool.max-size is given, but spool.directory is not; "
          "must be left out (without a directory there is no spool)");
    CHECK(collector_judged("transport: file, path: a, source-address: 192.0.2.1") ==
          "probe.yaml:4: export.collectors.0.source-address is given, but transport is file; must "
          "be left out (or transport udp, tcp or tls)");
    CHECK(
        collector_judged("host: h, path: a") ==
        "probe.yaml:4: export.collectors.0.path is given, but transport is not file; must be left "
        "out (or transport file)");
}

TEST_CASE("collectors: a host is an address or what can be a name", "[conf][unit]") {
    for (const char* good : {"h", "collector-1.example.net", "_ipfix.example.", "192.0.2.1", "::1",
                             "'fe80::1%eth0'", "2001:db8::7", "4739.example"}) {
        CHECK(collector_judged("host: " + std::string(good)) == "accepted");
    }
    for (const char* bad : {"'127.0.0.1:4739'", "'[::1]'", "999.1.1.1", "1.2.3", "a b", "a/b",
                            "'::g'", "'%eth0:1'"}) {
        CHECK(collector_judged("host: " + std::string(bad)).find(".host is ") != std::string::npos);
    }
}

TEST_CASE("collectors: source address and host are of one IP version", "[conf][unit]") {
    CHECK(collector_judged("host: 192.0.2.1, source-address: \"::1\"") ==
          "probe.yaml:4: export.collectors.0.source-address is ::1, but host is 192.0.2.1; must be "
          "of the same IP version");
    CHECK(collector_judged("host: \"::2\", source-address: \"::1\"") == "accepted");
    CHECK(collector_judged("host: name, source-address: \"::1\"") == "accepted");
}

TEST_CASE("collectors: two spellings of a file are one file", "[conf][unit]") {
    CHECK(
        collector_judged("transport: file, path: /a/z}\n    - {transport: file, path: /a/../a/./z")
            .find("export.collectors.1 is at /a/z; must differ") != std::string::npos);
}

TEST_CASE("export: enterprise numbers of other elements are refused", "[conf][unit]") {
    CHECK(refusal("export: {enterprise-number: 29305}").find("is 29305; must be another one") !=
          std::string::npos);
    CHECK(refusal("export: {enterprise-number: 35632}").find("is 35632; must be another one") !=
          std::string::npos);
}

TEST_CASE("export: ntop's elements are of analysed TCP", "[conf][unit]") {
    CHECK(refusal("export: {ntop-elements: yes}")
              .find("export.ntop-elements is true, but flows.tcp-analysis is false; must be false "
                    "(or flows.tcp-analysis true)") != std::string::npos);
    CHECK(refusal("flows: {tcp-analysis: yes}\nexport: {ntop-elements: yes}") == "accepted");
}

TEST_CASE("collectors: files rotate by size or time", "[conf][unit]") {
    const auto file = [](const std::string& rotation) {
        return probe_refusal(
            "inputs: [{device: net_null0}]\nexport: {collectors: [{transport: "
            "file, path: a, rotation: " +
            rotation + "}]}");
    };
    CHECK(file("{interval: 300, fsync: true, command: gzip}") == "accepted");
    CHECK(file("{size: 1048576}") == "accepted");
    CHECK(file("{size: 1048575}") ==
          "probe.yaml:2: export.collectors.0.rotation.size is 1048575; must be 0 or at least "
          "1048576");
    const std::string no_rotation =
        " is given, but neither rotation.size nor rotation.interval; must be left out (only "
        "rotation finishes files)";
    CHECK(file("{fsync: true}") ==
          "probe.yaml:2: export.collectors.0.rotation.fsync" + no_rotation);
    CHECK(file("{command: gzip}") ==
          "probe.yaml:2: export.collectors.0.rotation.command" + no_rotation);
    CHECK(set_in_probe("export.collectors.0.rotation.interval=60") ==
          "--set export.collectors.0.rotation.interval=60: export.collectors.0.rotation.interval "
          "is given, but transport is not file; must be left out");
}

TEST_CASE("collectors: TLS has certificates, and a port of its own", "[conf][unit]") {
    const std::string probe = "inputs: [{device: net_null0}]\nexport: {collectors: [{host: h, ";
    const auto collector = [&](const std::string& text) {
        return probe_refusal(probe + text + "}]}");
    };
    CHECK(collector("transport: tls") == "accepted");
    CHECK(collector("transport: tls, tls: {ca: a, certificate: b, key: c, name: d}") == "accepted");
    CHECK(load(probe + "transport: tls}]}", {}, ConfigUse::probe)
              .config.export_.collectors.at(0)
              .port == 4740);
    CHECK(load(probe + "transport: tls, port: 4739}]}", {}, ConfigUse::probe)
              .config.export_.collectors.at(0)
              .port == 4739);
    CHECK(load(probe + "transport: tcp}]}", {}, ConfigUse::probe)
              .config.export_.collectors.at(0)
              .port == 4739);
    CHECK(collector("transport: tcp, tls: {ca: a}") ==
          "probe.yaml:2: export.collectors.0.tls.ca is given, but transport is not tls; must be "
          "left out");
    CHECK(collector("transport: tls, tls: {certificate: b}") ==
          "probe.yaml:2: export.collectors.0.tls.key is missing; must be the file of "
          "tls.certificate's private key");
    CHECK(collector("transport: tls, tls: {key: c}") ==
          "probe.yaml:2: export.collectors.0.tls.certificate is missing; must be the file of the "
          "certificate that tls.key belongs to");
}

TEST_CASE("collectors: a spool is for streams, and not for failover", "[conf][unit]") {
    const auto collector = [](const std::string& text, const std::string& mode = "copy") {
        return probe_refusal("inputs: [{device: net_null0}]\nexport: {mode: " + mode +
                             ", collectors: [{host: h, spool: {directory: /var/spool/a}, " + text +
                             "}]}");
    };
    CHECK(collector("transport: tcp") == "accepted");
    CHECK(collector("transport: tls", "balance") == "accepted");
    CHECK(collector("transport: udp") ==
          "probe.yaml:2: export.collectors.0.spool.directory is given, but transport is "
          "none of tcp, tls and kafka; must be left out");
    CHECK(
        collector("transport: tcp", "failover") ==
        "probe.yaml:2: export.collectors.0.spool.directory is given, but export.mode is failover; "
        "must be left out (the collectors have one in common: export.spool)");
    CHECK(collector("transport: tcp, buffer: 8388608") == "accepted");
    CHECK(collector("transport: tcp, buffer: 1073741824") ==
          "probe.yaml:2: export.collectors.0.spool.max-size is 1073741824, but buffer is "
          "1073741824; must be at least twice as much");
    CHECK(collector(
              "transport: tcp}, {host: i, transport: tcp, spool: {directory: /var//spool/a/}") ==
          "probe.yaml:2: export.collectors.1.spool.directory is that of export.collectors.0 too; "
          "must be a directory of its own");
    CHECK(set_in_probe("export.collectors.0.spool.max-size=8388607")
              .find("must be a whole number from 8388608 to") != std::string::npos);
}

TEST_CASE("collectors: a group has a spool with failover alone", "[conf][unit]") {
    const auto group = [](const std::string& text, const std::string& buffer = "65536") {
        return probe_refusal("inputs: [{device: net_null0}]\nexport: {" + text +
                             ",\n collectors: [{host: h, buffer: " + buffer + "}, {host: i}]}");
    };
    CHECK(group("mode: failover, spool: {directory: /var/spool/a}") == "accepted");
    CHECK(group("mode: failover, spool: {directory: ''}") == "accepted");
    CHECK(group("mode: balance, spool: {directory: /var/spool/a}") ==
          "probe.yaml:2: export.spool.directory is given, but export.mode is not failover; must be "
          "left out (or mode failover; a collector may have a spool of its own)");
    CHECK(group("mode: failover, spool: {max-size: 10000000}") ==
          "probe.yaml:2: export.spool.max-size is given, but spool.directory is not; must be left "
          "out (without a directory there is no spool)");
    CHECK(group("mode: failover, spool: {directory: /a, max-size: 16777216}", "8388609") ==
          "probe.yaml:2: export.spool.max-size is 16777216, but a collector's buffer is 8388609; "
          "must be at least twice as much");
    CHECK(group("mode: failover, spool: {directory: /a, max-size: 8388607}")
              .find("must be a whole number from 8388608 to") != std::string::npos);
}

TEST_CASE("collectors: biflows whole or split, where there are some", "[conf][unit]") {
    const auto collector = [](const std::string& cache, const std::string& direction) {
        return probe_refusal("inputs: [{device: net_null0}]\nflows: {direction: " + cache +
                             "}\nexport: {collectors: [{host: h, direction: " + direction + "}]}");
    };
    CHECK(collector("biflow", "biflow") == "accepted");
    CHECK(collector("biflow", "uniflow") == "accepted");
    CHECK(collector("uniflow", "uniflow") == "accepted");
    CHECK(collector("uniflow", "inherit") == "accepted");
    CHECK(collector("uniflow", "biflow") ==
          "probe.yaml:3: export.collectors.0.direction is biflow, but flows.direction is uniflow; "
          "must be uniflow or inherit (or flows.direction biflow)");
}

TEST_CASE("collectors: a rate is for UDP, and what a collector reads is its own", "[conf][unit]") {
    const auto collector = [](const std::string& keys) {
        return load("inputs: [{device: net_null0}]\nexport: {collectors: [{host: h" + keys + "}]}",
                    {}, ConfigUse::probe)
            .config.export_.collectors[0];
    };
    CHECK_FALSE(collector("").rate.has_value());
    CHECK_FALSE(collector(", rate: auto").rate.has_value());
    CHECK(collector(", rate: 0").rate == 0U);
    CHECK(collector(", rate: 250000").rate == 250'000U);
    CHECK(collector("").sampling == SamplingForm::all);
    CHECK(collector(", sampling: netflow").sampling == SamplingForm::netflow);
    CHECK(collector(", sampling: netflow-where-sampled").sampling ==
          SamplingForm::netflow_where_sampled);
    CHECK(collector("").options == OptionsChoice{});
    CHECK(collector(", options: [interfaces, types]").options ==
          OptionsChoice{.reliability = false, .statistics = false, .flow_keys = false});
    CHECK(collector("").enterprise_elements);
    CHECK_FALSE(collector(", enterprise-elements: no").enterprise_elements);
    CHECK_FALSE(collector("").cert_elements);
    CHECK(collector(", cert-elements: yes").cert_elements);
    CHECK(collector("").tcp_control_bits == 2);
    CHECK(collector(", tcp-control-bits: 1").tcp_control_bits == 1);
    CHECK(collector_judged("host: a, rate: 999") ==
          "probe.yaml:4: export.collectors.0.rate is 999; must be auto, 0 or at least 1000");
    CHECK(collector_judged("host: a, transport: tcp, rate: 0") ==
          "probe.yaml:4: export.collectors.0.rate is given, but transport is not udp; must be left "
          "out (a stream's collector takes what it can)");
    CHECK(
        collector_judged("host: a, rate: fast").find("must be auto or a whole number from 0 to") !=
        std::string::npos);
    CHECK(collector_judged("host: a, tcp-control-bits: 3")
              .find("must be a whole number from 1 to 2") != std::string::npos);
    CHECK(collector_judged("host: a, sampling: sflow")
              .find("must be all, rfc5477, netflow, "
                    "netflow-where-sampled or none") != std::string::npos);
}

TEST_CASE("collectors: a format is one that the transport carries, without IPFIX's own keys",
          "[conf][unit]") {
    const auto has = [](const std::string& collector, const std::string& fault) {
        const std::string text = collector_judged(collector);
        INFO(text);
        CHECK(text.find(fault) != std::string::npos);
    };
    CHECK(collector_judged("host: a, port: 5170, transport: tcp, format: json") == "accepted");
    CHECK(
        collector_judged("host: a, port: 5170, transport: tls, format: json, direction: uniflow") ==
        "accepted");
    CHECK(collector_judged("transport: file, path: /x, format: json, timestamps: nanoseconds") ==
          "accepted");
    CHECK(collector_judged("transport: file, path: /x, format: csv, enterprise-elements: false") ==
          "accepted");
    has("host: a, port: 5170, format: json", ".format is json, but transport is udp;");
    has("host: a, port: 5170, transport: tcp, format: csv", ".format is csv, but transport is not");
    has("host: a, transport: tcp, format: json", ".port is missing;");
    has("transport: file, path: /x, format: json, profile: nfdump", ".profile is given, but");
    has("transport: file, path: /x, format: json, options: []", ".options is given, but");
    has("transport: file, path: /x, format: json, sampling: none", ".sampling is given, but");
    has("transport: file, path: /x, format: json, tcp-control-bits: 1", ".tcp-control-bits is");
    has("transport: file, path: /x, format: csv, timestamps: nanoseconds", ".timestamps is given");
    has("transport: file, path: /x, format: csv, cert-elements: true", ".cert-elements is given");
    has("host: a, format: xml", ".format is xml; must be ipfix, json");
}

TEST_CASE("export: a probe has a name, and an address of IPv4 or IPv6", "[conf][unit]") {
    const auto probe = [](const std::string& keys) {
        return load("export: {probe: {" + keys + "}}").config.export_.probe;
    };
    CHECK(probe("name: west-1, address: 192.0.2.9") ==
          ProbeIdentity{.name = "west-1", .address = "192.0.2.9"});
    CHECK(probe("address: \"2001:db8::9\"").address == "2001:db8::9");
    CHECK(probe("") == ProbeIdentity{.name = {}, .address = {}});
    CHECK(refusal("export: {probe: {address: here}}")
              .find("export.probe.address is here; must be "
                    "an IP address") != std::string::npos);
}

TEST_CASE("collectors: the key of a topic's messages", "[conf][unit]") {
    const std::string topic = "transport: kafka, brokers: 'h:1', topic: t, ";
    const std::string place = "probe.yaml:4: export.collectors.0.key is ";
    const auto kafka = [&topic](const std::string& keys) {
        return load("inputs: [{device: net_null0}]\nexport: {collectors: [{" + topic + keys + "}]}",
                    {}, ConfigUse::probe)
            .config.export_.collectors[0]
            .kafka;
    };
    CHECK(kafka("format: json").key == KafkaKey::flow);
    CHECK(kafka("format: json, key: none").key == KafkaKey::none);
    CHECK(kafka("format: json, key: sourceIPAddress").key == KafkaKey::field);
    CHECK(kafka("format: json, key: sourceIPAddress").key_field == "sourceIPAddress");
    CHECK(collector_judged(topic + "format: flowmessage, key: ingressInterface") == "accepted");
    const auto refused = [&](const std::string& key, const std::string& help) {
        const std::string line = collector_judged(topic + "format: json, key: " + key);
        CHECK(line.starts_with(place + key + "; must be flow, none or the name of an element ("));
        CHECK(line.ends_with("default flow)" + help));
    };
    refused("flows", "; did you mean flow?");
    refused("sourceIpv4Address", "; did you mean sourceIPv4Address?");
    refused("sourceAddress", "; did you mean sourceIPAddress?");
    refused("xyz", "");
    for (const std::string format : {"ipfix", "rawflow"}) {
        CHECK(refusal("inputs: [{device: net_null0}]\nexport:\n  probe: {address: 192.0.2.1}\n"
                      "  collectors: [{" +
                          topic + "format: " + format + ", key: vlanId}]\n",
                      {}, ConfigUse::probe) ==
              "probe.yaml:4: export.collectors.0.key is vlanId, but format is " + format +
                  "; must be flow or none (or format json or flowmessage, of which a message has "
                  "one record)");
    }
    CHECK(
        collector_judged("host: h, key: vlanId") ==
        "probe.yaml:4: export.collectors.0.key is given, but transport is not kafka; must be left "
        "out");
}

TEST_CASE("collectors: brokers are names or addresses with ports", "[conf][unit]") {
    const auto with = [](const std::string& brokers) {
        return collector_judged("transport: kafka, topic: t, format: json, brokers: '" + brokers +
                                "'");
    };
    for (const std::string good :
         {"a", "a:1", "a:65535,b", "192.0.2.1:9092", "[::1]", "[2001:db8::1]:9",
          "[fe80::1%eth0]:9092", "kafka-1.example.net:9093"}) {
        INFO(good);
        CHECK(with(good) == "accepted");
    }
    struct Row {
        const char* brokers;
        const char* help;
    };
    for (const Row& row :
         {Row{"a:99999", ""}, Row{"a:0", ""}, Row{":1", ""}, Row{"a:", ""}, Row{",", ""},
          Row{"a:x", ""}, Row{"[a]:1", ""}, Row{"192.0.2:1", ""},
          Row{"a:1,,b:2", "; did you mean a:1,b:2?"}, Row{"a:1, b:2", "; did you mean a:1,b:2?"},
          Row{"SSL://a:1",
              "; brokers have no SCHEME:// in front: properties has "
              "security.protocol"},
          Row{"2001:db8::1", "; an IPv6 address stands in brackets: [2001:db8::1]:9092"}}) {
        INFO(row.brokers);
        CHECK(with(row.brokers) ==
              "probe.yaml:4: export.collectors.0.brokers is " + std::string(row.brokers) +
                  "; must be HOST:PORT, HOST or [IPV6]:PORT, several with commas between them, or "
                  "\"\" (some brokers of the cluster, for transport kafka; without a port it is "
                  "9092)" +
                  row.help);
    }
}

TEST_CASE("collectors: topics have names that brokers take", "[conf][unit]") {
    const auto with = [](const std::string& topic) {
        return collector_judged("transport: kafka, format: json, brokers: h, topic: '" + topic +
                                "'");
    };
    for (const std::string& good : {std::string("flows"), std::string("a.b_c-9"),
                                    std::string("..."), std::string(249, 't')}) {
        CHECK(with(good) == "accepted");
    }
    for (const std::string& bad :
         {std::string("."), std::string(".."), std::string("a b"), std::string("a/b"),
          std::string("fl\u00f6we"), std::string(250, 't')}) {
        INFO(bad);
        CHECK(
            with(bad).find("; must be at most 249 letters, digits, dots, underscores and hyphens, "
                           "neither . nor .., or \"\" (") != std::string::npos);
    }
}

TEST_CASE("collectors: a topic of one cluster is one place, whichever brokers are named",
          "[conf][unit]") {
    const auto two = [](const std::string& first, const std::string& second,
                        const std::string& topic = "t") {
        return refusal(
            "inputs: [{device: net_null0}]\nexport:\n  collectors:\n"
            "  - {transport: kafka, topic: t, brokers: '" +
                first +
                "'}\n"
                "  - {transport: kafka, topic: " +
                topic + ", brokers: '" + second + "'}\n",
            {}, ConfigUse::probe);
    };
    const auto twice = [](const std::string& brokers) {
        return "probe.yaml:5: export.collectors.1 is at " + brokers +
               ", topic t; must differ from export.collectors.0 (it would get its records twice)";
    };
    CHECK(two("a:1,b:2", "b:2,a:1") == twice("b:2,a:1"));
    CHECK(two("a:1,b:2", "B:2,c:3") == twice("B:2,c:3"));
    CHECK(two("a", "a:9092") == twice("a:9092"));
    CHECK(two("a:1,b:2", "a:2,b:1") == "accepted");
    CHECK(two("a:1,b:2", "b:2,a:1", "other") == "accepted");
}

TEST_CASE("collectors: a property that is not permitted is named, its value is not",
          "[conf][unit]") {
    const auto with = [](const std::string& keys) {
        return collector_judged("transport: kafka, topic: t, format: json, brokers: h, " + keys);
    };
    const std::string place = "probe.yaml:4: export.collectors.0.";
    CHECK(with("properties: {linger.ms: 5, sasl.password: hush}") ==
          place +
              "properties.sasl.password is a secret: it belongs in secrets, with the path of a "
              "file that has the value");
    CHECK(with("properties: {bootstrap.servers: h}") ==
          place + "properties.bootstrap.servers has a key of its own: brokers");
    CHECK(with("properties: {compression.codec: lz4}") ==
          place + "properties.compression.codec has a key of its own: compression");
    CHECK(
        with("properties: {transactional.id: x}")
            .find(
                "properties.transactional.id must be left out (the probe begins no transactions") !=
        std::string::npos);
    CHECK(with("properties: {linger.ms: [5]}") ==
          place + "properties.linger.ms is no text; must be text");
    CHECK(with("properties: {linger.ms: }") ==
          place + "properties.linger.ms has no value; must be text");
    CHECK(with("properties: {client.id: \"hu\\nsh\"}") ==
          place + "properties.client.id cannot be used: it has a line end");
    CHECK(with("secrets: {linger.ms: 5}") ==
          place +
              "secrets.linger.ms is no secret property of librdkafka; it belongs in "
              "properties");
    CHECK(with("properties: 5").find("properties is 5; must be a map of librdkafka's properties") !=
          std::string::npos);
}

TEST_CASE("collectors: an element that no record has is no key", "[conf][unit]") {
    const auto with = [](const std::string& element, const std::vector<std::string>& sets) {
        return probe_refusal(
            "inputs: [{device: net_null0}, {device: net_null1}]\n"
            "export: {collectors: [{transport: kafka, brokers: 'h:1', topic: t, format: json, "
            "key: " +
                element + "}]}\n",
            sets);
    };
    const auto refused = [](const std::string& element) {
        return "probe.yaml:2: export.collectors.0.key is " + element +
               ", but no record has this element; must be flow, none or an element that records "
               "have (export.fields and flows decide)";
    };
    struct Row {
        const char* element;
        const char* set;  ///< with which records have it
    };
    for (const Row& row :
         {Row{"tunnelId", "flows.tunnel=inner"},
          Row{"tcpSynTotalCount", "export.fields=[tcp-counts]"},
          Row{"tcpFinTotalCount", "export.fields=[tcpFinTotalCount]"},
          Row{"biflowDirection", "flows.direction=biflow"},
          Row{"flowStartNanoseconds", "export.timestamps=nanoseconds"},
          Row{"selectorId", "inputs.1.sampling=7"}, Row{"segments", "flows.tcp-analysis=true"},
          Row{"unionTCPFlags", "export.collectors.0.cert-elements=true"}}) {
        CHECK(with(row.element, {}) == refused(row.element));
        CHECK(with(row.element, {row.set}) == "accepted");
    }
    CHECK(with("vlanId", {}) == "accepted");
    CHECK(with("vlanId", {"flows.vlan-in-key=false"}) == refused("vlanId"));
    CHECK(
        with("tunnelId", {"flows.tunnel=inner", "export.collectors.0.enterprise-elements=false"}) ==
        refused("tunnelId"));
    CHECK(with("biflowDirection",
               {"flows.direction=biflow", "export.collectors.0.direction=uniflow"}) ==
          refused("biflowDirection"));
    CHECK(with("biflowDirection",
               {"flows.direction=biflow", "export.collectors.0.format=flowmessage"}) ==
          refused("biflowDirection"));
}
