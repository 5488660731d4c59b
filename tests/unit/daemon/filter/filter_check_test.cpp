// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/filter_check.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "conf/load_config.hpp"

namespace tributary {
namespace {

/// Each kind of filter, in a line of its own from 1 on.
std::string configuration(const std::string& of_input, const std::string& of_field,
                          const std::string& of_table) {
    return "inputs: [{device: net_null0, filter: '" + of_input +
           "'}]\n"
           "fields: [{name: x}, {name: y, when: '" +
           of_field +
           "'}]\n"
           "tables: [{name: a, key: [x]}, {name: b, key: [y], filter: '" +
           of_table +
           "'}]\n"
           "export: {collectors: [{host: h, tables: [main, a, b]}]}\n";
}

struct Judged {
    FilterExecutions executions;
    std::string faults;
};

Judged judged(const std::string& text) {
    Judged result;
    std::istringstream stream(text);
    try {
        (void)load_config(stream, "probe.yaml", {}, ConfigUse::probe,
                          [&](const Config& config, const YamlNode& root, Faults& faults) {
                              result.executions = check_filters(config, root, faults);
                          });
    } catch (const ConfigError& error) {
        result.faults = error.what();
    }
    return result;
}

}  // namespace

TEST_CASE("check_filters: filters of tables and own fields are run like those of inputs",
          "[filter][unit]") {
    const Judged good = judged(configuration("tcp", "udp port 53", "not net 10.0.0.0/8"));
    CHECK(good.faults.empty());
    REQUIRE(good.executions.size() == 3);
    const std::string& execution = good.executions.at(filter_path(0));
    CHECK_FALSE(execution.empty());
    CHECK(good.executions.at(field_filter_path(1)) == execution);
    CHECK(good.executions.at(table_filter_path(1)) == execution);
    CHECK(judged(configuration("", "", "")).executions.empty());
    const Judged with_loop = judged(configuration("tcp", "ip protochain 6", ""));
    CHECK(with_loop.executions.at("fields.1.when").find("it has a loop") != std::string::npos);
}

TEST_CASE("check_filters: what libpcap refuses is told at its key", "[filter][unit]") {
    const Judged bad = judged(configuration("tcp", "udp prot 53", "nett 10.0.0.0/8"));
    CHECK(bad.executions.size() == 1);
    std::istringstream lines(bad.faults);
    std::string line;
    REQUIRE(std::getline(lines, line));
    CHECK(
        line.starts_with("probe.yaml:2: fields.1.when is udp prot 53; must be a filter "
                         "expression in pcap syntax ("));
    REQUIRE(std::getline(lines, line));
    CHECK(
        line.starts_with("probe.yaml:3: tables.1.filter is nett 10.0.0.0/8; must be a filter "
                         "expression in pcap syntax ("));
    CHECK_FALSE(std::getline(lines, line));
}

}  // namespace tributary
