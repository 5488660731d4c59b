// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tributary {

// Letters of ASCII, in any locale.

[[nodiscard]] constexpr bool is_small_letter(char c) noexcept { return c >= 'a' && c <= 'z'; }
[[nodiscard]] constexpr bool is_letter(char c) noexcept {
    return is_small_letter(c) || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter_or_digit(char c) noexcept {
    return is_letter(c) || is_digit(c);
}
[[nodiscard]] constexpr bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

[[nodiscard]] constexpr std::string_view without_blanks(std::string_view text) noexcept {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

/// A text of the user's for a message: in single quotes, printable, and not too long.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    std::string shown = "'" + std::string(text.substr(0, kLongest));
    std::ranges::replace_if(
        shown, [](char c) { return !is_printable(c); }, '?');
    return shown + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace tributary
