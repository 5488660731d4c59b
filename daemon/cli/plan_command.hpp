// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// The arguments of `tributary plan`.
struct PlanArguments {
    std::string config_path;
    std::string device;  ///< -i; empty: the configuration's inputs
    std::vector<std::string> sets;
};

/// Adds the subcommand to the program's command line.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_plan(CLI::App& app, PlanArguments& arguments);

/// Prints this machine and the best placement of a configuration's threads; reports failures.
///
/// @return  exit code; 78 for an invalid configuration
/// @thread  main
[[nodiscard]] int run_plan_command(const PlanArguments& arguments);

}  // namespace tributary
