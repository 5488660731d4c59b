// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "conf/load_config.hpp"
#include "daemon/base/file_uses.hpp"
#include "daemon/base/signals.hpp"

namespace tributary {

struct ProbeOptions {
    std::chrono::seconds stats_interval{60};  ///< between statistics lines; 0: only on SIGUSR1
    std::string stats_path;                   ///< ledger as JSON at exit; empty: none
    std::vector<FileUse> files;               ///< beside the collectors' files, for a reload
    std::optional<LogLevel> log_level;        ///< instead of the configuration's
    /// Loads the present configuration for a reload; its filters are not checked.
    /// @errors  ConfigError
    std::function<LoadedConfig()> load;
};

/// Runs as a probe until SIGINT or SIGTERM: packets from NICs, records to the collector.
///
/// @return  exit code, one of sysexits.h
/// @errors  StartupError, ExportError: it could not start
/// @thread  main
[[nodiscard]] int run_probe(const Config& config, const ProbeOptions& options, Signals& signals);

}  // namespace tributary
