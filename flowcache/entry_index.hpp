// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// Index of an entry in a cache's arrays.
using EntryIndex = std::uint32_t;
inline constexpr EntryIndex kNoEntry = 0xFFFF'FFFF;

/// Where a FlowIndex looks first for the entry of a hash, and for what.
struct IndexHome {
    std::uint32_t bucket{};
    std::uint16_t tag{};

    friend bool operator==(const IndexHome&, const IndexHome&) = default;
};

}  // namespace tributary
