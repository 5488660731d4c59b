// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "flowcache/fields/field_element.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// What decides whether records have a group.
enum class ChosenBy : std::uint8_t {
    fields,        ///< export.fields
    tunnel,        ///< flows.tunnel: inner
    tcp_analysis,  ///< flows.tcp-analysis
    triggers,      ///< triggers of the record's table
    table,         ///< records of one table have it: that which was declared with it
};

/// A row of the table of field groups: members that are chosen, measured, stored and exported
/// together. All that concerns a group follows from its row: its place in records, what a packet
/// adds, templates, the two halves of a biflow, `export.fields`, `tributary flows` and
/// docs/fields.md. field_group_of() makes it of the group's struct.
struct FieldGroup {
    std::string_view name;  ///< in export.fields
    std::span<const FieldElement> elements{};
    ChosenBy chosen_by = ChosenBy::fields;
    bool in_unified_headers = true;  ///< they carry all that it is made of
    /// Name of an element with a measure. Where it is 0, nothing was measured, and the group's
    /// other elements mean nothing.
    std::string_view measured_by{};
    /// A group with hooks (GroupHooks), whose state lies in its place while the flow runs. It comes
    /// before the others in a record.
    bool has_state = false;

    // The rest follows from the struct, where there is one.
    std::uint16_t octets = 0;  ///< of one direction in a record; a multiple of 8

    /// Of an added group: first argument of its functions.
    const void* context = nullptr;
    /// Octets at the front of an added group that are the extension of its table's key. The cache
    /// writes them.
    std::uint16_t key_octets = 0;
    /// Makes the group that of a record's first packet, without counting it. nullptr: zeros.
    ///
    /// @param group  zeros behind the key's octets
    void (*begin)(const void* context, std::byte* group, const PacketView& packet,
                  const PacketFields& fields) noexcept = nullptr;
    /// Adds a packet, the first one too. nullptr: nothing is added.
    void (*add)(const void* context, std::byte* group, const PacketView& packet,
                const PacketFields& fields) noexcept = nullptr;
    /// Makes what was gathered the values of a record that leaves, or is looked at. nullptr: it has
    /// them already.
    void (*finish)(const void* context, std::byte* group) noexcept = nullptr;

    /// What distinguishes records with different elements: a number below `variants`.
    std::uint8_t variants = 1;
    std::uint8_t (*variant_of)(const std::byte* group, std::uint8_t protocol) noexcept = nullptr;
    /// The variant of both directions of a biflow, which then have the same elements. nullptr: each
    /// direction has those of its own variant.
    std::uint8_t (*variant_of_both)(std::uint8_t there, std::uint8_t back) noexcept = nullptr;

    /// Whether a group that was read from a disk can be one. nullptr: all octets can be.
    bool (*is_plausible)(const std::byte* group) noexcept = nullptr;
};

/// Whether a row's numbers are within their limits, and each element within its group.
[[nodiscard]] constexpr bool is_valid(const FieldGroup& row) noexcept {
    constexpr std::size_t kMostElements = 64;  // PartialGroups has a bit for each
    constexpr std::size_t kMostVariants = 32;  // so has Variants
    constexpr std::size_t kLongestName = 63;   // of ReverseName
    bool is_good = row.octets > 0 && row.octets % 8 == 0 && row.key_octets <= row.octets &&
                   row.variants > 0 && row.variants <= kMostVariants &&
                   row.elements.size() <= kMostElements &&
                   (row.variants == 1) == (row.variant_of == nullptr);
    for (const FieldElement& element : row.elements) {
        is_good = is_good && std::string_view(element.name).size() <= kLongestName &&
                  element.offset + octets_in_group(element) <= row.octets &&
                  (element.measure == nullptr) == (element.column == nullptr);
    }
    return is_good;
}

/// The row of a group's struct, which may have
///
///     void begin(const PacketFields& fields) noexcept
///     void add(const PacketView& packet, const PacketFields& fields) noexcept
///     static constexpr std::uint8_t kVariants
///     std::uint8_t variant(std::uint8_t protocol) const noexcept
///     static std::uint8_t variant_of_both(std::uint8_t there, std::uint8_t back) noexcept
///     bool is_plausible() const noexcept
///
/// @param row  its name, its elements and so on; one that is not valid does not compile
template <class Group>
[[nodiscard]] consteval FieldGroup field_group_of(FieldGroup row) {
    static_assert(sizeof(Group) % 8 == 0 && alignof(Group) <= 8);
    row.octets = sizeof(Group);
    if constexpr (requires(Group group, const PacketFields& fields) { group.begin(fields); }) {
        row.begin = [](const void* /*context*/, std::byte* group, const PacketView& /*packet*/,
                       const PacketFields& fields) noexcept {
            reinterpret_cast<Group*>(group)->begin(fields);
        };
    }
    if constexpr (requires(Group group, const PacketView& packet, const PacketFields& fields) {
                      group.add(packet, fields);
                  }) {
        row.add = [](const void* /*context*/, std::byte* group, const PacketView& packet,
                     const PacketFields& fields) noexcept {
            reinterpret_cast<Group*>(group)->add(packet, fields);
        };
    }
    if constexpr (requires { Group::kVariants; }) {
        row.variants = Group::kVariants;
        row.variant_of = [](const std::byte* group, std::uint8_t protocol) noexcept {
            return reinterpret_cast<const Group*>(group)->variant(protocol);
        };
    }
    if constexpr (requires { Group::variant_of_both(0, 0); }) {
        row.variant_of_both = &Group::variant_of_both;
    }
    if constexpr (requires(const Group& group) { group.is_plausible(); }) {
        row.is_plausible = [](const std::byte* group) noexcept {
            return reinterpret_cast<const Group*>(group)->is_plausible();
        };
    }
    if (!is_valid(row)) {
        throw "an element outside of its group, or a number beyond its limit";
    }
    return row;
}

/// The row of a group that is compiled in. Each group's file has its specialisation.
template <class Group>
inline constexpr FieldGroup kFieldGroup{};

}  // namespace tributary
