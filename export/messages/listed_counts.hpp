// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "flowcache/fields/field_groups.hpp"

namespace tributary {

/// A count that listings show, sort by and compare: an element of a field group that has a measure.
struct ListedCount {
    const FieldElement* element{};
    /// Which listed count says, by being 0, that this one was not measured; its own place: none.
    std::size_t measured_by{};
};

inline constexpr std::size_t kMostListedCounts = 8;

/// The listed counts of all lasting_groups(), in the order of their rows; those beyond
/// kMostListedCounts are in JSON alone.
/// @cost  looks at each element of each group once when it is made
class ListedCounts {
public:
    ListedCounts() noexcept;

    [[nodiscard]] const ListedCount* begin() const noexcept { return counts_.data(); }
    [[nodiscard]] const ListedCount* end() const noexcept { return begin() + size_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const ListedCount& at(std::size_t place) const noexcept {
        return counts_.at(place);
    }
    /// Whether the table of flows has a column for it. A count by which others are measured is
    /// shown by these.
    [[nodiscard]] bool has_column(std::size_t place) const noexcept;

    /// @param measure  its word in filters and in --sort
    [[nodiscard]] std::optional<std::size_t> find(std::string_view measure) const noexcept;
    /// @param number  in the registry of the owner
    [[nodiscard]] std::optional<std::size_t> find(ElementOwner owner,
                                                  std::uint16_t number) const noexcept;

private:
    void add(const FieldGroup& group, const FieldElement& element) noexcept;

    std::array<ListedCount, kMostListedCounts> counts_{};
    std::size_t size_ = 0;
};

/// The listed counts of one direction of a flow; nothing: the record does not have it.
using ListedValues = std::array<std::optional<std::uint64_t>, kMostListedCounts>;

}  // namespace tributary
