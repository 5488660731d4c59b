// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary {

/// A character at the front of a text.
struct Character {
    std::uint32_t code{};
    std::size_t octets{};  ///< 0: the text begins with an octet that is no UTF-8
};

/// @param text  not empty
/// @source  RFC 3629 §4: no overlong forms, no surrogates, nothing above U+10FFFF
[[nodiscard]] Character first_character(std::string_view text) noexcept;

/// Control and format characters, and line and paragraph separators.
/// @source  Unicode 15: general categories Cc, Cf, Zl and Zp, and Default_Ignorable_Code_Point
[[nodiscard]] bool is_hidden(std::uint32_t code) noexcept;

/// Whether a text is UTF-8 without hidden characters.
[[nodiscard]] bool is_visible(std::string_view text) noexcept;

/// A text for one line of a terminal or a log, in which a `?` stands for each hidden character and
/// for each octet that is no UTF-8.
///
/// @return  UTF-8; not longer than `text`
[[nodiscard]] std::string without_hidden(std::string_view text);

}  // namespace tributary
