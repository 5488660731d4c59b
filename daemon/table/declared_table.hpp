// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "export/metering_process.hpp"
#include "flowcache/fields/field_groups.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/table_declaration.hpp"

namespace tributary {

/// A declared table as a probe has it: compiled, its field group among the groups of all records,
/// and what a cache needs to keep it.
///
/// @thread  made by main; read by any; destroyed by the last that uses it
class DeclaredTable {
public:
    /// @param own    all fields of the user's own; need not outlive it
    /// @param main   of the main table: what a packet's fields are made with
    /// @param index  of the table among those of the MeteringProcess, from 1
    /// @errors       TableError
    DeclaredTable(const TableDeclaration& declaration, std::span<const OwnField> own,
                  const TableUse& use, const FlowCacheOptions& main, std::size_t index);
    DeclaredTable(const DeclaredTable&) = delete;
    DeclaredTable& operator=(const DeclaredTable&) = delete;
    ~DeclaredTable();

    [[nodiscard]] const CompiledTable& compiled() const noexcept { return compiled_; }
    [[nodiscard]] const FlowCacheOptions& options() const noexcept { return options_; }
    [[nodiscard]] const RecordLayout& layout() const noexcept { return layout_; }
    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    /// As the exporters know it.
    [[nodiscard]] FurtherTable for_export() const {
        return {.name = compiled_.declaration().name,
                .layout = layout_,
                .elements = {.key = options_.key, .is_declared = true}};
    }

private:
    CompiledTable compiled_;
    std::optional<FieldGroupId> group_;  ///< none: records have their key, counts and times alone
    FlowCacheOptions options_;
    RecordLayout layout_;
    std::size_t index_;
};

}  // namespace tributary
