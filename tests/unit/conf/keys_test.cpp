// SPDX-License-Identifier: Apache-2.0
#include "conf/keys.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

/// A probe with one collector, which has these entries, in line 2.
std::string probe_with_collector(const std::string& collector) {
    return "inputs: [{device: net_null0}]\nexport: {collectors: [{" + collector + "}]}\n";
}

constexpr const char* kQueues =
    "; must be a whole number from 1 to 256 (threads that share the packets of captures, for "
    "--read; default 1)";

}  // namespace

TEST_CASE("numbers: decimal, whole and within their limits", "[conf][unit]") {
    CHECK(load("read: {queues: 1}").config.read.queues == 1);
    CHECK(load("read: {queues: 256}").config.read.queues == 256);
    CHECK(load("read: {queues: 010}").config.read.queues == 10);
    CHECK(load("read: {queues: \"7\"}").config.read.queues == 7);
    for (const char* wrong :
         {"0", "257", "-1", "+1", "0x10", "1e1", "1.0", "many", "18446744073709551617"}) {
        CHECK(refusal("\nread: {queues: " + std::string(wrong) + "}") ==
              "probe.yaml:2: read.queues is " + std::string(wrong) + kQueues);
    }
    CHECK(refusal("read: {queues: }") ==
          std::string("probe.yaml:1: read.queues is without a value") + kQueues);
    CHECK(refusal("read: {queues: [1]}") ==
          std::string("probe.yaml:1: read.queues is [1]") + kQueues);
    CHECK(refusal("read: {queues: {a: 1}}") ==
          std::string("probe.yaml:1: read.queues is a map") + kQueues);
}

TEST_CASE("numbers: each key has its own limits", "[conf][unit]") {
    const std::vector<std::vector<std::string>> limits{
        {"inputs.0.interface-index", "1", "4294967295", "0", "4294967296"},
        {"inputs.0.queues", "1", "1024", "0", "1025"},
        {"inputs.0.sampling", "1", "4294967295", "0", "4294967296"},
        {"inputs.0.mtu", "68", "16000", "67", "16001"},
        {"inputs.0.rx-descriptors", "32", "65535", "31", "65536"},
        {"inputs.0.mempool-size", "1", "1073741824", "0", "1073741825"},
        {"flows.max-flows", "1", "1073741824", "0", "1073741825"},
        {"flows.idle-timeout", "1", "2147483648", "0", "2147483649"},
        {"flows.tcp-end-timeout", "1", "2147483648", "0", "2147483649"},
        {"flows.active-timeout", "1", "2147483648", "0", "2147483649"},
        {"export.observation-domain", "0", "4294967295", "-1", "4294967296"},
        {"export.enterprise-number", "1", "4294967295", "0", "4294967296"},
        {"export.template-refresh", "1", "2147483648", "0", "2147483649"},
        {"export.options-interval", "0", "2147483648", "-1", "2147483649"},
        {"export.flush-interval", "0.001", "3600", "0", "3600.001"},
        {"export.drain-timeout", "0", "3600", "-1", "3600.001"},
        {"export.collectors.0.mtu", "512", "65507", "511", "65508"},
        {"cores.export", "0", "4095", "-1", "4096"},
        {"read.queues", "1", "256", "0", "257"},
        {"read.interface-index", "0", "4294967295", "-1", "4294967296"},
    };
    for (const auto& row : limits) {
        CAPTURE(row[0]);
        CHECK(set_in_probe(row[0] + "=" + row[1]) == "accepted");
        CHECK(set_in_probe(row[0] + "=" + row[2]) == "accepted");
        CHECK(set_in_probe(row[0] + "=" + row[3]).find("; must be ") != std::string::npos);
        CHECK(set_in_probe(row[0] + "=" + row[4]).find("; must be ") != std::string::npos);
    }
}

