// SPDX-License-Identifier: Apache-2.0
#include "conf/dump_config.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/conf/config_harness.hpp"

namespace tributary {

TEST_CASE("dump_config: every key stands there, items under their dash", "[conf][unit]") {
    CHECK(dump_config(load(kProbe,
                           {"export.fields=[layer2, tunnelId, extremes, minimumTTL, dot1qVlanId, "
                            "mplsLabelStackSection2]",
                            "cores.input=3"},
                           ConfigUse::probe)
                          .config) ==
          R"(inputs:
  - name: "net_null0"
    device: "net_null0"
    interface-index: 1
    queues: 1
    parse: full
    trim-length: 128
    trimmed-by: driver
    filter: ""
    sampling: 1
    sampling-method: count
    rss: ip-and-l4
    poll: busy
    promiscuous: true
    mtu: auto
    rx-descriptors: 4096
    mempool-size: auto
flows:
  max-flows: 1048576
  idle-timeout: 30
  active-timeout: 300
  direction: uniflow
  initiator-by-port: false
  vlan-in-key: true
  tunnel: outer
  tunnel-in-key: false
  mac-addresses: inner
  fragments: zero
  fragment-timeout: 0
  mpls-pseudowires: false
  llc-snap: false
  tcp-end: false
  tcp-end-timeout: 2
  tcp-analysis: false
  tcp-duplicate-time: 1
  tcp-retransmission-time: 0
fields: []
tables: []
recorder:
  memory: 0
  snap: full
  cutoff: 0
  filter: ""
  inputs: []
  all-frames: false
  socket: "auto"
  group: ""
triggers: []
export:
  observation-domain: 1
  probe:
    name: ""
    address: ""
  template-refresh: 600
  template-refresh-packets: 0
  options-interval: 60
  flush-interval: 1
  drain-timeout: 5
  mode: copy
  spool:
    directory: ""
    max-size: 1073741824
  timestamps: milliseconds
  fields: [extremes, layer2, mplsLabelStackSection2, tunnelId]
  enterprise-number: 32473
  ntop-elements: false
  collectors:
    - profile: rfc
      transport: udp
      format: ipfix
      host: "192.0.2.1"
      port: 4739
      source-address: ""
      mtu: 1400
      rate: auto
      udp-segmentation: false
      path: ""
      brokers: ""
      topic: ""
      key: flow
      delimited: true
      compression: lz4
      properties: {}
      secrets: {}
      tables: ["main"]
      observation-domain: inherit
      timestamps: inherit
      direction: inherit
      sampling: all
      options: [reliability, statistics, interfaces, flow-keys, types]
      tcp-control-bits: 2
      enterprise-elements: true
      cert-elements: false
      buffer: 4194304
      rotation:
        size: 0
        interval: 0
        fsync: false
        command: ""
      tls:
        ca: ""
        certificate: ""
        key: ""
        name: ""
      spool:
        directory: ""
        max-size: 1073741824
cores:
  export: auto
  input: [3]
  helpers: auto
  numa: strict
read:
  queues: 1
  interface-index: 1
  parse: full
  trim-length: 128
  filter: ""
  sampling: 1
  sampling-method: count
telemetry:
  listen: "127.0.0.1:9477"
  dpdk: false
control:
  socket: "auto"
log:
  level: info
  file: ""
  max-size: 16777216
  max-files: 5
)");
}

TEST_CASE("dump_config: without inputs and collectors the lists are empty", "[conf][unit]") {
    const std::string dump = dump_config(Config{});
    CHECK(dump.starts_with("inputs: []\nflows:\n"));
    CHECK(dump.find("\n  collectors: []\ncores:\n") != std::string::npos);
}

TEST_CASE("dump_config: loads again to the same", "[conf][unit]") {
    const std::string odd = R"(
inputs:
  - {name: 'a "b" \ c: {d} #', device: "net_pcap0,rx_pcap=/tmp/a b.pcap", queues: 3, rss: ip,
     mempool-size: 4711}
  - {name: "- yes", device: "0000:81:00.0", promiscuous: no}
flows: {max-flows: 7, tcp-end: yes, vlan-in-key: no}
export:
  flush-interval: 0.125
  timestamps: microseconds
  fields: [tcp-counts]
  collectors: [{transport: file, path: "~/a: b\\c"}]
cores: {export: 2, input: [3, 4, 5, 6], numa: off}
telemetry: {listen: "0.0.0.0:1"}
)";
    const Config first = load(odd, {}, ConfigUse::probe).config;
    CHECK(first.inputs.at(0).name == "a \"b\" \\ c: {d} #");
    const std::string dump = dump_config(first);
    const Config again = load(dump, {}, ConfigUse::probe).config;
    CHECK(again.inputs.at(0).name == first.inputs.at(0).name);
    CHECK(again.export_.collectors.at(0).path == "~/a: b\\c");
    CHECK(dump_config(again) == dump);
}

TEST_CASE("key_reference: examples without their licence, the rules, then every key",
          "[conf][unit]") {
    const std::string page = key_reference({{"conf/examples/one.yaml", "# licence\ninputs: []\n"}});
    const std::size_t example =
        page.find("\n## `conf/examples/one.yaml`\n\n```yaml\ninputs: []\n```\n");
    const std::size_t rules = page.find("\n## Rules for all keys\n");
    CHECK(example < rules);
    CHECK(rules < page.size());
    for (const Setting& key : documented_keys()) {
        CAPTURE(key.path);
        CHECK(page.find("\n| `" + key.path + "` | ", rules) != std::string::npos);
    }
}

}  // namespace tributary
