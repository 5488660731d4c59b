// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "export/listing/element_names.hpp"
#include "export/listing/flow_filter.hpp"
#include "export/listing/flow_groups.hpp"
#include "export/listing/flow_window.hpp"

namespace tributary {

enum class FlowOrder : std::uint8_t {
    as_read,  ///< of groups: by octets
    octets,   ///< most first, of both directions of a biflow; equal ones as read
    packets,  ///< the same
    rate,     ///< octets per second; shorter flows count as one of a second
    flows,    ///< of groups; of flows the same as as_read
    /// One of the ListedCounts, of both directions; flows without it last.
    count,
};

enum class ListingFormat : std::uint8_t {
    table,
    json,        ///< one object a line
    csv,         ///< a header, and one line a flow
    entry_json,  ///< one object a line, as a collector with `format: json` gets it
    ipfix,       ///< the records themselves; neither sorted nor `top`
};

struct FlowListingOptions {
    /// IPFIX files and directories of them, one listing; "-": standard input. Files compressed by
    /// gzip, xz or zstd are read too.
    std::vector<std::string> files;
    ListingFormat format{};
    FlowOrder order = FlowOrder::as_read;
    std::size_t count{};  ///< which of the ListedCounts, for that order
    std::optional<std::size_t>
        top;  ///< only so many flows or groups; by octets when the order is as_read
    FlowFilter filter;
    FlowWindow window;
    std::optional<std::string> table;  ///< only the records of this one; nothing: of all
    std::vector<GroupField>
        by;  ///< groups of flows that agree in these, instead of flows; empty: none
    std::shared_ptr<const ElementRegistry> registry;  ///< nullptr: one is made
};

enum class ListingStatus : std::uint8_t {
    ok,
    data_error,     ///< an input is no IPFIX, or broken, or has more templates than are kept
    no_input,       ///< an input cannot be read
    usage,          ///< what was asked for does not fit the inputs: their tables, their elements
    write_failure,  ///< the output takes no more
    output_closed,  ///< the output's reader has closed it: no fault
};

struct ListingResult {
    ListingStatus status{};
    std::string message;  ///< one line without its end; empty when all is well
};

/// Lists the flows of IPFIX files, as `tributary flows` does. Flows before a fault are listed.
///
/// As read, and with `top`, memory is bounded; sorting alone keeps all flows that match, grouping
/// all groups. Options records are in the JSON of an unsorted, unfiltered listing; in IPFIX also in
/// a filtered one those that describe elements.
///
/// Records of several tables are never added up: groups, `top` and the summary of a table end with
/// ListingStatus::usage unless one table is chosen.
/// @param out      the listing
/// @param warning  called with faults that do not end the listing; one line without its end
[[nodiscard]] ListingResult list_flows(const FlowListingOptions& options, std::ostream& out,
                                       const std::function<void(const std::string&)>& warning);

/// The same for IPFIX from a stream; `options.files` is ignored.
///
/// @param name  of the stream, for messages to the user
[[nodiscard]] ListingResult list_flow_stream(
    std::istream& input, const std::string& name, const FlowListingOptions& options,
    std::ostream& out, const std::function<void(const std::string&)>& warning);

}  // namespace tributary