TEST_CASE("times: seconds, where it matters with decimals", "[conf][unit]") {
    const Config config = load("export: {flush-interval: 0.25, drain-timeout: 7}").config;
    CHECK(config.export_.flush_interval == std::chrono::milliseconds(250));
    CHECK(config.export_.drain_timeout == std::chrono::seconds(7));
    CHECK(refusal("export: {flush-interval: 1x}") ==
          "probe.yaml:1: export.flush-interval is 1x; must be seconds from 0.001 to 3600, with at "
          "most three decimals (a message that is not full leaves after this long; default 1); "
          "units are ms, s, m, h and d");
}

TEST_CASE("flags: true, false, yes and no only", "[conf][unit]") {
    CHECK(load("flows: {tcp-end: true}").config.flows.tcp_end);
    CHECK(load("flows: {tcp-end: yes}").config.flows.tcp_end);
    CHECK_FALSE(load("flows: {vlan-in-key: false}").config.flows.key.vlan);
    CHECK_FALSE(load("flows: {vlan-in-key: no}").config.flows.key.vlan);
    for (const std::string wrong : {"on", "True", "1", "y"}) {
        CHECK(refusal("flows: {tcp-end: " + wrong + "}") ==
              "probe.yaml:1: flows.tcp-end is " + wrong +
                  "; must be true or false (a record ends with its TCP connection: tcp-end-timeout "
                  "after "
                  "the last packet once its end was seen (RST, or FIN; of a biflow the second "
                  "direction's FIN), or with a SYN, which begins the next record; default false)" +
                  (wrong == "y" ? "" : "; did you mean true?"));
    }
}

TEST_CASE("values: what was probably meant is told where it would be good", "[conf][unit]") {
    const std::vector<std::array<const char*, 3>> meant{
        {"flows", "idle-timeout: 30 sec", "30s"},
        {"flows", "idle-timeout: 5minutes", "5m"},
        {"flows", "idle-timeout: 1 hr", "1h"},
        {"export", "flush-interval: 250 msec", "250ms"},
        {"flows", "max-flows: 64 k", "64000"},
        {"flows", "max-flows: 1_000_000", "1000000"},
        {"read", "queues: 1_0", "10"},
        {"read", "queues: 1k", ""},
        {"flows", "vlan-in-key: OFF", "false"},
        {"flows", "direction: bi", ""},
        {"flows", "direction: bif", "biflow"},
        {"flows", "direction: unifow", "uniflow"},
        {"flows", "direction: sideways", ""},
        {"export", "timestamps: micro", "microseconds"},
        {"export", "timestamps: m", ""},
        {"flows", "idle-timeout: 0 sec", ""},
        {"flows", "idle-timeout: soon", ""},
        {"flows", "idle-timeout: 1h30m", "5400s"},
        {"flows", "idle-timeout: 1w", "604800s"},
        {"flows", "idle-timeout: 2 weeks 1 day", "1296000s"},
        {"export", "flush-interval: 1s500ms", "1500ms"},
        {"flows", "idle-timeout: 99999999999999w", ""},
        {"flows", "max-flows: 16mib", "16MiB"},
        {"flows", "max-flows: 64kb", "64kB"},
        {"flows", "max-flows: 2m", "2M"},
        {"flows", "max-flows: 3 megabytes", "3MB"},
        {"flows", "max-flows: 3 Mebibytes", "3MiB"},
        {"flows", "max-flows: 99999999t", ""},
        {"flows", "max-flows: -5", ""},
        {"flows", "tunnel: in", ""}};
    for (const auto& [section, entry, value] : meant) {
        CAPTURE(entry);
        const std::string told = refusal(std::string(section) + ": {" + entry + "}");
        const std::size_t at = told.find("; did you mean ");
        CHECK((at == std::string::npos ? "" : told.substr(at)) ==
              (*value == '\0' ? "" : "; did you mean " + std::string(value) + "?"));
    }
}

