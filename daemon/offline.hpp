// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/signals.hpp"

namespace tributary {

struct OfflineJob {
    std::vector<std::string> captures;  ///< read in this order as one stream
    std::string output;                 ///< RFC 5655 file
    std::string stats_path;             ///< ledger as JSON at exit; empty: none
};

/// Meters captures into an IPFIX file: the packet path of the probe without EAL, huge pages or
/// root.
///
/// @param config  its flows, export and read options; inputs and collectors are ignored
/// @return        exit code: 0; 66 a capture could not be read, what came before it is written;
///                74 the output could not be written; 128 + signal when interrupted, what came
///                before is written
/// @errors        ExportError, StartupError: it could not start
/// @thread        main
[[nodiscard]] int run_offline(const OfflineJob& job, const Config& config, Signals& signals);

}  // namespace tributary
