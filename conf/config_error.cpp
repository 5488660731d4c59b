// SPDX-License-Identifier: Apache-2.0
#include "conf/config_error.hpp"

#include <algorithm>

namespace tributary {

void refuse(std::string_view place, std::string_view message) {
    throw ConfigError(std::string(place) + ": " + std::string(message));
}

std::string shown(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    std::string result(text.substr(0, kLongest));
    std::replace_if(
        result.begin(), result.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7F'; }, '?');
    if (text.size() > kLongest) {
        result += "...";
    }
    return result;
}

}  // namespace tributary