TEST_CASE("values: units are named where the meaning is not known", "[conf][unit]") {
    const auto end_of = [](const std::string& entry) {
        const std::string told = refusal(entry);
        return told.substr(std::min(told.rfind("; "), told.size()));
    };
    const std::string of_counts = "; units are k, M, G, T, Ki, Mi, Gi and Ti, with or without B";
    CHECK(end_of("flows: {max-flows: 4MB5}") == of_counts);
    CHECK(end_of("flows: {max-flows: 16Mbit}") == of_counts);
    CHECK(end_of("read: {queues: 5x}").find("units") == std::string::npos);
    CHECK(probe_refusal(probe_with_collector("host: a, rate: 5x")).ends_with(of_counts));
    CHECK(end_of("flows: {idle-timeout: 5y}") == "; units are ms, s, m, h and d");
    CHECK(end_of("read: {queues: 5x}").find("units") == std::string::npos);
    CHECK(end_of("flows: {max-flows: many}").find("units") == std::string::npos);
}

TEST_CASE("host: a port or a transport beside it is told where it belongs", "[conf][unit]") {
    const auto end_of = [](const std::string& host) {
        const std::string told = probe_refusal(probe_with_collector("host: \"" + host + "\""));
        return told.substr(std::min(told.rfind("; "), told.size()));
    };
    CHECK(end_of("127.0.0.1:2055") == "; port is a key of its own: host: 127.0.0.1, port: 2055");
    CHECK(end_of("collector.example:4739") ==
          "; port is a key of its own: host: collector.example, port: 4739");
    CHECK(end_of("[2001:db8::1]:4739") ==
          "; port is a key of its own: host: \"2001:db8::1\", port: 4739");
    CHECK(end_of("tls://10.0.0.1:4740") ==
          "; transport and port are keys of their own: transport: tls, host: 10.0.0.1, port: 4740");
    CHECK(end_of("udp://10.0.0.1") ==
          "; transport is a key of its own: transport: udp, host: 10.0.0.1");
    CHECK(end_of("not a host:1").find("key of its own") == std::string::npos);
}

TEST_CASE("keys: another form of the same word is told", "[conf][unit]") {
    const auto told = [](const std::string& entry) {
        return probe_refusal(probe_with_collector("transport: file, path: /a, " + entry));
    };
    const std::string unknown = "probe.yaml:2: export.collectors.0.";
    CHECK(told("rotate: {size: 16MiB}") ==
          unknown + "rotate is not a key; did you mean export.collectors.0.rotation?");
    CHECK(told("timestamping: no") ==
          unknown + "timestamping is not a key; did you mean export.collectors.0.timestamps?");
    CHECK(told("rat: 1") == unknown + "rat is not a key; did you mean export.collectors.0.rate?");
    const auto of_tls = [](const std::string& entry) {
        return probe_refusal(probe_with_collector("host: h, transport: tls, tls: {" + entry + "}"));
    };
    CHECK(of_tls("cafile: a")
              .ends_with(".tls.cafile is not a key; did you mean "
                         "export.collectors.0.tls.ca?"));
    CHECK(of_tls("key-file: a").ends_with("did you mean export.collectors.0.tls.key?"));
    CHECK(of_tls("cert_file: a").ends_with("did you mean export.collectors.0.tls.certificate?"));
    CHECK(of_tls("-file: a").ends_with("; must be one of: ca, certificate, key, name"));
    CHECK(told("rotation: {size: 16mb}").ends_with("; did you mean 16MB?"));
}

TEST_CASE("words: each stands for its value", "[conf][unit]") {
    const auto timestamps = [](const char* word) {
        return load("export: {timestamps: " + std::string(word) + "}").config.export_.timestamps;
    };
    CHECK(timestamps("milliseconds") == TimestampUnit::milliseconds);
    CHECK(timestamps("microseconds") == TimestampUnit::microseconds);
    CHECK(timestamps("nanoseconds") == TimestampUnit::nanoseconds);
    const auto numa = [](const char* word) {
        return load("cores: {numa: " + std::string(word) + "}").config.cores.numa;
    };
    CHECK(numa("strict") == NumaPolicy::strict);
    CHECK(numa("warn") == NumaPolicy::warn);
    CHECK(numa("off") == NumaPolicy::off);
    const auto rss = [](const char* word) {
        return load(kProbe, {"inputs.0.rss=" + std::string(word)}, ConfigUse::probe)
            .config.inputs.at(0)
            .rss;
    };
    CHECK(rss("ip") == RssMode::ip);
    CHECK(rss("ip-and-l4") == RssMode::ip_and_l4);
    CHECK(refusal("export: {timestamps: seconds}") ==
          "probe.yaml:1: export.timestamps is seconds; must be milliseconds, microseconds or "
          "nanoseconds (precision of a record's start and end; default milliseconds)");
}

