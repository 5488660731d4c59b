// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared by the programs' main functions.

namespace tributary {

/// Opens closed standard streams, because otherwise the next opened file would become one of them
/// and get the log. They lead to /dev/null, and standard output to /dev/full: records or text for
/// it are lost, which is an error. Call it before any file is opened.
/// @thread  main
void reserve_standard_streams();

/// Raises the process's descriptor limit to its hard limit, at most 65,536: spools, queues and
/// connections of many collectors need more than the usual 1024.
/// @thread  main
void raise_descriptor_limit() noexcept;

/// Logs the present exception in one line, and returns its exit code. Call it in a handler.
///
/// @param program  its name, for usage errors
/// @return         a code of sysexits.h
/// @thread         main
[[nodiscard]] int explain_failure(const char* program);

}  // namespace tributary
