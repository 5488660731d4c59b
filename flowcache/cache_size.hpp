// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "flowcache/record/options.hpp"
#include "flowcache/tcp/tcp_state.hpp"

namespace tributary {

/// Flows of a small cache: one that can be searched whole for a single packet.
inline constexpr std::size_t kSmallCache = 4096;

/// Empty slices, which have no record, that stay in a cache that is full: in a small one none.
[[nodiscard]] inline std::size_t most_slices(const FlowCacheOptions& options) noexcept {
    const std::size_t flows = options.max_flows;
    return flows <= kSmallCache ? 0 : flows / 32;
}

/// Entries of a cache. A small one has as many as flows. A larger one has a thirty-second more, so
/// that what is due is found, a few entries per new flow, before they are used up; and
/// most_slices(), so that slices do not use them up.
[[nodiscard]] inline std::size_t entries_for(const FlowCacheOptions& options) noexcept {
    const std::size_t flows = options.max_flows;
    return flows <= kSmallCache ? flows : flows + flows / 32 + most_slices(options);
}

/// TcpTroubles of a cache: one for each eight flows where TCP is analysed, and some for a small
/// one. Each direction of a biflow may take one.
[[nodiscard]] inline std::size_t troubles_for(const FlowCacheOptions& options) noexcept {
    constexpr std::size_t kLeast = 64;
    const std::size_t some = std::max<std::size_t>(options.max_flows / 8, kLeast);
    return options.tcp_analysis ? std::min<std::size_t>(some, TcpState::kNoTrouble) : 0;
}

}  // namespace tributary
