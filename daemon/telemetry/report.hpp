// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/pipeline/ledger.hpp"
#include "export/file_descriptor.hpp"

namespace tributary {

/// Finds out before a run whether the file of `--stats` can be written at its end. What it holds
/// stays until then.
///
/// @return  of a FIFO its open end, to be held until then: its reader would take the end of it for
///          the ledger's
/// @errors  StartupError(74)
[[nodiscard]] FileDescriptor check_stats_path(const std::string& stats_path);

/// Writes what `--stats` asks for; what goes wrong is logged.
///
/// @param stats_path  a file, `-` for standard output, or empty for neither
/// @return            0, or 74
[[nodiscard]] int write_stats(const std::string& json, const std::string& stats_path);

/// The end of a run: logs the ledger, says if it does not add up, and writes it as JSON.
///
/// @param stats_path  of `--stats`: a file, `-` for standard output, or empty for neither
/// @return            0, or a code of sysexits.h: the file could not be written, or the ledger does
/// not add up
[[nodiscard]] int report_ledger(const Ledger& ledger, const std::string& stats_path);

}  // namespace tributary
