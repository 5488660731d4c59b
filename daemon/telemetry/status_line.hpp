// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "daemon/pipeline/ledger.hpp"

namespace tributary {

/// How a probe is doing, in one line that a person reads: rates since an earlier ledger, what is
/// lost, and how many collectors can be reached.
///
/// @param interval  from `before` to `now`; rates of none are 0
[[nodiscard]] std::string status_line(const Ledger& before, const Ledger& now,
                                      std::chrono::nanoseconds interval);

}  // namespace tributary
