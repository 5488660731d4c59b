// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "conf/key.hpp"

namespace tributary {

/// The keys in which a new configuration differs from a probe's present one.
struct ConfigChange {
    /// `export.collectors`, `fields` and `tables` as a whole.
    std::vector<std::string> reloadable;     ///< can change while packets come
    std::vector<std::string> needs_restart;  ///< determine memory, threads, NICs or addresses
    std::set<Apply> ways;                    ///< how the reloadable ones are applied
};

/// @thread  any; pure
[[nodiscard]] ConfigChange compare(const Config& running, const Config& wanted);

/// Words in one line: "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& words);

}  // namespace tributary
