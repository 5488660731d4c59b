// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "conf/config.hpp"
#include "daemon/signals.hpp"

namespace tributary {

struct ProbeOptions {
    std::chrono::seconds stats_interval{60};  ///< between statistics lines; 0: only on SIGUSR1
    std::string stats_path;                   ///< ledger as JSON at exit; empty: none
};

/// Runs as a probe until SIGINT or SIGTERM: packets from NICs, records to the collector.
///
/// @return  exit code, one of sysexits.h
/// @errors  StartupError, ExportError: it could not start
/// @thread  main
[[nodiscard]] int run_probe(const Config& config, const ProbeOptions& options, Signals& signals);

}  // namespace tributary
