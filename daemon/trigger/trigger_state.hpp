// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary {

/// What triggers know of the present record of a flow. Zeros are the state of a record that has
/// just begun.
struct TriggerState {
    std::uint32_t digest{};  ///< of what conditions depend on, when they were tested last
    std::uint32_t file{};    ///< 0: no trigger had one written
    std::uint16_t fired{};   ///< a bit for each trigger
    bool is_tested{};
};

/// Octets that triggers take for the flows of one cache.
///
/// @param entries  of the cache
[[nodiscard]] constexpr std::size_t trigger_memory(std::size_t entries) noexcept {
    return sizeof(TriggerState) * entries;
}

}  // namespace tributary
