// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/cli/flows_command.hpp"

namespace tributary {

/// What the command line says to those subcommands that talk to a running tributaryd.
struct ControlArguments {
    std::string socket;
    std::uint32_t timeout = 30;  ///< seconds that tributaryd may be silent
    bool is_json = false;        ///< stats
    bool is_all = false;         ///< stats
    ListingArguments listing;    ///< show flows
    std::uint32_t interval = 2;  ///< top: seconds between two looks
    std::uint32_t count = 0;     ///< top: looks; 0: until it is ended
    std::uint32_t flows = 10;    ///< top: flows that are shown
    std::string config;          ///< check
};

/// Adds `stats`, `show flows`, `top`, `flush`, `reload` and `check`.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_control_commands(CLI::App& app, ControlArguments& arguments);

/// Runs the one that was given, if one was.
///
/// @return  exit code; nothing: it was none of these
/// @errors  FilterError
/// @thread  main
[[nodiscard]] std::optional<int> run_control_command(const CLI::App& app,
                                                     ControlArguments& arguments);

}  // namespace tributary
