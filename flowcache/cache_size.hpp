// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "flowcache/options.hpp"

namespace tributary {

/// Flows of a small cache: one that can be searched whole for a single packet.
inline constexpr std::size_t kSmallCache = 4096;

/// Entries of a cache. A small one has as many as flows. A larger one has a thirty-second more, so
/// that what is due is found, a few entries per new flow, before they are used up.
[[nodiscard]] inline std::size_t entries_for(const FlowCacheOptions& options) noexcept {
    const std::size_t flows = options.max_flows;
    return flows <= kSmallCache ? flows : flows + flows / 32;
}

}  // namespace tributary
