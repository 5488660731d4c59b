// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/config.hpp"

namespace tributary {

/// Valid settings without their apparent effect: a line each, for the log.
///
/// @param config  complete and checked
/// @thread        any; pure
[[nodiscard]] std::vector<std::string> warnings_about(const Config& config);

}  // namespace tributary
