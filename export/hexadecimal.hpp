// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>

namespace tributary {

/// Fills `out` with the last digits of a number, in lower case.
inline void put_hexadecimal(std::uint64_t number, std::span<std::byte> out) noexcept {
    constexpr std::string_view kDigits = "0123456789abcdef";
    constexpr unsigned kBits = 4;
    for (std::byte& digit : out | std::views::reverse) {
        digit = static_cast<std::byte>(kDigits[number & 0xFU]);
        number >>= kBits;
    }
}

}  // namespace tributary
