// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "export/listing/flow_filter.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/own_field.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// The table of flows that triggers look at, as far as they need it. It outlives the table itself
/// where a reload takes that away, because packets of its flows may still be wanted.
///
/// @thread  any: it does not change
struct WatchedTable {
    std::string name;
    RecordLayout layout;
    FlowCacheOptions options;  ///< key and direction; the extractor is that of `compiled`
    TableElements elements;    ///< of its records
    ParseOptions parse;        ///< of its packets
    FragmentMode fragments = FragmentMode::zero;  ///< of the main table
    std::chrono::seconds fragment_timeout{0};     ///< likewise
    /// Of a declared table, compiled anew for whole packets; nullptr: the main table.
    std::unique_ptr<const CompiledTable> compiled{};
    std::vector<std::string> filters{};  ///< in pcap syntax: its packets pass all of them

    [[nodiscard]] bool is_main() const noexcept { return compiled == nullptr; }
};

/// The main table.
[[nodiscard]] WatchedTable watch_main(const RecordLayout& layout, const FlowCacheOptions& options,
                                      const ParseOptions& parse);
/// A declared table, as its queues have it.
struct DeclaredParts {
    const CompiledTable& table;
    const RecordLayout& layout;
    const FlowCacheOptions& options;  ///< of its caches
};
/// A declared table.
///
/// @param main   options of the main table
/// @param own    fields of the user's own that it uses
/// @param parse  of its packets
/// @errors       TableError; std::bad_alloc
[[nodiscard]] WatchedTable watch_declared(const DeclaredParts& parts, const FlowCacheOptions& main,
                                          std::span<const OwnField> own, const ParseOptions& parse);

/// Other words for the elements of a table's values.
[[nodiscard]] FlowFilter::Aliases aliases_of(const CompiledTable& table);

}  // namespace tributary
