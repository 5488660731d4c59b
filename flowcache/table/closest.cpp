// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/closest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tributary {

namespace {

/// Letters to insert, remove or change to turn one word into the other (Levenshtein).
std::size_t edit_distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

/// @return  empty: none, or several do
std::string only_one_that_begins_with(std::string_view word,
                                      const std::vector<std::string>& names) {
    constexpr std::size_t kShortest = 3;
    const auto begins = [word](const std::string& name) { return name.starts_with(word); };
    return word.size() >= kShortest && std::ranges::count_if(names, begins) == 1
               ? *std::ranges::find_if(names, begins)
               : std::string();
}

/// Another form of the same word, such as "rotate" for "rotation": four letters or more, and two
/// thirds of the word, begin only one name.
///
/// @return  empty: none, or several do
std::string only_one_of_the_stem(std::string_view word, const std::vector<std::string>& names) {
    constexpr std::size_t kShortest = 4;
    const std::size_t length = std::max(kShortest, (word.size() * 2 + 2) / 3);
    return word.size() >= length ? only_one_that_begins_with(word.substr(0, length), names)
                                 : std::string();
}

}  // namespace

std::string closest(std::string_view word, const std::vector<std::string>& names) {
    constexpr std::size_t kLongestWord = 64;
    if (word.size() > kLongestWord) {
        return {};
    }
    std::string best = only_one_that_begins_with(word, names);
    std::size_t least = best.empty() ? word.size() / 3 + 2 : 0;
    if (best.empty()) {
        best = only_one_of_the_stem(word, names);
        least = best.empty() ? least : 2;  // one wrong letter is more likely than another form
    }
    for (const std::string& name : names) {
        const std::size_t distance = edit_distance(word, name);
        if (distance < std::min(least, name.size())) {
            least = distance;
            best = name;
        }
    }
    constexpr std::string_view kFile = "file";  // "cafile", "key-file"
    if (best.empty() && word.ends_with(kFile)) {
        word.remove_suffix(kFile.size());
        const bool is_two_words = word.ends_with('-') || word.ends_with('_');
        return closest(word.substr(0, word.size() - (is_two_words ? 1 : 0)), names);
    }
    return best;
}

std::string in_small_letters(std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return small;
}

}  // namespace tributary
