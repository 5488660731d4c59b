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

/// How flows are to be listed.
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
};

/// Adds the options of a listing: --json, --csv, --sort, --top, --filter, --by, --since and
/// --until.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_listing_options(CLI::App& command, ListingArguments& arguments);
/// What a parsed command line asks for. Times that are so long ago are taken from the system's
/// clock.
///
/// @errors  FilterError, GroupFieldError, CLI::ValidationError
[[nodiscard]] const FlowListingOptions& listing_options(const CLI::App& command,
                                                        ListingArguments& arguments);
/// Tells what went wrong with a listing. @return  exit code
[[nodiscard]] int explain_listing(const ListingResult& result, const std::string& program);

/// Adds `flows`.
void add_flows(CLI::App& app, ListingArguments& arguments);

/// @return  exit code
/// @errors  as listing_options()
/// @thread  main
[[nodiscard]] int run_flows_command(const CLI::App& flows, ListingArguments& arguments);

}  // namespace tributary
