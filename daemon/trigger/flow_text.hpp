// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/trigger/trigger_events.hpp"
#include "daemon/trigger/watched_table.hpp"

namespace tributary {

/// What a file's comment says of why it was written, by name.
///
/// @param table  nullptr: fired by hand
[[nodiscard]] std::vector<std::pair<std::string, std::string>> remarks_of(
    const TriggerEvent& event, const TriggerOptions& options, const WatchedTable* table);

}  // namespace tributary
