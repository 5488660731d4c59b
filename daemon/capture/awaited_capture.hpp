// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/signals.hpp"
#include "daemon/capture/capture_files.hpp"

namespace tributary {

/// Opens the first capture of a run, before anything that a former run has left is written over.
/// A signal ends the wait for the writer of a pipe.
///
/// @return  a signal that came meanwhile, and ends the reading of captures; 0: none did
/// @errors  StartupError: 66 it cannot be read, or is no capture; 128 and the number of a signal
///          that came before there was a capture
/// @thread  main
[[nodiscard]] int await_first_capture(CaptureFiles& files, Signals& signals);

}  // namespace tributary
