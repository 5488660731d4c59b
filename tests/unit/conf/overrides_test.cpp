// SPDX-License-Identifier: Apache-2.0
#include "conf/overrides.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/conf/config_harness.hpp"

namespace tributary {

TEST_CASE("--set: changes what the file says, and what it does not say", "[conf][unit]") {
    CHECK(load("read: {queues: 3}\n", {"read.queues=5"}).config.read.queues == 5);
    CHECK(load("", {"read.queues=5"}).config.read.queues == 5);
    CHECK(load("read:\n", {"read.queues=5"}).config.read.queues == 5);
    CHECK(load("", {"read.queues=5", "read.queues=6"}).config.read.queues == 6);
}

TEST_CASE("--set: the value is YAML", "[conf][unit]") {
    const Config config =
        load("", {"export.fields=[extremes, layer2]", "flows={max-flows: 7}"}).config;
    CHECK(config.export_.fields == groups_of<ExtremesGroup, Layer2Group>());
    CHECK(config.flows.max_flows == 7);
}

TEST_CASE("--set: reaches into lists, and adds the next item", "[conf][unit]") {
    const Config config = load(kProbe,
                               {"inputs.0.queues=4", "inputs.1.device=net_null1",
                                "inputs.1.queues=3", "export.collectors.0.port=2055"},
                               ConfigUse::probe)
                              .config;
    REQUIRE(config.inputs.size() == 2);
    CHECK(config.inputs[0].queues == 4);
    CHECK(config.inputs[0].device == "net_null0");
    CHECK(config.inputs[1].queues == 3);
    CHECK(config.inputs[1].device == "net_null1");
    CHECK(config.export_.collectors.at(0).port == 2055);
}

TEST_CASE("--set: a value outside the limits is refused at its place", "[conf][unit]") {
    CHECK(refusal("flows: {max-flows: 5}\n", {"flows.idle-timeout=0"}) ==
          "--set flows.idle-timeout=0: flows.idle-timeout is 0; must be a whole number of seconds "
          "from 1 to 2147483648 (a flow without a packet for this long is exported; default 30)");
    CHECK(refusal("", {"flows.idle-timeot=3"}) ==
          "--set flows.idle-timeot=3: flows.idle-timeot is not a key; did you mean "
          "flows.idle-timeout?");
    CHECK(refusal("", {"read.queues="}) ==
          "--set read.queues=: read.queues is without a value; must be a whole number from 1 to "
          "256 (threads that share the packets of captures, for --read; default 1)");
    CHECK(refusal("", {"=1"}) ==
          "--set =1: a key and a value must stand here, such as flows.idle-timeout=30");
}

TEST_CASE("--set: a path that cannot be is refused", "[conf][unit]") {
    CHECK(
        refusal(kProbe, {"inputs.2.queues=4"}) ==
        "--set inputs.2.queues=4: inputs has 1 items, none has number 2; must be at most 1 (which "
        "adds an item)");
    CHECK(
        refusal(kProbe, {"inputs.uplink.queues=4"}) ==
        "--set inputs.uplink.queues=4: inputs is a list, and uplink no number of an item; must be "
        "0 for the first item");
    CHECK(refusal("read: {queues: 3}\n", {"read.queues.x=4"}) ==
          "--set read.queues.x=4: read.queues is 3, a value; must be a map or list to have x "
          "inside");
    CHECK(
        refusal("", {"a.b.c.d.e.f.g.h.i=1"}) ==
        "--set a.b.c.d.e.f.g.h.i=1: a.b.c.d.e.f.g.h.i is not a key; no key has more than 8 parts");
    CHECK(
        refusal("", {"cores..input=1"}) ==
        "--set cores..input=1: cores. is not a key; must be one of: export, input, helpers, numa");
}

TEST_CASE("--set: its YAML is judged like the file's", "[conf][unit]") {
    CHECK(
        refusal("", {"flows={a: 1, a: 2}"}) ==
        "--set flows={a: 1, a: 2}: flows.a is given twice, first in --set flows={a: 1, a: 2}; must "
        "be given once (remove one)");
    CHECK(refusal("", {"flows=[1"}) ==
          "--set flows=[1: this is not YAML: end of sequence flow not found (see brackets, quotes "
          "and indentation up to here)");
    CHECK(refusal("", {"flows\xFF=1"}) ==
          "--set flows?=1: there are bytes that are no text; must be UTF-8");
}

TEST_CASE("--set: what may have a secret is not shown", "[conf][unit]") {
    constexpr const char* kToKafka =
        "inputs: [{device: net_null0}]\n"
        "export: {collectors: [{transport: kafka, brokers: 'a:1', topic: t, format: json}]}\n";
    const std::string whole =
        "export.collectors=[{transport: kafka, brokers: 'a:1', topic: t, "
        "properties: {sasl.password: hunter2}}]";
    for (const std::string& set :
         {whole, std::string("export.collectors.0.properties={sasl.password: hunter2}"),
          std::string("export.collectors.0.properties={sasl.password: hunter2"),
          std::string("export.collectors.0.properties.sasl.password=hunter2")}) {
        const std::string words = probe_refusal(kToKafka, {set});
        INFO(words);
        CHECK(words.find("--set export.collectors") != std::string::npos);
        CHECK(words.find("(its value is not shown)") != std::string::npos);
        CHECK(words.find("hunter2") == std::string::npos);
    }
}

TEST_CASE("-i and -n: one input and one UDP collector, the rest at its default", "[conf][unit]") {
    const std::vector<std::string> one{"192.0.2.1"};
    const Config config = quick_config("af_packet:eth0", one, {}).config;
    REQUIRE(config.inputs.size() == 1);
    CHECK(config.inputs[0].device == "af_packet:eth0");
    CHECK(config.inputs[0].name == "af_packet:eth0");
    CHECK(config.inputs[0].interface_index == 1);
    REQUIRE(config.export_.collectors.size() == 1);
    CHECK(config.export_.collectors[0].transport == TransportKind::udp);
    CHECK(config.export_.collectors[0].host == "192.0.2.1");
    CHECK(config.export_.collectors[0].port == 4739);
}

TEST_CASE("-i and -n: values are refused at their place", "[conf][unit]") {
    const auto quick_refusal = [](const char* device, const char* collector) {
        const std::vector<std::string> collectors{collector};
        try {
            (void)quick_config(device, collectors, {});
        } catch (const ConfigError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    CHECK(quick_refusal("eth0", "h") ==
          "-i eth0: inputs.0.device is eth0; must be a PCI address, af_packet:IFNAME, "
          "af_xdp:IFNAME or a DPDK vdev string (where packets come from, such as 0000:81:00.0, "
          "af_packet:eth0 or net_tap0); did you mean af_packet:eth0?");
    CHECK(quick_refusal("net_null0", "h:0") ==
          "-n h:0: export.collectors.0.port is 0; must be auto or a whole number from 1 to 65535 "
          "(the collector's port; auto is 4739, and 4740 for tls; not for file and kafka; default "
          "auto)");
    CHECK(quick_refusal("net_null0", "[::1") ==
          "-n [::1: this is no address; must be HOST:PORT, [IPV6]:PORT or HOST");
    CHECK(quick_refusal("net_null0", "ftp://h") ==
          "-n ftp://h: ftp:// is no transport; must be udp://, tcp:// or tls:// (--write FILE "
          "writes a file)");
    CHECK(quick_refusal("net_null0", "tcp://") ==
          "-n tcp://: this is no address; must be HOST:PORT, [IPV6]:PORT or HOST");
    CHECK(quick_refusal("net_null0", "tcp://h:99999")
              .starts_with("-n tcp://h:99999: export.collectors.0.port is 99999; must be "));
    CHECK(quick_refusal("net_null0", "no host")
              .starts_with("-n no host: export.collectors.0.host is no host; must be "));
}

TEST_CASE("-n: transports, addresses and several collectors, and --set changes them",
          "[conf][unit]") {
    const std::vector<std::string> collectors{"udp://[2001:db8::1]:2055", "tcp://h", "tls://h",
                                              "192.0.2.1:9995"};
    const std::vector<std::string> sets{"export.collectors.1.timestamps=microseconds",
                                        "export.mode=balance"};
    for (const ExportOptions& options : {quick_config("net_null0", collectors, sets).config.export_,
                                         captures_config({}, collectors, sets).config.export_}) {
        REQUIRE(options.collectors.size() == 4);
        CHECK(options.mode == ExportMode::balance);
        CHECK(options.collectors[0].transport == TransportKind::udp);
        CHECK(options.collectors[0].host == "2001:db8::1");
        CHECK(options.collectors[0].port == 2055);
        CHECK(options.collectors[1].transport == TransportKind::tcp);
        CHECK(options.collectors[1].port == 4739);
        CHECK(options.collectors[1].timestamps == TimestampUnit::microseconds);
        CHECK(options.collectors[2].transport == TransportKind::tls);
        CHECK(options.collectors[2].port == 4740);
        CHECK(options.collectors[3].port == 9995);
    }
}

TEST_CASE("--read and -n: the collectors of -n are the only ones, and inputs are not read",
          "[conf][unit]") {
    const std::vector<std::string> collectors{"192.0.2.1"};
    const std::string path = TRIBUTARY_SOURCE "/conf/examples/af-packet.yaml";
    const Config config = captures_config(path, collectors, {}).config;
    CHECK(config.inputs.empty());
    REQUIRE(config.export_.collectors.size() == 1);
    CHECK(config.export_.collectors[0].host == "192.0.2.1");
    const std::vector<std::string> twice{"h", "udp://h:4739"};
    CHECK_THROWS_AS(captures_config({}, twice, {}), ConfigError);
}

}  // namespace tributary
