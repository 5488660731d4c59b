// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "parsers/units.hpp"

namespace tributary {

/// The time on the export side; always an argument.
struct ExportTime {
    Timestamp wall{};                   ///< for message headers; offline: the capture's clock
    std::chrono::nanoseconds uptime{};  ///< for timers; never goes back
};

}  // namespace tributary
