// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/config.hpp"
#include "daemon/base/options.hpp"
#include "export/options.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/table_declaration.hpp"

// What the checks of a configuration ask of its declared tables, and of the collectors that take
// them.

namespace tributary {

/// Compiles a table of the configuration. Its name does not matter, so that a wrong one does not
/// hide other faults.
///
/// @param config  its fields have no fault
/// @errors        TableError
[[nodiscard]] std::unique_ptr<const CompiledTable> compile_table(const Config& config,
                                                                 TableDeclaration declaration,
                                                                 ParseMode parse,
                                                                 std::uint16_t trim_length);
/// The same for frames that are parsed whole: elements, sizes and own fields do not depend on that.
///
/// @return  nullptr: the table, or a field, has a fault, which check_tables() tells
[[nodiscard]] std::unique_ptr<const CompiledTable> compile_if_good(
    const Config& config, const TableDeclaration& declaration);

/// Whether the collector gets the records of the table of this name.
[[nodiscard]] bool takes_table(const CollectorOptions& collector, std::string_view name);
/// The declared tables whose records it gets.
[[nodiscard]] std::vector<TableDeclaration> declared_tables_of(const Config& config,
                                                               const CollectorOptions& collector);
/// Whether one of the tables that it gets has biflows.
[[nodiscard]] bool takes_biflows(const Config& config, const CollectorOptions& collector);

/// The names of tributary's own elements in a table's records.
///
/// @param in_key  those of the key; otherwise those of the values
[[nodiscard]] std::vector<std::string> own_elements(const CompiledTable& table, bool in_key);

/// Whether some record of the table, as the collector gets it, has an element of this name, or one
/// whose name for both IP versions it is.
[[nodiscard]] bool has_element(const Config& config, const CollectorOptions& collector,
                               const CompiledTable& table, std::string_view name);

/// Octets of the shortest IPFIX message that holds each template and each record of the table, as
/// the collector gets them.
[[nodiscard]] std::size_t least_message(const Config& config, const CollectorOptions& collector,
                                        const CompiledTable& table);

}  // namespace tributary
