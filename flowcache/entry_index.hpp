// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// Index of an entry in a cache's arrays.
using EntryIndex = std::uint32_t;
inline constexpr EntryIndex kNoEntry = 0xFFFF'FFFF;

}  // namespace tributary
