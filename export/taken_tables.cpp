// SPDX-License-Identifier: Apache-2.0
#include "export/taken_tables.hpp"

#include <algorithm>

#include "export/collector_events.hpp"

namespace tributary {
namespace {

std::string list_of(std::span<const std::string> names) {
    std::string list;
    for (const std::string& name : names) {
        list += list.empty() ? "" : ", ";
        list += name;
    }
    return list;
}

}  // namespace

std::vector<std::string> table_names(const MeteringProcess& metering) {
    if (metering.further.size() >= TakenTables::kMost) {
        throw ExportError("there are more than " + std::to_string(TakenTables::kMost) + " tables");
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
        const auto found = std::ranges::find(names, name);
        if (found == names.end()) {
            throw ExportError(describe(collector) + ": there is no table " + name + " among " +
                              list_of(names));
        }
        taken.add(static_cast<std::size_t>(found - names.begin()));
    }
    return taken;
}

}  // namespace tributary
