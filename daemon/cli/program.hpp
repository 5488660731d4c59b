// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the mains of the programs share.

namespace tributary {

/// Started with standard streams closed, the next file to be opened would become one of them and
/// get the log. They lead to /dev/null then, and standard output to /dev/full: records or text for
/// it are lost, which is an error. Call it before any file is opened.
/// @thread  main
void reserve_standard_streams();

/// Lets the process have as many descriptors as it may at all, up to 65,536: spools, queues and
/// connections of many collectors need more than the 1024 that are usual.
/// @thread  main
void raise_descriptor_limit() noexcept;

/// Every way in which a program ends before its time, as one line and an exit code. Call it while
/// an exception is being handled.
///
/// @param program  its name, for usage errors
/// @return         a code of sysexits.h
/// @thread         main
[[nodiscard]] int explain_failure(const char* program);

}  // namespace tributary
