// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// The properties of a record that select its template, beside the layout that all records share. A
/// record is written without the fields that would be meaningless in it, rather than with zeros.
struct RecordShape {
    using GroupVariants = std::array<std::uint8_t, kMostFieldGroups>;  ///< by FieldGroupId

    bool ipv6{};
    bool icmp{};         ///< ICMP over IPv4 or ICMPv6 over IPv6
    bool vlan{};         ///< the key has a VLAN id
    bool has_reverse{};  ///< biflows: a packet of the reverse direction was seen
    /// Of each chosen group (FieldGroup::variants); otherwise 0. With a reverse direction it is
    /// that of both directions, if the group has FieldGroup::variant_of_both.
    GroupVariants variants{};
    /// With a reverse direction: of its groups that have no variant_of_both; otherwise 0.
    GroupVariants reverse_variants{};

    template <class Group>
    [[nodiscard]] std::uint8_t variant() const noexcept {
        return variants[kFieldGroupId<Group>];
    }
    template <class Group>
    [[nodiscard]] std::uint8_t reverse_variant() const noexcept {
        return reverse_variants[kFieldGroupId<Group>];
    }
    friend bool operator==(const RecordShape&, const RecordShape&) = default;
};

/// The shapes that records of one layout can have, numbered from 0. The first kPlainShapes are
/// those of IP version, ICMP and VLAN id alone, in every layout: all groups in their variant 0, and
/// no reverse direction.
class RecordShapes {
public:
    explicit RecordShapes(const RecordLayout& layout) noexcept;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// The number of a record's shape, which each sent record needs.
    ///
    /// @param record  of the layout, aligned to 8
    /// @cost          a call by pointer for each chosen group with variants, of a biflow two
    [[nodiscard]] std::size_t index_of(const std::byte* record) const noexcept;
    /// @param index  below count()
    [[nodiscard]] RecordShape at(std::size_t index) const noexcept;

private:
    /// A number has a digit for each property, the lowest first. Groups without variants, and those
    /// that are not chosen, have none, so that there are no more shapes, and no more template ids,
    /// than the layout can produce.
    struct Digit {
        const FieldGroup* group{};
        FieldGroupId id{};
        std::uint16_t at{};
        std::uint16_t back_at{};
        std::size_t weight{};
        /// Within the highest digit, which is 0 without a reverse direction, else 1 + a number of
        /// the reverse variants; 0: it has no variant of its own there.
        std::size_t back_weight{};
    };
    [[nodiscard]] std::span<const Digit> digits() const noexcept {
        return std::span(digits_).first(digit_count_);
    }

    std::array<Digit, kMostFieldGroups> digits_{};
    std::size_t digit_count_ = 0;
    std::uint16_t reverse_at_;
    std::size_t reverse_weight_ = 0;
    std::size_t count_ = 0;
};

inline constexpr std::size_t kPlainShapes = 8;

}  // namespace tributary
