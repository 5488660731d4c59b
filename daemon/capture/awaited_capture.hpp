// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/signals.hpp"
#include "daemon/capture/capture_files.hpp"

namespace tributary {

/// Opens the first capture of a run, before any output of a former run is overwritten. A signal
/// ends the wait for the writer of a pipe.
///
/// @return  the signal that ended the reading of captures meanwhile; 0: none
/// @errors  StartupError: 66 it cannot be read, or is no capture; 128 + signal, which came before a
///          capture was open
/// @thread  main
[[nodiscard]] int await_first_capture(CaptureFiles& files, Signals& signals);

}  // namespace tributary
