// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "export/collector_events.hpp"

namespace tributary {

/// Sets up the log: one line per event on standard error, so that standard output stays free for
/// results. For the journal, a line begins with its level (sd-daemon(3)) and has no time.
/// @thread  main
void set_up_log(LogLevel level);
/// Less important lines are not written from now on.
/// @thread  any
void set_log_level(LogLevel level);
/// Sends lines to the options' destination from now on: to a file, which is appended to and rotated
/// when it is full; or to standard error. Standard error still gets errors, and lines that cannot
/// be written to the file.
///
/// @errors  StartupError(74): the file cannot be opened, or another process writes it
/// @thread  main, while no other thread logs
void direct_log(const LogOptions& options);
/// Logs how many lines were left out because they came too fast, when no line follows them. Call it
/// about once a second.
/// @thread  any
void log_left_out_lines();
/// The next line opens the file of direct_log() anew: it may have been moved away.
/// @thread  any
void reopen_log();

/// Logs a collector's event: good news as information, others as a warning or an error.
/// @thread  any
void log_event(const CollectorEvent& event);

}  // namespace tributary
