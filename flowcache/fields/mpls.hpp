// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `mpls`: the first label stack of the record's first packet, from the top.
struct MplsGroup {
    static constexpr std::size_t kSections = 10;  ///< as many as there are elements, IE 70-79
    /// Label (20 bits), traffic class (3) and bottom-of-stack bit each, as on the wire; zeros below
    /// the bottom.
    std::array<std::array<std::byte, 3>, kSections> sections{};
    std::uint8_t labels{};  ///< entries in the stack, which may be more than the sections
    std::uint8_t padding{};

    void begin(const PacketFields& fields) noexcept {
        *this = {.labels = fields.mpls_labels};
        const std::size_t filled = std::min<std::size_t>(fields.mpls_labels, kSections);
        for (std::size_t i = 0; i < filled; ++i) {
            std::memcpy(sections[i].data(), fields.mpls_stack + 4 * i, 3);
        }
    }

    enum Variant : std::uint8_t { without_labels, with_labels };
    static constexpr std::uint8_t kVariants = 2;
    [[nodiscard]] std::uint8_t variant(std::uint8_t /*protocol*/) const noexcept {
        return labels != 0 ? with_labels : without_labels;
    }
    [[nodiscard]] static constexpr std::uint8_t variant_of_both(std::uint8_t there,
                                                                std::uint8_t back) noexcept {
        return std::max(there, back);
    }
};

/// @param section  from 1 at the top of the stack
[[nodiscard]] constexpr FieldElement mpls_section(const char* name, std::uint16_t section) {
    constexpr std::uint16_t kTop = 70;
    return {
        name,
        static_cast<std::uint16_t>(kTop + section - 1),
        Encoding::octets3,
        static_cast<std::uint16_t>(offsetof(MplsGroup, sections) + std::size_t{3} * (section - 1U)),
        section == 1 ? "the top label" : "the next one below",
        in_variants(MplsGroup::with_labels)};
}
inline constexpr std::array kMplsElements{
    mpls_section("mplsTopLabelStackSection", 1),
    mpls_section("mplsLabelStackSection2", 2),
    mpls_section("mplsLabelStackSection3", 3),
    mpls_section("mplsLabelStackSection4", 4),
    mpls_section("mplsLabelStackSection5", 5),
    mpls_section("mplsLabelStackSection6", 6),
    mpls_section("mplsLabelStackSection7", 7),
    mpls_section("mplsLabelStackSection8", 8),
    mpls_section("mplsLabelStackSection9", 9),
    mpls_section("mplsLabelStackSection10", MplsGroup::kSections),
};

template <>
inline constexpr FieldGroup kFieldGroup<MplsGroup> = field_group_of<MplsGroup>(
    {.name = "mpls", .elements = kMplsElements, .in_unified_headers = false});

}  // namespace tributary
