// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace tributary {

/// The words of a filter, one after the other.
///
/// They end at white space. Parentheses, `!`, `&&`, `||`, and the comparisons `= == != < <= > >=`
/// are words of their own, with or without space around them.
class FilterWords {
public:
    /// @param text  outlives the words
    explicit FilterWords(std::string_view text) noexcept : text_(text) { advance(); }

    /// Empty at the end.
    [[nodiscard]] std::string_view word() const noexcept { return word_; }
    /// Of the word; the first is 1.
    [[nodiscard]] std::size_t column() const noexcept { return at_ + 1; }
    void advance() noexcept;
    /// Steps over the word if it is this one.
    [[nodiscard]] bool accept(std::string_view word) noexcept {
        if (word_ != word) {
            return false;
        }
        advance();
        return true;
    }

private:
    std::string_view text_;
    std::string_view word_;
    std::size_t at_{};  ///< of word_ in text_
};

}  // namespace tributary
