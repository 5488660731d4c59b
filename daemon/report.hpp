// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "daemon/command_line.hpp"
#include "daemon/ledger.hpp"
#include "export/collector_events.hpp"

namespace tributary {

/// Sets up the log: one line an event on standard error, so that standard output stays free for
/// results. Where that is the journal, a line has its level before it as sd-daemon(3) wants, and
/// the journal its own time.
void set_up_log(LogLevel level);
/// From now on less important lines are not written.
/// @thread  any
void set_log_level(LogLevel level);

/// Writes a collector's event to the log, good news as information, all else as a warning or an
/// error.
/// @thread  any
void log_event(const CollectorEvent& event);

/// Finds out before a run whether the file of `--stats` can be written at its end.
///
/// @errors  StartupError(74)
void check_stats_path(const std::string& stats_path);

/// Refuses to write over what is to be read, or two things into one file.
///
/// @param output      of `--write`, or a collector's file; empty: none
/// @param stats_path  of `--stats`; empty: none
/// @errors            StartupError(64)
void refuse_overwriting(std::span<const std::string> captures, const std::string& output,
                        const std::string& stats_path);

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
