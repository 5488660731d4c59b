// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/preparse/preparse.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// The arguments of `tributary preparse`.
struct PreparseArguments {
    PreparseJob job;
    std::optional<std::string> device;  ///< --from; nullopt: --read
    std::string config_path;
    std::vector<std::string> sets;
    std::string destination = "ff:ff:ff:ff:ff:ff";
    unsigned link_wait = 10;  ///< seconds
    std::string log_level = "info";
};

/// Adds the subcommand to the program's command line.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_preparse(CLI::App& app, PreparseArguments& arguments);

/// Runs the subcommand; reports failures.
///
/// @return  exit code, as run_preparse(); 78 for an invalid configuration
/// @thread  main, before any other thread
[[nodiscard]] int run_preparse_command(PreparseArguments& arguments);

}  // namespace tributary
