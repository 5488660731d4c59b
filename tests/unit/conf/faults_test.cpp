// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

constexpr const char* kManyMistakes =
    "inputs:\n"
    "  - device: eth0\n"              // 2: an interface alone
    "    queue: 2\n"                  // 3: no such key
    "    sampling: 0\n"               // 4: too small
    "  - device: net_null0\n"         // 5
    "    poll: always\n"              // 6: not one of the words
    "    queues: two\n"               // 7: no number
    "  - device: net_null0\n"         // 8: that of another input
    "    mtu: 9k\n"                   // 9: never in thousands
    "flows:\n"                        // 10
    "  idle-timeout: 30sec\n"         // 11: no such unit
    "  active-timeout: 0\n"           // 12: too small
    "  max-flows: 4MB5\n"             // 13: no such unit
    "  tunnel-in-key: yess\n"         // 14: no flag
    "  initiator-by-port: true\n"     // 15: needs biflows
    "export:\n"                       // 16
    "  mode: all\n"                   // 17: not one of the words
    "  enterprise-number: 29305\n"    // 18: means something else
    "  collectors:\n"                 // 19
    "    - host: 192.0.2.1\n"         // 20
    "      port: 70000\n"             // 21: too large
    "    - transport: file\n"         // 22: without a path
    "    - host: 192.0.2.2\n"         // 23
    "      path: /tmp/flows.ipfix\n"  // 24: not of this transport
    "      tls: {ca: /etc/ca.pem}\n"  // 25: not of this transport
    "    - {host: 192.0.2.3, transport: tls, tls: {certificate: /etc/c.pem}}\n"  // 26: no key
    "telemetry:\n"                                                               // 27
    "  listen: localhost\n"       // 28: no address and port
    "  listen: 127.0.0.1:9477\n"  // 29: given twice
    "logs: {level: info}\n";      // 30: no such key

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream lines(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) {
        all.push_back(line);
    }
    return all;
}

std::string all_refusals(const std::string& text, const std::vector<std::string>& sets = {}) {
    return refusals(text, sets, ConfigUse::probe);
}

}  // namespace

TEST_CASE("faults: twenty mistakes are told in one run, each with its line", "[conf][unit]") {
    const std::vector<std::string> expected{
        ":29: telemetry.listen is given twice, first in probe.yaml:28; must be given once",
        ":2: inputs.0.device is eth0; must be a PCI address, af_packet:IFNAME",
        ":3: inputs.0.queue is not a key; did you mean inputs.0.queues?",
        ":4: inputs.0.sampling is 0; must be a whole number from 1 to",
        ":6: inputs.1.poll is always; must be busy or adaptive",
        ":7: inputs.1.queues is two; must be a whole number from 1 to 1024",
        ":9: inputs.2.mtu is 9k; must be auto or a whole number from 68 to 16000",
        ":11: flows.idle-timeout is 30sec; must be a whole number of seconds from 1 to",
        ":12: flows.active-timeout is 0; must be a whole number of seconds from 1 to",
        ":13: flows.max-flows is 4MB5; must be a whole number",
        ":14: flows.tunnel-in-key is yess; must be true or false",
        ":17: export.mode is all; must be ",
        ":21: export.collectors.0.port is 70000; must be auto or a whole number from 1 to 65535",
        ":28: telemetry.listen is localhost; must be IPv4 ADDRESS:PORT",
        ":30: logs is not a key; did you mean log?",
        ":8: inputs.2.device is net_null0; must differ from inputs.1.device",
        ":22: export.collectors.1.path is missing; must be the path of the file to write",
        ":24: export.collectors.2.path is given, but transport is not file; must be left out",
        ":25: export.collectors.2.tls.ca is given, but transport is not tls; must be left out",
        ":26: export.collectors.3.tls.key is missing; must be the file of tls.certificate's",
    };
    const std::vector<std::string> told = lines_of(all_refusals(kManyMistakes));
    for (const std::string& line : told) {
        INFO(line);
        CHECK(line.starts_with("probe.yaml:"));
    }
    REQUIRE(told.size() == expected.size());
    for (std::size_t i = 0; i < told.size(); ++i) {
        INFO(told[i]);
        CHECK(told[i].starts_with("probe.yaml" + expected[i]));
    }
    CHECK(told[1].ends_with("; did you mean af_packet:eth0?"));
}

TEST_CASE("faults: what only follows from a value that could not be read is not told",
          "[conf][unit]") {
    // With the default transport the host would be missing, and the path a fault.
    CHECK(lines_of(all_refusals("inputs: [{device: net_null0}]\n"
                                "export: {collectors: [{transport: files, path: /tmp/a}]}\n"))
              .size() == 1);
    CHECK(lines_of(all_refusals("inputs: [{device: net_nul0 }, {device: [1]}]\n"
                                "export: {collectors: [{host: a, transport: file}]}\n"))
              .size() == 3);
    CHECK(lines_of(all_refusals("inputs: {device: net_null0}\nexport: {collectors: {host: a}}\n"))
              .size() == 2);
    CHECK(lines_of(all_refusals("inputs: [{device: net_null0, queues: 0}]\ncores: {input: [1, 2]}\n"
                                "export: {collectors: [{host: a}]}\n"))
              .size() == 1);
    // Readable values are still compared.
    CHECK(lines_of(all_refusals("inputs: [{device: net_null0}]\ncores: {input: [1, 1]}\n"
                                "export: {mode: none, collectors: [{host: a, path: /b}]}\n"))
              .size() == 3);
}

