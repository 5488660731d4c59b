// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary {

/// Eight octets as a number, in host byte order.
///
/// @param from  of any alignment
[[nodiscard]] inline std::uint64_t load_word(const std::byte* from) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
}

}  // namespace tributary
