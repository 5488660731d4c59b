// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tributary {

/// The probable name for a word: the only name that begins with it, or the most similar one. Both
/// fields of declared tables and keys of the configuration are found so.
///
/// @return  empty: no similar name
[[nodiscard]] std::string closest(std::string_view word, const std::vector<std::string>& names);

/// A text with its letters from A to Z small.
[[nodiscard]] std::string in_small_letters(std::string_view text);

}  // namespace tributary
