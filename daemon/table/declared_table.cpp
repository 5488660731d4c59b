// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/declared_table.hpp"

#include <cstdint>
#include <string>

#include "flowcache/table/field_reference.hpp"

namespace tributary {
namespace {

/// @errors  TableError
std::optional<FieldGroupId> added_group(const CompiledTable& compiled) {
    if (compiled.group() == nullptr) {
        return std::nullopt;
    }
    const std::optional<FieldGroupId> id = add_field_group(*compiled.group());
    if (!id) {
        throw TableError("its name is that of a field group, or there are " +
                         std::to_string(kMostFieldGroups) + " of them");
    }
    return id;
}

/// A table has timeouts and a direction of its own. Its packets are those that the main table has
/// accounted, with the fields that they have there.
FlowCacheOptions options_of(const CompiledTable& compiled, std::optional<FieldGroupId> group,
                            const FlowCacheOptions& main) {
    const TableDeclaration& declaration = compiled.declaration();
    FlowCacheOptions options{.key = compiled.key(),
                             .max_flows = declaration.max_flows,
                             .idle_timeout = declaration.idle_timeout,
                             .active_timeout = declaration.active_timeout,
                             .direction = declaration.direction,
                             .initiator_by_port = main.initiator_by_port,
                             .tunnel = main.tunnel,
                             .flow_holders = declaration.dump_files,
                             .dump_files = declaration.dump_files};
    if (group && options.key.extension == KeyExtension::declared) {
        options.key.extension_group = static_cast<std::uint8_t>(*group);
    }
    return options;
}

FieldGroups groups_of(std::optional<FieldGroupId> group, bool dump_files) {
    FieldGroups groups;
    groups.set(kFieldGroupId<PacketDumpGroup>, dump_files);
    if (group) {
        groups.set(*group);
    }
    return groups;
}

}  // namespace

DeclaredTable::DeclaredTable(const TableDeclaration& declaration, std::span<const OwnField> own,
                             const TableUse& use, const FlowCacheOptions& main, std::size_t index)
    : compiled_(declaration, own, use),
      group_(added_group(compiled_)),
      options_(options_of(compiled_, group_, main)),
      layout_(RecordLayout::of(groups_of(group_, declaration.dump_files), declaration.direction)),
      index_(index) {}

DeclaredTable::~DeclaredTable() {
    if (group_) {
        remove_field_group(*group_);
    }
}

}  // namespace tributary
