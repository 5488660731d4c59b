// SPDX-License-Identifier: Apache-2.0
#include "export/taken_tables.hpp"

#include <set>
#include <string_view>

#include "export/collector_events.hpp"

namespace tributary {
namespace {

std::string list_of(std::span<const std::string> names) {
    std::string list;
    std::set<std::string_view> listed{""};  // that of a free place
    for (const std::string& name : names) {
        if (listed.insert(name).second) {
            list += list.empty() ? "" : ", ";
            list += name;
        }
    }
    return list;
}

}  // namespace

std::vector<std::string> table_names(const MeteringProcess& metering) {
    if (metering.further.size() > kTablePlaces) {
        throw ExportError("there are more than " + std::to_string(kTablePlaces) +
                          " further tables");
    }
    std::vector<std::string> names{std::string(kMainTable)};
    for (const FurtherTable& table : metering.further) {
        names.push_back(table.name);
    }
    return names;
}

TakenTables taken_tables(const CollectorOptions& collector, std::span<const std::string> names) {
    TakenTables taken;
    for (const std::string& name : collector.tables) {
        bool is_there = false;
        for (std::size_t table = 0; table < names.size(); ++table) {
            if (names[table] == name) {
                taken.add(table);
                is_there = true;
            }
        }
        if (!is_there) {
            throw ExportError(describe(collector) + ": there is no table " + name + " among " +
                              list_of(names));
        }
    }
    return taken;
}

}  // namespace tributary
