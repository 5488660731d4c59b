// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "export/collector_events.hpp"

namespace tributary {

/// Sets up the log: one line an event on standard error, so that standard output stays free for
/// results. Where that is the journal, a line has its level before it as sd-daemon(3) wants, and
/// the journal its own time.
/// @thread  main
void set_up_log(LogLevel level);
/// From now on less important lines are not written.
/// @thread  any
void set_log_level(LogLevel level);
/// From now on lines go where the options say: to their file, which is appended to and changed for
/// the next one when it is full; or on to standard error. Standard error still gets errors, and
/// what cannot be written to the file.
///
/// @errors  StartupError(74): the file cannot be opened, or another process writes it
/// @thread  main, while nobody else logs
void direct_log(const LogOptions& options);
/// Has the log tell how many lines were left out because they came too fast, when no line follows
/// them. To be called once a second or so.
/// @thread  any
void tell_left_out_lines();
/// The next line opens the file of direct_log() anew: somebody may have moved it away.
/// @thread  any
void reopen_log();

/// Writes a collector's event to the log, good news as information, all else as a warning or an
/// error.
/// @thread  any
void log_event(const CollectorEvent& event);

}  // namespace tributary
