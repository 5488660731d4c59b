// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conf/load_config.hpp"
#include "daemon/filter/filter_compilation.hpp"
#include "daemon/probe_filters.hpp"
#include "daemon/table/table_set.hpp"

namespace tributary {

/// The filters that a reload changes, and those of its new tables, while they are compiled and
/// their host names resolved. It skips unchanged filters.
///
/// @thread  main, which never waits
class FilterChange {
public:
    /// After a longer wait for the resolver the reload fails, before `tributary reload` gives up.
    static constexpr std::chrono::seconds kPatience{20};

    /// Begins to compile the changed filters.
    ///
    /// @param wanted     with the inputs of `running`; outlives this
    /// @param of_tables  the filters of new tables
    FilterChange(const Config& running, const LoadedConfig& wanted,
                 const std::vector<TableFilter>& of_tables);

    /// Whether all are compiled.
    ///
    /// @errors  ConfigError: one cannot be compiled, or not in time
    [[nodiscard]] bool is_ready();
    /// Gives the inputs their filters, once, when all are ready.
    ///
    /// @errors  ThreadHangs: the inputs before it have their new filters
    void apply(ProbeFilters& filters, const ProbeFilters::Give& give);
    /// Gives away the filters of new tables, in their order, once, when all are ready.
    [[nodiscard]] std::vector<std::unique_ptr<PacketFilter>> take_of_tables();

private:
    struct Change {
        std::optional<std::size_t> input;  ///< nothing: it is a new table's
        std::string path;                  ///< of its key
        std::string expression;
        std::unique_ptr<FilterCompilation> compilation;  ///< nullptr: it has ended
        std::unique_ptr<PacketFilter> filter;            ///< nullptr: all packets are to pass
    };

    void begin(std::optional<std::size_t> input, std::string path, std::string expression);
    void take_outcome(Change& change);

    const LoadedConfig& wanted_;
    std::vector<Change> changes_;
    std::chrono::steady_clock::time_point end_;
};

}  // namespace tributary
