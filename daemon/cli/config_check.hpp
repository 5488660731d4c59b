// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "conf/config.hpp"
#include "daemon/cli/command_line.hpp"
#include "daemon/filter/filter_check.hpp"

namespace tributary {

/// Checks a configuration without running it, for `tributaryd --check-config` and `tributary
/// check`: by itself, its filters by libpcap, and against this machine. Warnings go to the log.
///
/// @return  what it would run, in lines for standard output
/// @errors  ConfigError with all faults
/// @thread  main
[[nodiscard]] std::string check_configuration(const CommandLine& command_line);

/// What a valid configuration runs, in lines.
///
/// @param use         offline: packets come from captures
/// @param executions  of check_filters()
/// @thread  any
[[nodiscard]] std::string summary_of(const Config& config, ConfigUse use,
                                     const FilterExecutions& executions);

}  // namespace tributary
