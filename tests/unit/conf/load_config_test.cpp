// SPDX-License-Identifier: Apache-2.0
#include "conf/load_config.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "conf/dump_config.hpp"
#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

constexpr const char* kTwoInputs =
    "export: {collectors: [{host: h}]}\n"
    "inputs:\n"
    "  - {device: net_null0, queues: 2}\n"
    "  - device: net_null1\n";

}  // namespace

TEST_CASE("load_config: an empty file means every default", "[conf][unit]") {
    const std::string defaults = dump_config(Config{});
    for (const char* text :
         {"", "\n", "# nothing\n", "---\n", "...\n", "{}", "~", "flows:\nexport:\n"}) {
        CAPTURE(text);
        const LoadedConfig loaded = load(text);
        CHECK(dump_config(loaded.config) == defaults);
        CHECK(loaded.warnings.empty());
    }
}

TEST_CASE("load_config: inputs get a name and an interface index", "[conf][unit]") {
    const Config config =
        load(
            "export: {collectors: [{host: h}]}\n"
            "inputs: [{device: net_null0}, {device: net_null1, name: b, interface-index: 7}]\n",
            {}, ConfigUse::probe)
            .config;
    REQUIRE(config.inputs.size() == 2);
    CHECK(config.inputs[0].name == "net_null0");
    CHECK(config.inputs[0].interface_index == 1);
    CHECK(config.inputs[1].name == "b");
    CHECK(config.inputs[1].interface_index == 7);
}

TEST_CASE("load_config: a probe needs inputs with devices", "[conf][unit]") {
    CHECK(probe_refusal("") ==
          "probe.yaml: inputs is empty; must have at least one item (such as {device: "
          "\"af_packet:eth0\"})");
    CHECK(probe_refusal("\ninputs: []\n") ==
          "probe.yaml:2: inputs is empty; must have at least one item (such as {device: "
          "\"af_packet:eth0\"})");
    CHECK(probe_refusal("inputs:\n  - device: net_null0\n  - queues: 4\n") ==
          "probe.yaml:3: inputs.1.device is missing; must be a PCI address, af_packet:IFNAME, "
          "af_xdp:IFNAME or a DPDK vdev string");
}

TEST_CASE("load_config: inputs differ in device, name and interface index", "[conf][unit]") {
    const auto with = [](const std::string& key_value) {
        return probe_refusal(kTwoInputs, {key_value});
    };
    CHECK(probe_refusal(kTwoInputs) == "accepted");
    CHECK(with("inputs.1.device=net_null0") ==
          "--set inputs.1.device=net_null0: inputs.1.device is net_null0; must differ from "
          "inputs.0.device (more queues, not more inputs, share the packets of one device)");
    CHECK(with("inputs.1.name=net_null0") ==
          "--set inputs.1.name=net_null0: inputs.1.name is net_null0; must differ from "
          "inputs.0.name (logs and metrics tell inputs apart by it)");
    CHECK(with("inputs.0.interface-index=2") ==
          "probe.yaml:4: inputs.1.interface-index is 2; must differ from inputs.0.interface-index "
          "(collectors tell inputs apart by it)");
}

TEST_CASE("load_config: explicit input cores are as many as queues", "[conf][unit]") {
    CHECK(probe_refusal(kTwoInputs, {"cores.input=[1, 2, 3]"}) == "accepted");
    CHECK(probe_refusal(kTwoInputs, {"cores.input=auto"}) == "accepted");
    CHECK(probe_refusal(kTwoInputs + std::string("cores: {input: [1, 2]}\n")) ==
          "probe.yaml:5: cores.input has 2 cores; must be 3, one for each queue of the inputs (or "
          "auto)");
}

TEST_CASE("load_config: tunnels part flows only where they are looked into", "[conf][unit]") {
    CHECK(refusal("flows: {tunnel-in-key: yes, tunnel: inner}") == "accepted");
    CHECK(refusal("flows:\n  tunnel-in-key: yes") ==
          "probe.yaml:2: flows.tunnel-in-key is true, but flows.tunnel is outer; must be false (or "
          "flows.tunnel inner)");
}

