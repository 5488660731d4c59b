// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/pipeline/ledger.hpp"
#include "export/file_descriptor.hpp"

namespace tributary {

/// Checks before a run that the file of `--stats` can be written at its end. Its content stays
/// until then.
///
/// @return  the open end of a FIFO, to be held until then: its reader would take a closed end for
///          the end of the ledger
/// @errors  StartupError(74)
[[nodiscard]] FileDescriptor check_stats_path(const std::string& stats_path);

/// Writes the file of `--stats`; logs failures.
///
/// @param stats_path  a file, `-` for standard output, or empty for neither
/// @return            0, or 74
[[nodiscard]] int write_stats(const std::string& json, const std::string& stats_path);

/// The end of a run: logs the ledger, logs an imbalance, and writes the ledger as JSON.
///
/// @param stats_path  of `--stats`: a file, `-` for standard output, or empty for neither
/// @return            0, or a code of sysexits.h: the file could not be written, or the ledger does
/// not add up
[[nodiscard]] int report_ledger(const Ledger& ledger, const std::string& stats_path);

}  // namespace tributary
