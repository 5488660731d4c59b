// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// What the command line of `tributary plan` says.
struct PlanArguments {
    std::string config_path;
    std::string device;  ///< -i; empty: the configuration's inputs
    std::vector<std::string> sets;
};

/// Adds the subcommand to the program's command line.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_plan(CLI::App& app, PlanArguments& arguments);

/// Prints this machine and where the threads of a configuration had best run on it; what goes wrong
/// is told.
///
/// @return  exit code; 78 for a configuration that is not good
/// @thread  main
[[nodiscard]] int run_plan_command(const PlanArguments& arguments);

}  // namespace tributary