TEST_CASE("field groups: any subset", "[conf][unit]") {
    const auto fields = [](const char* list) {
        return load("export: {fields: " + std::string(list) + "}").config.export_.fields;
    };
    CHECK(fields("[]") == FieldGroups{});
    CHECK(fields("") == FieldGroups{});
    CHECK(fields("[extremes]") == groups_of<ExtremesGroup>());
    CHECK(fields("[tcp-counts, layer2]") == groups_of<Layer2Group, TcpCountsGroup>());
    CHECK(fields("[flow-label, fragments]") == groups_of<FlowLabelGroup, FragmentsGroup>());
    CHECK(fields("[mpls, tunnel]") == groups_of<MplsGroup, TunnelGroup>());
    const std::string rest =
        "; must be a list of none or some of extremes, layer2, tcp-counts, flow-label, mpls, "
        "tunnel, fragments or tcp-analysis, or of their elements by name (fields that records have "
        "beside the "
        "default ones: groups, or elements of them by name (docs/fields.md); default [])";
    const auto partial = [](const std::string& list) {
        return load("export: {fields: " + list + "}").config.export_;
    };
    const ExportOptions options =
        partial("[tcpRstTotalCount, extremes, tcpSynTotalCount, minimumTTL]");
    CHECK(options.fields == groups_of<ExtremesGroup, TcpCountsGroup>());
    CHECK(options.partial.groups == groups_of<TcpCountsGroup>());
    CHECK(options.partial.elements.at(kFieldGroupId<TcpCountsGroup>) == 0b101);  // SYN and RST
    CHECK(partial("[extremes]").partial == PartialGroups{});
    CHECK(refusal("export: {fields: [packetDeltaCount]}") ==
          "probe.yaml:1: export.fields is [packetDeltaCount]" + rest);
    CHECK(refusal("export: {fields: [extreme]}") ==
          "probe.yaml:1: export.fields is [extreme]" + rest);
    CHECK(refusal("export: {fields: extremes}") ==
          "probe.yaml:1: export.fields is extremes" + rest);
    CHECK(refusal("export: {fields: {extremes: 1}}") ==
          "probe.yaml:1: export.fields is a map" + rest);
}

TEST_CASE("TCP analysis: off by default, with times of its own", "[conf][unit]") {
    const FlowCacheOptions plain = load("").config.flows;
    CHECK_FALSE(plain.tcp_analysis);
    CHECK(plain.tcp_duplicate_time == std::chrono::seconds{1});
    CHECK(plain.tcp_retransmission_time == std::chrono::seconds{0});
    const FlowCacheOptions flows = load(
                                       "flows: {tcp-analysis: yes, tcp-duplicate-time: 0.25, "
                                       "tcp-retransmission-time: 120}")
                                       .config.flows;
    CHECK(flows.tcp_analysis);
    CHECK(flows.tcp_duplicate_time == std::chrono::milliseconds{250});
    CHECK(flows.tcp_retransmission_time == std::chrono::minutes{2});
    CHECK(refusal("flows: {tcp-duplicate-time: 0}").find("must be ") != std::string::npos);
    CHECK(refusal("flows: {tcp-retransmission-time: 3601}").find("must be ") != std::string::npos);
}

