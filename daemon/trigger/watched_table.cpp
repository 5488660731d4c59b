// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/watched_table.hpp"

namespace tributary {

WatchedTable watch_main(const RecordLayout& layout, const FlowCacheOptions& options,
                        const ParseOptions& parse) {
    return {.name = std::string(kMainTable),
            .layout = layout,
            .options = options,
            .elements = {.key = options.key, .is_declared = false, .name = {}},
            .parse = parse,
            .fragments = options.fragments,
            .fragment_timeout = options.fragment_timeout};
}

WatchedTable watch_declared(const DeclaredParts& parts, const FlowCacheOptions& main,
                            std::span<const OwnField> own, const ParseOptions& parse) {
    const TableDeclaration& declaration = parts.table.declaration();
    WatchedTable watched{.name = declaration.name,
                         .layout = parts.layout,
                         .options = parts.options,
                         .elements = {.key = parts.options.key, .is_declared = true, .name = {}},
                         .parse = parse,
                         .fragments = main.fragments,
                         .fragment_timeout = main.fragment_timeout};
    watched.compiled = std::make_unique<const CompiledTable>(
        declaration, own, TableUse{.parse = parse, .packets = TablePackets::whole});
    watched.options.key.extractor = watched.compiled->extractor();
    watched.elements.key.extractor = watched.compiled->extractor();
    if (!declaration.filter.empty()) {
        watched.filters.push_back(declaration.filter);
    }
    for (const std::size_t field : watched.compiled->own_fields()) {
        if (!own[field].when.empty()) {
            watched.filters.push_back(own[field].when);
        }
    }
    return watched;
}

FlowFilter::Aliases aliases_of(const CompiledTable& table) {
    FlowFilter::Aliases aliases;
    for (const CompiledTable::ValueElement& each : table.value_elements()) {
        aliases.emplace(each.value, each.element);
    }
    return aliases;
}

}  // namespace tributary
