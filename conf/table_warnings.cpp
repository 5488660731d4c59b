// SPDX-License-Identifier: Apache-2.0
#include "conf/table_warnings.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "conf/config_change.hpp"
#include "conf/declared_tables.hpp"
#include "export/options.hpp"
#include "flowcache/table/compiled_table.hpp"

namespace tributary {
namespace {

using Warnings = std::vector<std::string>;

/// Warns of a table whose records no collector gets. Without any collector, as in a run on
/// captures, none could.
void warn_of_destination(const Config& config, std::string_view table, Warnings& warnings) {
    const std::vector<CollectorOptions>& collectors = config.export_.collectors;
    const auto takes_it = [table](const CollectorOptions& collector) {
        return takes_table(collector, table);
    };
    if (!collectors.empty() && std::ranges::none_of(collectors, takes_it)) {
        warnings.push_back("table " + std::string(table) +
                           " goes to no collector; add it to the tables of an item of "
                           "export.collectors");
    }
}

void warn_of_fields(const Config& config, Warnings& warnings) {
    std::set<std::size_t> used;
    for (const TableDeclaration& table : config.tables) {
        if (const auto compiled = compile_if_good(config, table)) {
            used.insert(compiled->own_fields().begin(), compiled->own_fields().end());
        }
    }
    for (std::size_t index = 0; index < config.fields.size(); ++index) {
        if (!used.contains(index)) {
            warnings.push_back("fields." + std::to_string(index) + ", " +
                               config.fields[index].name +
                               ", is in no table's key or values: no record has it");
        }
    }
}

/// Of timeouts as in `flows` there is a warning already.
void warn_of_timeouts(const Config& config, std::size_t index, Warnings& warnings) {
    const TableDeclaration& table = config.tables[index];
    const bool are_of_flows = table.idle_timeout == config.flows.idle_timeout &&
                              table.active_timeout == config.flows.active_timeout;
    if (!are_of_flows && table.idle_timeout > table.active_timeout) {
        const std::string path = "tables." + std::to_string(index);
        warnings.push_back(path + ".idle-timeout is longer than " + path +
                           ".active-timeout: no record ends by it");
    }
}

void warn_of_left_out_values(const Config& config, std::size_t collector, Warnings& warnings) {
    const CollectorOptions& options = config.export_.collectors[collector];
    if (options.enterprise_elements) {
        return;
    }
    for (const TableDeclaration& table : declared_tables_of(config, options)) {
        const auto compiled = compile_if_good(config, table);
        const std::vector<std::string> own =
            compiled != nullptr ? own_elements(*compiled, false) : std::vector<std::string>{};
        if (!own.empty()) {
            warnings.push_back("export.collectors." + std::to_string(collector) +
                               ".enterprise-elements is false: its records of table " + table.name +
                               " are without " + listed(own));
        }
    }
}

}  // namespace

std::vector<std::string> table_warnings(const Config& config) {
    Warnings warnings;
    warn_of_destination(config, kMainTable, warnings);
    for (std::size_t index = 0; index < config.tables.size(); ++index) {
        warn_of_destination(config, config.tables[index].name, warnings);
        warn_of_timeouts(config, index, warnings);
    }
    warn_of_fields(config, warnings);
    for (std::size_t index = 0; index < config.export_.collectors.size(); ++index) {
        warn_of_left_out_values(config, index, warnings);
    }
    return warnings;
}

}  // namespace tributary