TEST_CASE("load_config: filters and sampling choose frames, which unified headers are not",
          "[conf][unit]") {
    const auto of_input = [](const std::string& keys) {
        return probe_refusal("export: {collectors: [{host: h}]}\ninputs:\n  - device: net_null0\n" +
                             keys);
    };
    const std::string rest =
        " is given, but parse is unified-header; must be left out (the sender of unified headers "
        "can "
        "choose among them)";
    CHECK(of_input("    parse: trimmed\n    filter: ip\n    sampling: 2\n") == "accepted");
    CHECK(of_input("    parse: unified-header\n    sampling: 1\n") == "accepted");
    CHECK(of_input("    parse: unified-header\n    filter: ip\n") ==
          "probe.yaml:5: inputs.0.filter" + rest);
    CHECK(of_input("    parse: unified-header\n    sampling: 2\n") ==
          "probe.yaml:5: inputs.0.sampling" + rest);
    CHECK(refusal("read: {parse: unified-header, filter: ip}") ==
          "probe.yaml:1: read.filter" + rest);
    CHECK(refusal("read: {parse: unified-header, sampling: 2}") ==
          "probe.yaml:1: read.sampling" + rest);
}

TEST_CASE("load_config: what unified headers do not carry is not asked of them", "[conf][unit]") {
    const auto of_file = [](const std::string& more) {
        return refusal("read: {parse: unified-header}\n" + more);
    };
    const auto of_input = [](const std::string& more) {
        return probe_refusal("inputs: [{device: net_null0, parse: unified-header}]\n" + more);
    };
    const std::string collectors = ", collectors: [{host: h}]}";
    CHECK(of_file("") == "accepted");
    CHECK(of_file("export: {fields: [layer2, extremes, tcp-counts, fragments]}") == "accepted");
    CHECK(of_file("flows: {llc-snap: yes, mpls-pseudowires: yes}") == "accepted");
    CHECK(of_input("export: {fields: [layer2]" + collectors) == "accepted");
    for (const std::string group : {"flow-label", "mpls", "tunnel"}) {
        const std::string named = "probe.yaml:2: export.fields has " + group;
        CHECK(of_file("export: {fields: [layer2, " + group + "]}") ==
              named +
                  ", but read.parse is unified-header; must be without it (unified headers do not "
                  "carry it)");
        CHECK(of_input(std::string("export: {fields: [").append(group).append("]" + collectors)) ==
              named +
                  ", but inputs.0.parse is unified-header; must be without it (unified headers do "
                  "not carry it)");
    }
    CHECK(of_file("flows: {tunnel: inner}") ==
          "probe.yaml:2: flows.tunnel is inner, but read.parse is unified-header; must be outer "
          "(the sender of unified headers decides: tributary preparse --set flows.tunnel=inner)");
    CHECK(of_file("flows: {fragments: track}") ==
          "probe.yaml:2: flows.fragments is track, but read.parse is unified-header; must be zero "
          "(the sender of unified headers tracks them: tributary preparse --set "
          "flows.fragments=track)");
    // Keys that the run does not use are not checked.
    CHECK(probe_refusal(std::string(kProbe) + "  fields: [mpls]\nread: {parse: unified-header}") ==
          "accepted");
}