TEST_CASE("faults: those of the command line and those of the file are told together",
          "[conf][unit]") {
    const std::vector<std::string> told =
        lines_of(all_refusals(std::string(kProbe) + "flows: {max-flow: 1}\n",
                              {"flows.idle-timeout=never", "x.y.z.a.b.c.d.e.f=1"}));
    REQUIRE(told.size() == 3);
    CHECK(told[0].starts_with("--set x.y.z.a.b.c.d.e.f=1: "));
    CHECK(told[1].starts_with("probe.yaml:6: flows.max-flow is not a key; did you mean"));
    CHECK(told[2].starts_with("--set flows.idle-timeout=never: flows.idle-timeout is never"));
}

TEST_CASE("faults: a tab that indents is called a tab", "[conf][unit]") {
    const std::string words = ": a tab indents this line; must be spaces (YAML takes no tab there)";
    CHECK(refusals("flows:\n\tmax-flows: 10\n") == "probe.yaml:2" + words);
    CHECK(refusals("flows:\n  max-flows: 10\n\tidle-timeout: 5\n") == "probe.yaml:3" + words);
    CHECK(refusals("log:\n\tlevel: loud\n") ==
          "probe.yaml:2" + words + "\n" +
              refusals("log:\n\n  level: loud\n").replace(0, 12, "probe.yaml:2"));
    CHECK(all_refusals("inputs:\n  -\tdevice: net_null0\nexport: {collectors: [{host: a}]}\n") ==
          "probe.yaml:2" + words);
    // Elsewhere a tab is a blank.
    CHECK(refusals("flows: {max-flows:\t64}\nlog:\n  level:\tinfo\t# x\n") == "accepted");
    // Other YAML errors do not mention tabs.
    CHECK(refusals("flows: [\n").starts_with("probe.yaml:2: this is not YAML"));
}

TEST_CASE("faults: a core is given once", "[conf][unit]") {
    CHECK(probe_refusal("inputs: [{device: net_null0, queues: 3}]\ncores: {input: [4, 5, 4]}\n"
                        "export: {collectors: [{host: a}]}\n") ==
          "probe.yaml:2: cores.input has core 4 twice; must have another one for each queue (or "
          "auto)");
    const auto with_helpers = [](const std::string& helpers) {
        return probe_refusal("inputs: [{device: net_null0, queues: 2}]\ncores: {input: [4, 5], " +
                             ("helpers: " + helpers) + "}\nexport: {collectors: [{host: a}]}\n");
    };
    CHECK(with_helpers("[0, 1, 0]") ==
          "probe.yaml:2: cores.helpers has core 0 twice; must have each core once (or auto)");
    CHECK(with_helpers("[0, 5]") ==
          "probe.yaml:2: cores.helpers has core 5, which cores.input has too; must be another core "
          "(or auto)");
    CHECK(with_helpers("0") == "accepted");
    CHECK(with_helpers("[0, 1]") == "accepted");
    CHECK(with_helpers("auto") == "accepted");
}

TEST_CASE("values: times and large numbers take the usual units", "[conf][unit]") {
    const auto idle = [](const std::string& text) {
        return load("flows: {idle-timeout: " + text + "}").config.flows.idle_timeout.count();
    };
    CHECK(idle("30") == 30);
    CHECK(idle("30s") == 30);
    CHECK(idle("5m") == 300);
    CHECK(idle("1.5h") == 5400);
    CHECK(idle("2d") == 172'800);
    CHECK(idle("3000ms") == 3);
    const auto flush = [](const std::string& text) {
        return load("export: {flush-interval: " + text + "}").config.export_.flush_interval.count();
    };
    CHECK(flush("0.25") == 250);
    CHECK(flush("250ms") == 250);
    CHECK(flush("0.5s") == 500);
    const auto flows = [](const std::string& text) {
        return load("flows: {max-flows: " + text + "}").config.flows.max_flows;
    };
    CHECK(flows("64k") == 64'000);
    CHECK(flows("64K") == 64'000);
    CHECK(flows("64Ki") == 65'536);
    CHECK(flows("4MiB") == 4'194'304);
    CHECK(flows("2M") == 2'000'000);
    CHECK(flows("2MB") == 2'000'000);
    for (const char* const wrong :
         {"flows: {idle-timeout: 30x}", "flows: {idle-timeout: 1500ms}", "flows: {idle-timeout: s}",
          "flows: {idle-timeout: 5 m}", "flows: {idle-timeout: -5s}", "flows: {idle-timeout: 1e3s}",
          "flows: {idle-timeout: 999999999999d}", "export: {flush-interval: 0.5ms}",
          "flows: {max-flows: k}", "flows: {max-flows: 1.5k}", "flows: {max-flows: 64kk}",
          "flows: {max-flows: B}", "flows: {max-flows: 64B}", "flows: {max-flows: 99999999T}",
          "flows: {max-flows: 18446744073709551615k}"}) {
        INFO(wrong);
        CHECK(refusal(wrong) != "accepted");
    }
}

TEST_CASE("shown: characters that control a terminal or hide text are question marks, whole ones",
          "[conf][unit]") {
    CHECK(shown("caf\u00e9 \u65e5\u672c") == "caf\u00e9 \u65e5\u672c");
    for (const std::string hidden :
         {"\x1b", "\n", "\x7f", "\u0080", "\u009f", "\u200b", "\u200f", "\u202a", "\u202e",
          "\u2066", "\u2069", "\ufeff", "\xff", "\xc0", "\xed"}) {
        CHECK(shown("a" + hidden + "b") == "a?b");
    }
    CHECK(shown("\xe2\x80") == "??");  // the front of a character
    CHECK(shown(std::string(79, 'a') + "\u00e9") == std::string(79, 'a') + "...");
    CHECK(shown(std::string(78, 'a') + "\u00e9b") == std::string(78, 'a') + "\u00e9...");
    CHECK(shown(std::string(80, 'a')) == std::string(80, 'a'));
}

}  // namespace tributary
