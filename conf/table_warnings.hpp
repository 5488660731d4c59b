// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/config.hpp"

namespace tributary {

/// Warnings, a line each: tables and own fields without their apparent effect.
///
/// @param config  complete and checked
/// @thread        any; pure
[[nodiscard]] std::vector<std::string> table_warnings(const Config& config);

}  // namespace tributary
