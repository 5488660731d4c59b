// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "conf/declared_tables.hpp"
#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

constexpr const char* kExamples = TRIBUTARY_SOURCE "/conf/examples/";

Config example(const char* name) {
    return load_config_file(std::string(kExamples) + name, {}, ConfigUse::probe).config;
}

}  // namespace

TEST_CASE("examples: each is a probe without warnings", "[conf][unit]") {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kExamples)) {
        CAPTURE(entry.path());
        const LoadedConfig loaded = load_config_file(entry.path(), {}, ConfigUse::probe);
        CHECK(loaded.warnings.empty());
        ++count;
    }
    CHECK(count == 10);
}

TEST_CASE("examples: the minimal one sends by UDP to port 4739", "[conf][unit]") {
    const Config config = example("minimal.yaml");
    CHECK(config.inputs.at(0).device == "0000:81:00.0");
    CHECK(config.export_.collectors.at(0).host == "192.0.2.10");
    CHECK(config.export_.collectors.at(0).port == 4739);
}

TEST_CASE("examples: the 100G probe has a core for each queue", "[conf][unit]") {
    const Config config = example("probe-100g.yaml");
    REQUIRE(config.inputs.size() == 2);
    CHECK(config.inputs[1].interface_index == 102);
    CHECK(config.cores.input_cores.size() == 16);
    CHECK(config.export_.fields == groups_of<ExtremesGroup, TcpCountsGroup>());
}

TEST_CASE("examples: the af_packet one needs no NIC", "[conf][unit]") {
    const Config config = example("af-packet.yaml");
    CHECK(config.inputs.at(0).device == "af_packet:eth0");
    CHECK(config.export_.collectors.at(0).transport == TransportKind::tcp);
}

TEST_CASE("examples: biflows with TCP analysis go to a collector of each kind", "[conf][unit]") {
    const Config config = example("biflow-tcp.yaml");
    CHECK(config.flows.direction == FlowDirection::biflow);
    CHECK(config.flows.tcp_analysis);
    CHECK(config.export_.collectors.at(0).profile == CollectorProfile::ipfixcol2);
    CHECK(config.export_.collectors.at(1).profile == CollectorProfile::nfdump);
}

TEST_CASE("examples: one of three collectors has the records, by TLS", "[conf][unit]") {
    const Config config = example("failover-tls.yaml");
    CHECK(config.export_.mode == ExportMode::failover);
    REQUIRE(config.export_.collectors.size() == 3);
    for (const CollectorOptions& collector : config.export_.collectors) {
        CHECK(collector.transport == TransportKind::tls);
        CHECK(collector.port == kIpfixTlsPort);
        CHECK(collector.tls.key == "/etc/tributary/probe.key");
    }
}

TEST_CASE("examples: rotated files are compressed", "[conf][unit]") {
    const FileRotation rotation = example("rotation.yaml").export_.collectors.at(0).rotation;
    CHECK(rotation.is_on());
    CHECK(rotation.command == "zstd --quiet --rm");
}

TEST_CASE("examples: subnets go to a collector of their own, DNS into a file", "[conf][unit]") {
    const Config config = example("tables.yaml");
    REQUIRE(config.tables.size() == 2);
    const auto key_of = [&config](std::size_t table) {
        return compile_if_good(config, config.tables[table])->key();
    };
    CHECK(key_of(0).source == AddressPrefix{24, 56});
    CHECK(key_of(0).ingress_interface);
    CHECK(key_of(1).extension == KeyExtension::declared);
    CHECK(config.tables[1].direction == FlowDirection::biflow);
    CHECK(config.tables[0].idle_timeout == config.flows.idle_timeout);
    CHECK(config.fields.at(0).when == "udp port 53");
    CHECK(config.export_.collectors.at(1).tables == std::vector<std::string>{"subnets"});
    CHECK(config.export_.collectors.at(2).tables == std::vector<std::string>{"main", "dns"});
}

TEST_CASE("examples: the recorder has the beginning of each flow", "[conf][unit]") {
    const Config config = example("recorder.yaml");
    CHECK(config.recorder.memory == std::uint64_t{16} << 30U);
    CHECK(config.recorder.cutoff == 1000);
}

TEST_CASE("examples: two probes on one machine share nothing", "[conf][unit]") {
    const Config west = example("west.yaml");
    const Config east = example("east.yaml");
    CHECK(west.inputs.at(0).device != east.inputs.at(0).device);
    CHECK(west.inputs.at(0).interface_index != east.inputs.at(0).interface_index);
    CHECK(west.export_.observation_domain != east.export_.observation_domain);
    CHECK(west.telemetry.listen != east.telemetry.listen);
    std::vector<std::uint32_t> cores = west.cores.input_cores;
    cores.insert(cores.end(), east.cores.input_cores.begin(), east.cores.input_cores.end());
    cores.push_back(west.cores.export_cores.at(0));
    cores.push_back(east.cores.export_cores.at(0));
    const std::set<std::uint32_t> distinct(cores.begin(), cores.end());
    CHECK(distinct.size() == cores.size());
}

}  // namespace tributary
