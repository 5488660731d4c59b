// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/cli/dump_client.hpp"
#include "daemon/cli/flows_command.hpp"

namespace tributary {

/// The arguments of the subcommands for a running tributaryd.
struct ControlArguments {
    std::string socket;
    std::uint32_t timeout = 30;  ///< longest silence of tributaryd, in seconds
    bool is_json = false;        ///< stats
    bool is_all = false;         ///< stats
    ListingArguments listing;    ///< show flows
    std::uint32_t interval = 2;  ///< top: seconds between two looks
    std::uint32_t count = 0;     ///< top: looks; 0: no limit
    std::uint32_t flows = 10;    ///< top: flows to show
    std::string config;          ///< check
    DumpClientArguments dump;
    TriggerClientArguments trigger;
};

/// Adds `stats`, `show flows`, `top`, `flush`, `reload`, `dump`, `trigger` and `check`.
///
/// @param arguments  filled when the command line is parsed; outlives the app
void add_control_commands(CLI::App& app, ControlArguments& arguments);

/// Runs the given one, if any.
///
/// @return  exit code; nullopt: none of these was given
/// @errors  FilterError
/// @thread  main
[[nodiscard]] std::optional<int> run_control_command(const CLI::App& app,
                                                     ControlArguments& arguments);

}  // namespace tributary