TEST_CASE("directions: uniflow or biflow, and a biflow's initiator", "[conf][unit]") {
    CHECK(load("").config.flows.direction == FlowDirection::uniflow);
    CHECK_FALSE(load("").config.flows.initiator_by_port);
    CHECK(load("flows: {direction: biflow}").config.flows.direction == FlowDirection::biflow);
    CHECK(
        load("flows: {direction: biflow, initiator-by-port: yes}").config.flows.initiator_by_port);
    CHECK(refusal("flows: {direction: both}") ==
          "probe.yaml:1: flows.direction is both; must be uniflow or biflow (one record for each "
          "direction of a conversation, or one for both (RFC 5103), whose source is the initiator; "
          "of ICMP there are uniflows only; default uniflow)");
    for (const char* uniflow : {"", "direction: uniflow, "}) {
        CHECK(refusal("flows: {" + std::string(uniflow) + "initiator-by-port: true}") ==
              "probe.yaml:1: flows.initiator-by-port is true, but flows.direction is uniflow; must "
              "be false (or flows.direction biflow)");
    }
}

TEST_CASE("biflows: their templates fit the collector's messages", "[conf][unit]") {
    const auto with = [](const char* direction, const char* mtu, const char* transport) {
        return probe_refusal(kProbe, {"flows.direction=" + std::string(direction),
                                      "export.collectors.0.mtu=" + std::string(mtu),
                                      "export.collectors.0.transport=" + std::string(transport)});
    };
    CHECK(with("biflow", "575", "udp") ==
          "--set export.collectors.0.mtu=575: export.collectors.0.mtu is 575, but flows.direction "
          "is biflow; must be at least 576 (templates of biflows are long)");
    CHECK(with("biflow", "576", "udp") == "accepted");
    CHECK(probe_refusal(kProbe, {"flows.direction=biflow", "flows.tcp-analysis=true",
                                 "export.collectors.0.mtu=831"}) ==
          "--set export.collectors.0.mtu=831: export.collectors.0.mtu is 831, but flows.direction "
          "is biflow and flows.tcp-analysis true; must be at least 832 (templates of biflows are "
          "long)");
    CHECK(with("uniflow", "512", "udp") == "accepted");
}

TEST_CASE("cores: auto, a number or a list", "[conf][unit]") {
    const auto cores = [](const char* value) {
        return load("cores: {input: " + std::string(value) + "}").config.cores.input_cores;
    };
    CHECK(cores("auto").empty());
    CHECK(cores("3") == std::vector<std::uint32_t>{3});
    CHECK(cores("[4, 2]") == std::vector<std::uint32_t>{4, 2});
    CHECK(load("cores: {helpers: [0, 1]}").config.cores.helper_cores ==
          std::vector<std::uint32_t>{0, 1});
    CHECK(load("cores: {helpers: auto}").config.cores.helper_cores.empty());
    CHECK(load("cores: {export: [2]}").config.cores.export_cores == std::vector<std::uint32_t>{2});
    CHECK(refusal("cores: {export: [1, 2]}") ==
          "probe.yaml:1: cores.export is [1, 2]; must be auto or the number of one core (core of "
          "the export thread; default auto)");
    for (const char* wrong : {"[]", "[a]", "[[1]]", "{a: 1}", "1-3", ""}) {
        CHECK(refusal("cores: {input: " + std::string(wrong) + "}")
                  .find("; must be auto or a list of core numbers (") != std::string::npos);
    }
}

TEST_CASE("devices: PCI addresses, kernel interfaces and virtual devices", "[conf][unit]") {
    for (const char* device : {"0000:81:00.0", "81:00.1", "0000:81:00.0,representor=0",
                               "af_packet:eth0", "af_xdp:ens1f0", "net_pcap0,rx_pcap=a.pcap",
                               "net_tap1", "eth_ring0", "virtio_user0,path=/dev/vhost-net"}) {
        CAPTURE(device);
        CHECK(set_in_probe("inputs.0.device='" + std::string(device) + "'") == "accepted");
    }
    for (const char* device : {"", "eth0", "0000:81:00", "0000:81:00.8", "00000000000:81:00.0",
                               "81:0.0", "af_packet:", "af_packet:a/b", "af_xdp:sixteen-letters-",
                               "net_", "net_tap 0", ",iface=eth0"}) {
        CAPTURE(device);
        CHECK(set_in_probe("inputs.0.device='" + std::string(device) + "'")
                  .find("; must be a PCI address, af_packet:IFNAME, af_xdp:IFNAME or a DPDK vdev "
                        "string (") != std::string::npos);
    }
}

