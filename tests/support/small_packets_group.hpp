// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "flowcache/fields/field_group.hpp"

namespace tributary::test {

/// A field group that the product does not have: small packets, and the first packet's TTL as text.
struct SmallPacketsGroup {
    std::uint32_t small{};    ///< packets with an IP length below 128 octets
    BoundedText<11> first{};  ///< "ttl 64"; empty where the TTL is 0

    void begin(const PacketFields& fields) noexcept {
        *this = {};
        std::array<char, 7> text{'t', 't', 'l', ' '};
        const auto end = std::to_chars(text.data() + 4, text.data() + text.size(), fields.ttl).ptr;
        if (fields.ttl != 0) {
            first.set({text.data(), end});
        }
    }
    void add(const PacketView& /*packet*/, const PacketFields& fields) noexcept {
        constexpr std::uint32_t kSmall = 128;
        small += fields.ip_bytes < kSmall ? 1 : 0;
    }

    enum Variant : std::uint8_t { without_text, with_text };
    static constexpr std::uint8_t kVariants = 2;
    [[nodiscard]] std::uint8_t variant(std::uint8_t /*protocol*/) const noexcept {
        return first.length != 0 ? with_text : without_text;
    }
};

inline constexpr std::array kSmallPacketsElements{
    FieldElement{.name = "smallPackets",
                 .number = 900,
                 .encoding = Encoding::unsigned4,
                 .offset = offsetof(SmallPacketsGroup, small),
                 .meaning = "packets of less than 128 octets",
                 .owner = ElementOwner::tributary,
                 .measure = "small-packets",
                 .column = "Small"},
    FieldElement{.name = "firstTimeToLive",
                 .number = 901,
                 .encoding = Encoding::text,
                 .offset = offsetof(SmallPacketsGroup, first),
                 .meaning = "the first packet's TTL",
                 .variants = in_variants(SmallPacketsGroup::with_text),
                 .owner = ElementOwner::tributary,
                 .text_octets = 11},
};

/// Its row.
inline constexpr FieldGroup kSmallPackets = field_group_of<SmallPacketsGroup>(
    {.name = "small-packets", .elements = kSmallPacketsElements, .in_unified_headers = false});

}  // namespace tributary::test
