// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/base/signals.hpp"

namespace tributary {

struct OfflineJob {
    std::vector<std::string> captures;   ///< read in this order as one stream
    std::string output;                  ///< RFC 5655 file; empty: none, but collectors
    std::string stats_path;              ///< ledger as JSON at exit; empty: none
    std::string destination;             ///< for the log: "flows.ipfix holds"
    std::function<void()> on_written{};  ///< called when the output is whole and closed
};

/// Meters captures into an IPFIX file, to collectors, or both: the packet path of the probe without
/// EAL, huge pages or root.
///
/// @param config  its flows, export and read options and collectors; its inputs are ignored
/// @return        exit code: 0; 66 a capture could not be read, the packets before are written; 74
///                the output could not be written, or a record reached no collector; 128 + signal
///                when interrupted, the packets before are written
/// @errors        ExportError, StartupError: it could not start, also because the first capture
///                cannot be read (66): no output is opened then
/// @thread        main
[[nodiscard]] int run_offline(const OfflineJob& job, const Config& config, Signals& signals);

}  // namespace tributary
