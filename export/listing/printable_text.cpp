// SPDX-License-Identifier: Apache-2.0
#include "export/listing/printable_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "export/characters.hpp"

namespace tributary {
namespace {

void append_escape(std::string& out, const char* format, std::uint32_t code) {
    std::array<char, 12> escape{};
    std::snprintf(escape.data(), escape.size(), format, code);
    out += escape.data();
}

void append_for_terminal(std::string& out, std::uint32_t code) {
    append_escape(out, code < 0x80 ? "\\x%02x" : code <= 0xFFFF ? "\\u%04x" : "\\U%08x", code);
}

/// @source  RFC 8259 §7
void append_for_json(std::string& out, std::uint32_t code) {
    if (code <= 0xFFFF) {
        append_escape(out, "\\u%04x", code);
        return;
    }
    append_escape(out, "\\u%04x", 0xD800 + ((code - 0x1'0000) >> 10U));
    append_escape(out, "\\u%04x", 0xDC00 + ((code - 0x1'0000) & 0x3FFU));
}

/// @param stays   a control character that is left as it is; '\0': none
/// @param escape  writes a hidden character
std::string escaped(std::string_view text, char stays,
                    void (*escape)(std::string& out, std::uint32_t code)) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Character character = first_character(text);
        const std::size_t octets = std::max<std::size_t>(character.octets, 1);
        if (character.octets == 0) {
            append_escape(out, "\\x%02x", static_cast<unsigned char>(text.front()));
        } else if (is_hidden(character.code) && (stays == '\0' || text.front() != stays)) {
            escape(out, character.code);
        } else {
            out += text.substr(0, octets);
        }
        text.remove_prefix(octets);
    }
    return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, '\0', append_for_terminal); }

std::string printable_lines(std::string_view text) {
    return escaped(text, '\n', append_for_terminal);
}

std::string printable_json(std::string_view json) { return escaped(json, '\n', append_for_json); }

}  // namespace tributary
