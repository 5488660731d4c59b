// SPDX-License-Identifier: Apache-2.0
#include "conf/config_change.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "conf/keys.hpp"

using namespace tributary;

using Keys = std::vector<std::string>;

namespace {

InputOptions input(const char* name, const char* device) {
    InputOptions made;
    made.name = name;
    made.device = device;
    return made;
}

CollectorOptions collector(const char* host) {
    CollectorOptions made;
    made.host = host;
    return made;
}

Config one_input() {
    Config config;
    config.inputs.push_back(input("up", "0000:3b:00.0"));
    config.export_.collectors.push_back(collector("192.0.2.1"));
    return config;
}

}  // namespace

TEST_CASE("config change: equal configurations do not differ", "[conf][unit]") {
    const ConfigChange change = compare(one_input(), one_input());
    CHECK(change.reloadable.empty());
    CHECK(change.needs_restart.empty());
}

TEST_CASE("config change: what a running probe can take", "[conf][unit]") {
    Config wanted = one_input();
    wanted.inputs[0].filter = "udp";
    wanted.flows.idle_timeout = std::chrono::seconds(7);
    wanted.flows.active_timeout = std::chrono::seconds(8);
    wanted.flows.tcp_end_timeout = std::chrono::seconds(9);
    wanted.export_.flush_interval = std::chrono::milliseconds(9);
    wanted.export_.collectors[0].port = 99;
    wanted.log.level = LogLevel::debug;
    const ConfigChange change = compare(one_input(), wanted);
    CHECK(change.reloadable == Keys{"export.collectors", "export.flush-interval",
                                    "flows.active-timeout", "flows.idle-timeout",
                                    "flows.tcp-end-timeout", "inputs.0.filter", "log.level"});
    CHECK(change.needs_restart.empty());
    CHECK(change.ways ==
          std::set{Apply::to_export, Apply::to_filters, Apply::to_timeouts, Apply::to_log_level});
}

TEST_CASE("config change: what decides on memory, threads, NICs and addresses", "[conf][unit]") {
    Config wanted = one_input();
    wanted.inputs[0].queues = 2;
    wanted.flows.max_flows = 3;
    wanted.flows.direction = FlowDirection::biflow;
    wanted.cores.numa = NumaPolicy::off;
    wanted.telemetry.listen = "";
    wanted.control.socket = "";
    wanted.export_.spool = {.directory = "/a", .max_octets = 1U << 24U};
    const ConfigChange change = compare(one_input(), wanted);
    CHECK(change.reloadable == Keys{"export.spool.max-size"});
    CHECK(change.needs_restart == Keys{"control.socket", "cores.numa", "export.spool.directory",
                                       "flows.direction", "flows.max-flows", "inputs.0.queues",
                                       "telemetry.listen"});
}

TEST_CASE("config change: a way is there only if one of its keys has changed", "[conf][unit]") {
    Config wanted = one_input();
    wanted.flows.active_timeout = std::chrono::seconds(8);
    CHECK(compare(one_input(), wanted).ways == std::set{Apply::to_timeouts});
    wanted = one_input();
    wanted.export_.collectors[0].spool.directory = "/a";
    CHECK(compare(one_input(), wanted).ways == std::set{Apply::to_export});
    wanted = one_input();
    wanted.flows.max_flows = 3;
    CHECK(compare(one_input(), wanted).ways.empty());
}

TEST_CASE("config change: each key says how a reload applies it", "[conf][unit]") {
    for (const Setting& setting : settings_of(one_input())) {
        INFO(setting.path);
        CHECK(setting.apply != Apply::as_section);
    }
}

TEST_CASE("config change: items of lists come and go", "[conf][unit]") {
    Config more = one_input();
    more.export_.collectors.push_back(collector("192.0.2.2"));
    const ConfigChange added = compare(one_input(), more);
    const ConfigChange removed = compare(more, one_input());
    CHECK(added.needs_restart.empty());
    CHECK_FALSE(added.reloadable.empty());
    CHECK(removed.reloadable == added.reloadable);
    more.inputs.push_back(input("down", "0000:3b:00.1"));
    CHECK_FALSE(compare(one_input(), more).needs_restart.empty());
}

TEST_CASE("config change: tables and fields come, change and go by a reload", "[conf][unit]") {
    Config with = one_input();
    with.fields = {{.name = "x"}, {.name = "y"}};
    with.tables = {{.name = "a", .filter = {}, .key = {"x"}, .values = {}},
                   {.name = "b", .filter = {}, .key = {"y"}, .values = {}}};
    const Keys both{"fields", "tables"};
    CHECK(compare(one_input(), with).needs_restart.empty());
    CHECK(compare(one_input(), with).reloadable == both);
    CHECK(compare(with, one_input()).reloadable == both);
    CHECK(compare(with, one_input()).ways.contains(Apply::to_tables));
    Config wanted = with;
    wanted.tables[1].values = {"max(x)"};
    CHECK(compare(with, wanted).reloadable == Keys{"tables"});
    CHECK(compare(with, wanted).ways == std::set{Apply::to_tables});
    wanted.tables.pop_back();
    CHECK(compare(with, wanted).reloadable == Keys{"tables"});
    CHECK(compare(wanted, with).reloadable == Keys{"tables"});
    wanted = with;
    wanted.tables[1].idle_timeout += std::chrono::seconds(1);
    CHECK(compare(with, wanted).needs_restart.empty());
    CHECK(compare(with, wanted).reloadable == Keys{"tables"});
    CHECK(compare(with, wanted).ways == std::set{Apply::to_timeouts});
    wanted = with;
    wanted.fields.push_back({.name = "z"});
    CHECK(compare(with, wanted).reloadable == Keys{"fields"});
    CHECK(compare(with, wanted).ways == std::set{Apply::to_tables});
    CHECK(compare(with, with).needs_restart.empty());
}

TEST_CASE("config change: a collector takes other tables by a reload", "[conf][unit]") {
    Config running = one_input();
    running.tables = {{.name = "a", .filter = {}, .key = {"ipVersion"}, .values = {}}};
    Config wanted = running;
    wanted.export_.collectors[0].tables = {"main", "a"};
    const ConfigChange change = compare(running, wanted);
    CHECK(change.reloadable == Keys{"export.collectors"});
    CHECK(change.needs_restart.empty());
    CHECK(change.ways == std::set{Apply::to_export});
}

TEST_CASE("listed: words in one line", "[conf][unit]") {
    CHECK(listed({}).empty());
    CHECK(listed({"a"}) == "a");
    CHECK(listed({"a", "b"}) == "a and b");
    CHECK(listed({"a", "b", "c"}) == "a, b and c");
}
