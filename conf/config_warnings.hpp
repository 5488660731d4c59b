// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/config.hpp"

namespace tributary {

/// What can be run as it is, but will not do what it looks like: a line each, for the log.
///
/// @param config  complete and checked
/// @thread        any; pure
[[nodiscard]] std::vector<std::string> warnings_about(const Config& config);

}  // namespace tributary
