// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/table_declaration.hpp"

#include <algorithm>

#include "flowcache/table/table_text.hpp"

namespace tributary {

bool is_table_name(std::string_view text) noexcept {
    const auto is_good = [](char c) { return is_small_letter(c) || is_digit(c) || c == '-'; };
    return !text.empty() && text.size() <= TableDeclaration::kLongestName &&
           is_small_letter(text.front()) && std::ranges::all_of(text, is_good);
}

}  // namespace tributary
