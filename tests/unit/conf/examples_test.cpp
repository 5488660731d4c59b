// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

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
    CHECK(count == 3);
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
    CHECK(config.export_.fields == FieldGroups{true, false, true});
}

TEST_CASE("examples: the af_packet one needs no NIC", "[conf][unit]") {
    const Config config = example("af-packet.yaml");
    CHECK(config.inputs.at(0).device == "af_packet:eth0");
    CHECK(config.export_.collectors.at(0).transport == TransportKind::tcp);
}

}  // namespace tributary
