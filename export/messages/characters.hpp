// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace tributary