TEST_CASE("text: printable, of bounded length, hosts without blanks", "[conf][unit]") {
    CHECK(set_in_probe("inputs.0.name=the uplink") == "accepted");
    CHECK(set_in_probe("inputs.0.name=" + std::string(255, 'n')) == "accepted");
    CHECK(set_in_probe("inputs.0.name=" + std::string(256, 'n')) ==
          "--set inputs.0.name=" + std::string(66, 'n') + "...: inputs.0.name is " +
              std::string(80, 'n') +
              "...; must be a line of text (its name in logs and metrics; when empty, the device); "
              "it has 256 octets, more than 255");
    CHECK(
        set_in_probe("inputs.0.name=\"a\\nb\"") ==
        "--set inputs.0.name=\"a\\nb\": inputs.0.name is a?b; must be a line of text (its name in "
        "logs and metrics; when empty, the device); it has a line end");
    CHECK(set_in_probe("export.collectors.0.host=\"a\\tb\"").ends_with("; it has a tab"));
    CHECK(set_in_probe("inputs.0.filter=\"a\\x01b\"").ends_with("; it has a control character"));
    CHECK(
        set_in_probe("export.collectors.0.host=a b") ==
        "--set export.collectors.0.host=a b: export.collectors.0.host is a b; must be a host name "
        "or an IP address (the collector; not for file and kafka)");
}

TEST_CASE("filters: printable text, longer than other text may be", "[conf][unit]") {
    CHECK(load("read: {filter: \"\"}").config.read.filter.empty());
    const std::string longest(4096, 'x');
    CHECK(load("read: {filter: " + longest + "}").config.read.filter == longest);
    for (const std::string& wrong :
         {longest + "x", std::string("\"a\\nb\""), std::string("[tcp]")}) {
        CHECK(refusal("read: {filter: " + wrong + "}")
                  .find("; must be a filter expression in pcap syntax or \"\" (") !=
              std::string::npos);
    }
}

TEST_CASE("telemetry: ADDRESS:PORT or nothing", "[conf][unit]") {
    CHECK(load("telemetry: {listen: \"\"}").config.telemetry.listen.empty());
    CHECK(load("telemetry: {listen: \"0.0.0.0:1\"}").config.telemetry.listen == "0.0.0.0:1");
    CHECK(refusal("telemetry: {listen: }")
              .find("is without a value; must be IPv4 ADDRESS:PORT or "
                    "\"\" (") != std::string::npos);
    for (const char* wrong :
         {"127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "localhost:9477", "[::1]:9477", ":9477"}) {
        CHECK(refusal("telemetry: {listen: \"" + std::string(wrong) + "\"}")
                  .find("; must be IPv4 ADDRESS:PORT or \"\" (") != std::string::npos);
    }
}

TEST_CASE("keys: each has help and limits, and no two are the same", "[conf][unit]") {
    Config config;
    config.inputs.resize(1);
    config.fields.resize(1);
    config.tables.resize(1);
    config.triggers.resize(1);
    config.export_.collectors.resize(1);
    std::set<std::string> paths;
    for (const Setting& setting : settings_of(config)) {
        CAPTURE(setting.path);
        CHECK(paths.insert(setting.path).second);
        CHECK_FALSE(setting.help.empty());
        CHECK_FALSE(setting.limits.empty());
        CHECK_FALSE(setting.value.empty());
    }
    CHECK(paths.contains("inputs.0.device"));
    CHECK(paths.contains("fields.0.when"));
    CHECK(paths.contains("tables.0.key"));
    CHECK(paths.contains("export.collectors.0.mtu"));
}

}  // namespace tributary
