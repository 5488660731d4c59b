// SPDX-License-Identifier: Apache-2.0
#include "export/listing/filter_words.hpp"

#include <algorithm>
#include <array>

namespace tributary {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
// Longer ones before those that they begin with.
constexpr std::array<std::string_view, 13> kSymbolWords{"&&", "||", "==", "!=", "<=", ">=", "(",
                                                        ")",  "!",  "=",  "<",  ">",  "&"};

/// @return  empty: none begins here
std::string_view symbol_at(std::string_view text) noexcept {
    const auto* const found =
        std::find_if(kSymbolWords.begin(), kSymbolWords.end(),
                     [text](std::string_view symbol) { return text.starts_with(symbol); });
    return found != kSymbolWords.end() ? *found : std::string_view();
}

}  // namespace

void FilterWords::advance() noexcept {
    at_ = std::min(text_.find_first_not_of(kSpace, at_ + word_.size()), text_.size());
    const std::string_view rest = text_.substr(at_);
    word_ = symbol_at(rest);
    if (word_.empty()) {
        word_ = rest.substr(0, rest.find_first_of(" \t\r\n()!=<>&|"));
        word_ = word_.empty() ? rest.substr(0, 1) : word_;  // a single '|'
    }
}

}  // namespace tributary
