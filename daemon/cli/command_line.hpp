// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "conf/load_config.hpp"
#include "daemon/base/file_uses.hpp"

namespace tributary {

/// Unknown or contradictory words on the command line: one line and a hint, exit code 64.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The words of --log-level.
[[nodiscard]] const std::map<std::string, LogLevel>& log_levels();

inline constexpr const char* kDefaultConfig = "/etc/tributary/tributary.yaml";

/// tributaryd's command line.
struct CommandLine {
    enum class Task {
        probe,         ///< packets from NICs
        offline,       ///< `--read`
        check_config,  ///< only load and validate
        dump_config,   ///< print the effective configuration
        answer,        ///< print `answer`: the help or the version
    };
    Task task = Task::probe;
    std::string answer;
    ConfigUse use = ConfigUse::probe;         ///< the use of the configuration
    std::string config_path;                  ///< empty: none
    std::string device;                       ///< -i
    std::vector<std::string> collectors;      ///< -n, some when `device` is set
    std::vector<std::string> sets;            ///< KEY=VALUE each
    std::vector<std::string> captures;        ///< --read, in order
    std::string output;                       ///< --write; empty: none
    bool exports = false;                     ///< --export: to the configuration's collectors
    bool prints_table = false;                ///< with captures and no output: their flows
    std::string stats_path;                   ///< --stats; "-": standard output; empty: none
    std::chrono::seconds stats_interval{60};  ///< 0: never
    std::optional<LogLevel> log_level;        ///< instead of the configuration's
};

/// Reads tributaryd's command line.
///
/// @param arguments    argv, the program's name first
/// @param is_terminal  standard output is a terminal: flows of captures without an output are
///                     printed there
/// @errors             UsageError
/// @thread             any
[[nodiscard]] CommandLine parse_command_line(std::span<const char* const> arguments,
                                             bool is_terminal);

/// Loads the command line's configuration: from a file, from -i and -n, or with --read alone the
/// defaults; with the collectors of -n.
///
/// @param further  check_filters(), or none if the caller checks them: that can take seconds
/// @errors         ConfigError
/// @thread         main
[[nodiscard]] LoadedConfig load_config(const CommandLine& command_line,
                                       const FurtherCheck& further);

/// The files that a run reads and writes, except the collectors'.
[[nodiscard]] std::vector<FileUse> files_of_run(const CommandLine& command_line,
                                                const Config& config);

}  // namespace tributary
