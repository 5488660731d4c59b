// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "export/listing/flow_listing.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// The arguments of a listing of flows.
struct ListingArguments {
    FlowListingOptions options;
    std::string order;
    std::size_t top{};
    std::string filter;
    bool json{};
    bool csv{};
    std::string by;
    std::string since;
    std::string until;
    std::string table;         ///< of `flows` and `show flows`; empty: not given
    std::string write;         ///< of `flows` alone: a file for the listing; "-": standard output
    std::string write_format;  ///< "json", "csv" or "ipfix"
};

/// Adds the options of a listing: --json, --csv, --sort, --top, --filter, --by, --since and
/// --until.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_listing_options(CLI::App& command, ListingArguments& arguments);
/// The options of a parsed command line. Relative times count back from the system's clock.
///
/// @errors  FilterError, GroupFieldError, CLI::ValidationError
[[nodiscard]] const FlowListingOptions& listing_options(const CLI::App& command,
                                                        ListingArguments& arguments);
/// Reports the failure of a listing. @return  exit code
[[nodiscard]] int explain_listing(const ListingResult& result, const std::string& program);

/// Adds `flows`.
void add_flows(CLI::App& app, ListingArguments& arguments);

/// @return  exit code
/// @errors  as listing_options()
/// @thread  main
[[nodiscard]] int run_flows_command(const CLI::App& flows, ListingArguments& arguments);

}  // namespace tributary
