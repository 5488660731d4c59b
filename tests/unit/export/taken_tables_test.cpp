// SPDX-License-Identifier: Apache-2.0
#include "export/taken_tables.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace tributary;

TEST_CASE("taken_tables: names of the process's tables, in any order", "[export][unit]") {
    MeteringProcess metering;
    metering.further = {{.name = "nets", .layout = {}}, {.name = "ports", .layout = {}}};
    const std::vector<std::string> names = table_names(metering);
    CHECK(names == std::vector<std::string>{"main", "nets", "ports"});
    CollectorOptions collector;
    collector.host = "h";
    collector.port = 1;
    TakenTables main;
    main.add(0);
    CHECK(taken_tables(collector, names) == main);
    collector.tables = {"ports", "main", "ports"};
    const TakenTables both = taken_tables(collector, names);
    CHECK(both.has(0));
    CHECK_FALSE(both.has(1));
    CHECK(both.has(2));
    collector.tables = {};
    CHECK(taken_tables(collector, names) == TakenTables{});
    collector.tables = {"main", "net"};
    CHECK_THROWS_WITH(taken_tables(collector, names),
                      "udp h:1: there is no table net among main, nets, ports");
    metering.further.resize(TakenTables::kMost);
    CHECK_THROWS_AS(table_names(metering), ExportError);
}
