// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flowcache/fields/field_groups.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/record/key_extractor.hpp"

namespace tributary::test {

/// A key's extension: DSCP, and the last octets of both MAC addresses.
struct DeclaredOctets {
    std::uint8_t dscp{};
    std::array<std::uint8_t, 5> padding{};
    std::uint8_t destination_mac{};
    std::uint8_t source_mac{};

    friend auto operator<=>(const DeclaredOctets&, const DeclaredOctets&) = default;
};
static_assert(sizeof(DeclaredOctets) == 8);

class DeclaredExtractor final : public KeyExtractor {
public:
    /// @param has_macs  in the key
    explicit DeclaredExtractor(bool has_macs) : has_macs_(has_macs) {}

    [[nodiscard]] static DeclaredOctets of(const PacketFields& fields, bool has_macs) noexcept {
        DeclaredOctets octets{.dscp = static_cast<std::uint8_t>(fields.ip_class_of_service >> 2U)};
        if (has_macs && fields.mac_addresses != nullptr) {
            octets.destination_mac = std::to_integer<std::uint8_t>(fields.mac_addresses[5]);
            octets.source_mac = std::to_integer<std::uint8_t>(fields.mac_addresses[11]);
        }
        return octets;
    }

    [[nodiscard]] std::size_t octets() const noexcept override { return sizeof(DeclaredOctets); }
    [[nodiscard]] std::size_t used_octets() const noexcept override {
        return has_macs_ ? sizeof(DeclaredOctets) : sizeof(DeclaredOctets::dscp);
    }
    void extract(const PacketView& /*packet*/, const PacketFields& fields,
                 std::byte* to) const noexcept override {
        const DeclaredOctets octets = of(fields, has_macs_);
        std::memcpy(to, &octets, sizeof octets);
    }
    [[nodiscard]] bool has_sides() const noexcept override { return has_macs_; }
    void swap_sides(std::byte* octets) const noexcept override {
        std::swap(octets[offsetof(DeclaredOctets, destination_mac)],
                  octets[offsetof(DeclaredOctets, source_mac)]);
    }

private:
    bool has_macs_;
};

/// The group of a declared table: the extension of its key, and values of each direction.
struct DeclaredGroup {
    DeclaredOctets key;
    std::uint64_t sum_of_ttl;
    std::uint8_t smallest_ttl;
    std::uint8_t largest_ttl;
    std::uint8_t first_ttl;
    std::uint8_t range_of_ttl;  ///< made at the end of a record
    std::array<std::uint8_t, 4> padding;
};
static_assert(sizeof(DeclaredGroup) == 24);

inline constexpr std::array kDeclaredElements{
    FieldElement{.name = "ipDiffServCodePoint",
                 .number = 195,
                 .encoding = Encoding::octets1,
                 .offset = offsetof(DeclaredGroup, key),
                 .meaning = "",
                 .in_key = true},
    FieldElement{.name = "minimumTTL",
                 .number = 52,
                 .encoding = Encoding::octets1,
                 .offset = offsetof(DeclaredGroup, smallest_ttl),
                 .meaning = ""},
    FieldElement{.name = "maximumTTL",
                 .number = 53,
                 .encoding = Encoding::octets1,
                 .offset = offsetof(DeclaredGroup, largest_ttl),
                 .meaning = ""},
};

/// Its row. `context` is a number that is added to each sum at the beginning of a record.
[[nodiscard]] inline FieldGroup declared_group(const std::uint64_t& begins_with) {
    FieldGroup row{.name = "declared", .elements = kDeclaredElements, .chosen_by = ChosenBy::table};
    row.octets = sizeof(DeclaredGroup);
    row.key_octets = sizeof(DeclaredOctets);
    row.context = &begins_with;
    row.begin = [](const void* context, std::byte* group, const PacketView& /*packet*/,
                   const PacketFields& fields) noexcept {
        auto& made = *reinterpret_cast<DeclaredGroup*>(group);
        made.sum_of_ttl = *static_cast<const std::uint64_t*>(context);
        made.smallest_ttl = fields.ttl;
        made.first_ttl = fields.ttl;
    };
    row.add = [](const void* /*context*/, std::byte* group, const PacketView& /*packet*/,
                 const PacketFields& fields) noexcept {
        auto& made = *reinterpret_cast<DeclaredGroup*>(group);
        made.sum_of_ttl += fields.ttl;
        made.smallest_ttl = std::min(made.smallest_ttl, fields.ttl);
        made.largest_ttl = std::max(made.largest_ttl, fields.ttl);
    };
    row.finish = [](const void* /*context*/, std::byte* group) noexcept {
        auto& made = *reinterpret_cast<DeclaredGroup*>(group);
        made.range_of_ttl = static_cast<std::uint8_t>(made.largest_ttl - made.smallest_ttl);
    };
    return row;
}

}  // namespace tributary::test
