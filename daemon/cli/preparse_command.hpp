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

/// What the command line of `tributary preparse` says.
struct PreparseArguments {
    PreparseJob job;
    std::optional<std::string> device;  ///< --from; nothing: --read
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

/// Runs the subcommand; what goes wrong is told.
///
/// @return  exit code, as run_preparse(); 78 for a configuration that is not good
/// @thread  main, before any other
[[nodiscard]] int run_preparse_command(PreparseArguments& arguments);

}  // namespace tributary
