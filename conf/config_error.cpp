// SPDX-License-Identifier: Apache-2.0
#include "conf/config_error.hpp"

#include <cstddef>

#include "export/characters.hpp"

namespace tributary {

void refuse(std::string_view place, std::string_view message) {
    throw ConfigError(std::string(place) + ": " + std::string(message));
}

std::string shown(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    const bool is_long = text.size() > kLongest;
    std::size_t end = is_long ? kLongest : text.size();
    while (is_long && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) {
        --end;  // not inside a character
    }
    return without_hidden(text.substr(0, end)) + (is_long ? "..." : "");
}

}  // namespace tributary