namespace {

/// The fault that preparse_config() reports, or "accepted".
std::string preparse_refusal(const std::optional<std::string>& device,
                             const std::vector<std::string>& sets) {
    try {
        (void)preparse_config({}, device, sets);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("preparse_config: its device is the one input, and no collector is needed",
          "[conf][unit]") {
    const std::vector<std::string> sets{"inputs.0.queues=4", "inputs.0.parse=trimmed",
                                        "flows.tunnel=inner"};
    const Config config = preparse_config({}, "net_null0", sets).config;
    REQUIRE(config.inputs.size() == 1);
    CHECK(config.inputs[0].device == "net_null0");
    CHECK(config.inputs[0].name == "net_null0");
    CHECK(config.inputs[0].interface_index == 1);
    CHECK(config.inputs[0].queues == 4);
    CHECK(config.inputs[0].parse == ParseMode::trimmed);
    CHECK(config.flows.tunnel == TunnelMode::inner);
    CHECK(preparse_config({}, std::nullopt, {}).config.inputs.empty());
}

TEST_CASE("preparse_config: of a file, inputs and collectors are ignored unread", "[conf][unit]") {
    const std::string path = std::string(TRIBUTARY_SOURCE) + "/conf/examples/";
    const std::vector<std::string> sets{"inputs.0.queues=16"};  // it has 16 cores
    const Config from = preparse_config(path + "probe-100g.yaml", "net_null0", sets).config;
    CHECK(from.inputs.size() == 1);
    CHECK(from.export_.collectors.empty());
    CHECK(preparse_config(path + "probe-100g.yaml", std::nullopt, {}).config.inputs.empty());
    CHECK_THROWS_AS(preparse_config("/nonexistent", std::nullopt, {}), ConfigError);
}

TEST_CASE("preparse_config: it parses packets, of one input, on cores of its own", "[conf][unit]") {
    const std::string rest =
        " is unified-header; must be full or trimmed (unified headers are what tributary preparse "
        "sends)";
    CHECK(preparse_refusal("net_null0", {"inputs.0.parse=unified-header"}) ==
          "--set inputs.0.parse=unified-header: inputs.0.parse" + rest);
    CHECK(preparse_refusal(std::nullopt, {"read.parse=unified-header"}) ==
          "--set read.parse=unified-header: read.parse" + rest);
    CHECK(preparse_refusal("net_null0", {"read.parse=unified-header"}) == "accepted");
    CHECK(preparse_refusal("net_null0", {"inputs.1.device=net_null1"}) ==
          "--set inputs.1.device=net_null1: inputs has 2 items; must be one (--from is it, and "
          "tributary preparse takes no other)");
    CHECK(preparse_refusal("net_null0", {"cores.input=[0, 1]"}) ==
          "--set cores.input=[0, 1]: cores.input has 2 cores; must be 1, one for each queue of the "
          "inputs (or auto)");
    CHECK(preparse_refusal("net null", {})
              .starts_with("--from net null: inputs.0.device is net null; must be "));
}

TEST_CASE("preparse_config: whether packets come from a device or from captures is not a guess",
          "[conf][unit]") {
    // With an input the captures' own keys would not be checked.
    CHECK(preparse_refusal(std::nullopt,
                           {"read.parse=unified-header", "inputs.0.device=net_null0"}) ==
          "--set inputs.0.device=net_null0: inputs is given, but packets come from captures; must "
          "be left out (read.* are the keys for --read)");
    CHECK(preparse_refusal("", {}) ==
          "--from : inputs.0.device is empty; must be a PCI address, af_packet:IFNAME, "
          "af_xdp:IFNAME or a DPDK vdev string (where packets come from, such as 0000:81:00.0, "
          "af_packet:eth0 or net_tap0)");
    CHECK(preparse_refusal("net_null0", {"inputs=[]"}) ==
          "--set inputs=[]: inputs is empty; must have at least one item (such as {device: "
          "\"af_packet:eth0\"})");
}

TEST_CASE("preparse_config: what is in no unified header is not asked for", "[conf][unit]") {
    for (const std::optional<std::string>& device : {std::optional<std::string>("net_null0"), {}}) {
        CHECK(preparse_refusal(device, {"flows.tunnel=inner", "flows.tunnel-in-key=true"}) ==
              "--set flows.tunnel-in-key=true: flows.tunnel-in-key is true, but tributary preparse "
              "makes no flows; must be false (unified headers do not carry tunnels, so no receiver "
              "can tell them apart)");
        CHECK(preparse_refusal(device, {"flows.tunnel=inner"}) == "accepted");
    }
}

TEST_CASE("load_config: places of values are known to later checks", "[conf][unit]") {
    const LoadedConfig loaded = load("flows: {}\nread:\n  filter: tcp\n", {"read.queues=2"});
    CHECK(place_of(loaded.source, "read.filter") == "probe.yaml:3");
    CHECK(place_of(loaded.source, "read.queues") == "--set read.queues=2");
}

TEST_CASE("load_config: offline, inputs and collectors are ignored unread", "[conf][unit]") {
    const Config config =
        load(
            "inputs: [{device: eth0, parse: trimmed}]\n"
            "export: {fields: [layer2], collectors: [{transport: sctp}, {host: b}]}\n"
            "cores: {input: [1, 2, 3]}\n")
            .config;
    CHECK(config.inputs.empty());
    CHECK(config.export_.collectors.empty());
    CHECK(config.export_.fields.has<Layer2Group>());
}

TEST_CASE("load_config: telemetry is served on the loopback address, if not elsewhere",
          "[conf][unit]") {
    CHECK(load("telemetry: {}").config.telemetry.listen == "127.0.0.1:9477");
    CHECK(load("", {"telemetry.listen=0.0.0.0:80"}).config.telemetry.listen == "0.0.0.0:80");
}

TEST_CASE("load_config: every key reaches its member", "[conf][unit]") {
    const Config config = load(R"(
inputs:
  - {name: uplink, device: "0000:81:00.0", interface-index: 5, queues: 8, parse: trimmed, trim-length: 96,
     trimmed-by: source, filter: udp port 53, sampling: 10, sampling-method: random, rss: ip, promiscuous: no, mtu: 9000, rx-descriptors: 8192, mempool-size: 65535}
flows: {max-flows: 7, idle-timeout: 8, active-timeout: 9, direction: biflow, initiator-by-port: yes, vlan-in-key: no, tcp-end: yes, tcp-end-timeout: 10,
        tcp-analysis: no, tunnel: inner, tunnel-in-key: yes, mac-addresses: outer, mpls-pseudowires: yes, llc-snap: yes, fragments: track, fragment-timeout: 61}
export:
  observation-domain: 10
  template-refresh: 11
  flush-interval: 12
  drain-timeout: 13
  mode: copy
  timestamps: nanoseconds
  fields: [tcp-counts]
  enterprise-number: 4711
  collectors: [{host: h, port: 14, transport: tcp, source-address: 192.0.2.3},
               {host: u, mtu: 1500}]
cores: {export: 15, input: [16, 17, 18, 19, 20, 21, 22, 23], numa: warn}
read: {queues: 24, interface-index: 25, parse: trimmed, trim-length: 65, filter: tcp, sampling: 27,
       sampling-method: random}
telemetry: {listen: "192.0.2.26:26"}
)",
                               {}, ConfigUse::probe)
                              .config;
    const InputOptions& input = config.inputs.at(0);
    CHECK(input.name == "uplink");
    CHECK(input.device == "0000:81:00.0");
    CHECK(input.interface_index == 5);
    CHECK(input.queues == 8);
    CHECK(input.parse == ParseMode::trimmed);
    CHECK(input.trim_length == 96);
    CHECK(input.trimmed_by == TrimmedBy::source);
    CHECK(input.filter == "udp port 53");
    CHECK(input.sampling == 10);
    CHECK(input.sampling_method == SamplingMethod::random);
    CHECK(input.rss == RssMode::ip);
    CHECK_FALSE(input.promiscuous);
    CHECK(input.mtu == 9000);
    CHECK(input.rx_descriptors == 8192);
    CHECK(input.mempool_size == 65535);
    CHECK(config.flows.max_flows == 7);
    CHECK(config.flows.idle_timeout == std::chrono::seconds(8));
    CHECK(config.flows.active_timeout == std::chrono::seconds(9));
    CHECK(config.flows.direction == FlowDirection::biflow);
    CHECK(config.flows.initiator_by_port);
    CHECK_FALSE(config.flows.key.vlan);
    CHECK(config.flows.tcp_end);
    CHECK(config.flows.tcp_end_timeout == std::chrono::seconds(10));
    CHECK(config.flows.tunnel == TunnelMode::inner);
    CHECK(config.flows.key.extension == KeyExtension::tunnel);
    CHECK(config.flows.mac_addresses == MacMode::outer);
    CHECK(config.flows.mpls_pseudowires);
    CHECK(config.flows.llc_snap);
    CHECK(config.flows.fragments == FragmentMode::track);
    CHECK(config.flows.fragment_timeout == std::chrono::seconds(61));
    CHECK(config.export_.observation_domain == 10);
    CHECK(config.export_.template_refresh == std::chrono::seconds(11));
    CHECK(config.export_.flush_interval == std::chrono::seconds(12));
    CHECK(config.export_.drain_timeout == std::chrono::seconds(13));
    CHECK(config.export_.timestamps == TimestampUnit::nanoseconds);
    CHECK(config.export_.fields == groups_of<TcpCountsGroup>());
    CHECK(config.export_.enterprise_number == 4711);
    const CollectorOptions& collector = config.export_.collectors.at(0);
    CHECK(collector.host == "h");
    CHECK(collector.port == 14);
    CHECK(collector.transport == TransportKind::tcp);
    CHECK(config.export_.collectors.at(1).mtu == 1500);
    CHECK(collector.source_address == "192.0.2.3");
    CHECK(config.cores.export_cores == std::vector<std::uint32_t>{15});
    CHECK(config.cores.input_cores.size() == 8);
    CHECK(config.cores.numa == NumaPolicy::warn);
    CHECK(config.read.queues == 24);
    CHECK(config.read.interface_index == 25);
    CHECK(config.read.parse == ParseMode::trimmed);
    CHECK(config.read.trim_length == 65);
    CHECK(config.read.filter == "tcp");
    CHECK(config.read.sampling == 27);
    CHECK(config.read.sampling_method == SamplingMethod::random);
    CHECK(config.telemetry.listen == "192.0.2.26:26");
}

}  // namespace tributary
