// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/capture/capture_files.hpp"

namespace tributary {

/// Logs the faults of a run's captures, at its end.
///
/// @param fate  of the packets that could be read: "metered"
/// @return      whether all files could be read
[[nodiscard]] bool report_captures(const CaptureFiles& files, std::string_view fate);

}  // namespace tributary
