// SPDX-License-Identifier: Apache-2.0
#include "export/characters.hpp"

#include <algorithm>
#include <array>

namespace tributary {

Character first_character(std::string_view text) noexcept {
    constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x1'0000};
    const auto octet = [text](std::size_t at) {
        return std::uint32_t{static_cast<unsigned char>(text[at])};
    };
    const std::uint32_t lead = octet(0);
    if (lead < 0x80) {
        return {lead, 1};
    }
    const std::size_t octets = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < octets) {
        return {};
    }
    std::uint32_t code = lead & (0x7FU >> octets);
    for (std::size_t at = 1; at < octets; ++at) {
        if ((octet(at) & 0xC0U) != 0x80) {
            return {};
        }
        code = code << 6U | (octet(at) & 0x3FU);
    }
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < kSmallest.at(octets) || code > 0x10'FFFF || is_surrogate) {
        return {};
    }
    return {code, octets};
}

bool is_hidden(std::uint32_t code) noexcept {
    struct Range {
        std::uint32_t first;
        std::uint32_t last;
    };
    constexpr std::array<Range, 27> kRanges{{
        {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},
        {0x0600, 0x0605},   {0x061C, 0x061C},   {0x06DD, 0x06DD},   {0x070F, 0x070F},
        {0x0890, 0x0891},   {0x08E2, 0x08E2},   {0x115F, 0x1160},   {0x17B4, 0x17B5},
        {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
        {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
        {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
        {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
    }};
    return std::any_of(kRanges.begin(), kRanges.end(), [code](const Range& range) {
        return code >= range.first && code <= range.last;
    });
}

bool is_visible(std::string_view text) noexcept {
    while (!text.empty()) {
        const Character character = first_character(text);
        if (character.octets == 0 || is_hidden(character.code)) {
            return false;
        }
        text.remove_prefix(character.octets);
    }
    return true;
}

std::string without_hidden(std::string_view text) {
    std::string visible;
    visible.reserve(text.size());
    while (!text.empty()) {
        const std::size_t octets = std::max<std::size_t>(first_character(text).octets, 1);
        const std::string_view next = text.substr(0, octets);
        visible += is_visible(next) ? next : "?";
        text.remove_prefix(octets);
    }
    return visible;
}

}  // namespace tributary
