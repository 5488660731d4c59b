// SPDX-License-Identifier: Apache-2.0
// Writes the words of the configuration, from the table of its keys, as a dictionary for
// fuzz_config.
#include <cctype>
#include <cstddef>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "conf/dump_config.hpp"

namespace {

bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

void add_words(std::set<std::string>& words, std::string_view text) {
    std::string word;
    for (const char c : text) {
        if (is_word_character(c)) {
            word += c;
        } else if (!word.empty()) {
            words.insert(std::exchange(word, {}));
        }
    }
    if (!word.empty()) {
        words.insert(word);
    }
}

}  // namespace

int main() {
    // YAML's own, and what separates one --set from the next.
    std::set<std::string> words{": ",  "- ", "[",    "]",    "{",     "}",  ", ",
                                "#",   "|",  ">",    "&",    "*",     "!!", "---",
                                "...", "~",  "null", "true", "false", "=",  "."};
    for (const tributary::Setting& setting : tributary::documented_keys()) {
        for (const std::string& text : {setting.path, setting.value, setting.limits}) {
            add_words(words, text);
        }
        const std::size_t dot = setting.path.find_last_of('.');
        words.insert(setting.path.substr(dot == std::string::npos ? 0 : dot + 1) + ": ");
    }
    for (const std::string& word : words) {
        std::cout << '"' << word << "\"\n";
    }
    std::cout << "\"\\x0a\"\n\"\\x0a  \"\n\"\\x00\"\n";
    return std::cout.flush().good() ? 0 : 1;
}
