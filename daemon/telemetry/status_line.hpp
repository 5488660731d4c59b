// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "daemon/pipeline/ledger.hpp"

namespace tributary {

/// The state of a probe in one line for people: rates since an earlier ledger, losses, and the
/// number of collectors that can be reached.
///
/// @param interval  from `before` to `now`; rates of none are 0
[[nodiscard]] std::string status_line(const Ledger& before, const Ledger& now,
                                      std::chrono::nanoseconds interval);

}  // namespace tributary
