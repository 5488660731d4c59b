// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/cli/control_commands.hpp"
#include "daemon/cli/flows_command.hpp"
#include "daemon/cli/plan_command.hpp"
#include "daemon/cli/preparse_command.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's
namespace CLI {
class App;
}

namespace tributary {

/// The arguments of `tributary`, by subcommand.
struct TributaryArguments {
    ListingArguments flows;
    PreparseArguments preparse;
    PlanArguments plan;
    ControlArguments control;
};

/// Gives an empty app the name, description, options and subcommands of `tributary`, from which its
/// help, its manual page and its completion are made.
///
/// @param arguments  filled when the command line is parsed; outlives the app
/// @thread           any
void define_tributary(CLI::App& app, TributaryArguments& arguments);

}  // namespace tributary
