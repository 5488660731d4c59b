// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <type_traits>

#include "flowcache/fields/extremes.hpp"
#include "flowcache/fields/field_group.hpp"
#include "flowcache/fields/flow_label.hpp"
#include "flowcache/fields/fragments.hpp"
#include "flowcache/fields/layer2.hpp"
#include "flowcache/fields/mpls.hpp"
#include "flowcache/fields/packet_dump.hpp"
#include "flowcache/fields/tcp_analysis.hpp"
#include "flowcache/fields/tcp_counts.hpp"
#include "flowcache/fields/tunnel.hpp"

namespace tributary {

template <class... Groups>
struct FieldGroupList {
    static constexpr std::size_t kSize = sizeof...(Groups);
    static constexpr std::array<const FieldGroup*, kSize> kRows{&kFieldGroup<Groups>...};
    static_assert(((kFieldGroup<Groups>.octets == sizeof(Groups)) && ...),
                  "each group's file has its row");

    /// The place of a group in the list; kSize: it is not in it.
    template <class Group>
    [[nodiscard]] static constexpr std::size_t place_of() noexcept {
        std::size_t place = 0;
        static_cast<void>(((std::is_same_v<Group, Groups> || (++place, false)) || ...));
        return place;
    }
    /// Calls `use.template operator()<Group>()` for each.
    template <class Use>
    static constexpr void for_each(Use use) {
        (use.template operator()<Groups>(), ...);
    }
};

/// **The table of field groups**: a row each. Their order is that of the elements in templates, and
/// of export.fields when it is printed; spooled records and template ids depend on it too, so that
/// new ones come last.
using StandardFieldGroups =
    FieldGroupList<ExtremesGroup, Layer2Group, TcpCountsGroup, FlowLabelGroup, MplsGroup,
                   TunnelGroup, FragmentsGroup, TcpAnalysisGroup, PacketDumpGroup>;

/// The number of a group: its place in the table.
using FieldGroupId = std::size_t;
inline constexpr std::size_t kStandardFieldGroups = StandardFieldGroups::kSize;
/// With those that are added: of eight tables, and of those that follow them at a reload.
inline constexpr std::size_t kMostFieldGroups = 25;

/// The number of a group that is compiled in.
template <class Group>
inline constexpr FieldGroupId kFieldGroupId = StandardFieldGroups::place_of<Group>();

namespace detail {
/// The row of a number that no group has at present.
inline constexpr FieldGroup kNoFieldGroup{.name = {}, .chosen_by = ChosenBy::table};

/// Rows behind the standard ones. Other threads read theirs while one is added or removed; those of
/// tables come and go while the probe runs.
class AddedFieldGroups {
public:
    static constexpr std::size_t kMost = kMostFieldGroups - kStandardFieldGroups;

    AddedFieldGroups() noexcept {
        for (auto& row : rows_) {
            row.store(&kNoFieldGroup, std::memory_order_relaxed);
        }
    }
    /// A bit for each place of a row that is not a table's.
    [[nodiscard]] std::uint32_t lasting() const noexcept {
        return lasting_.load(std::memory_order_acquire);
    }
    [[nodiscard]] const FieldGroup& row(std::size_t place) const noexcept {
        return *rows_[place].load(std::memory_order_acquire);
    }
    /// @return  its place; nothing: there is none
    [[nodiscard]] std::optional<std::size_t> add(const FieldGroup& row) noexcept {
        const std::lock_guard lock(mutex_);
        for (std::size_t place = 0; place < kMost; ++place) {
            if (&this->row(place) == &kNoFieldGroup) {
                rows_[place].store(&row, std::memory_order_release);
                const std::uint32_t lasts = row.chosen_by == ChosenBy::table ? 0 : 1;
                lasting_.fetch_or(lasts << place, std::memory_order_release);
                return place;
            }
        }
        return std::nullopt;
    }
    void remove(std::size_t place) noexcept {
        const std::lock_guard lock(mutex_);
        lasting_.fetch_and(~(std::uint32_t{1} << place), std::memory_order_release);
        rows_[place].store(&kNoFieldGroup, std::memory_order_release);
    }

private:
    std::array<std::atomic<const FieldGroup*>, kMost> rows_;
    std::atomic<std::uint32_t> lasting_{0};
    std::mutex mutex_;  ///< of those that add and remove
};
inline AddedFieldGroups added_field_groups;
}  // namespace detail

/// The row of a group; one without a name and without elements where no group has the number.
///
/// @param id  of one of lasting_groups(), or of a table in which the caller has a share
[[nodiscard]] constexpr const FieldGroup& field_group(FieldGroupId id) noexcept {
    return id < kStandardFieldGroups ? *StandardFieldGroups::kRows[id]
                                     : detail::added_field_groups.row(id - kStandardFieldGroups);
}

/// A set of groups: those that records carry beside their core (`export.fields`). A group that is
/// not chosen costs nothing per packet and no memory.
class FieldGroups {
public:
    constexpr FieldGroups() noexcept = default;

    [[nodiscard]] constexpr bool has(FieldGroupId id) const noexcept {
        return (bits_ >> id & 1U) != 0;
    }
    template <class Group>
    [[nodiscard]] constexpr bool has() const noexcept {
        return has(kFieldGroupId<Group>);
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    constexpr void set(FieldGroupId id, bool is_in = true) noexcept {
        const auto bit = std::uint32_t{1} << id;
        bits_ = is_in ? bits_ | bit : bits_ & ~bit;
    }
    /// @param bits  one of each group, by its number
    [[nodiscard]] static constexpr FieldGroups with_bits(std::uint32_t bits) noexcept {
        FieldGroups set;
        set.bits_ = bits;
        return set;
    }
    /// Calls `use(id)` for each, in their order.
    template <class Use>
    constexpr void for_each(Use use) const {
        for (std::uint32_t left = bits_; left != 0; left &= left - 1) {
            use(static_cast<FieldGroupId>(std::countr_zero(left)));
        }
    }

    [[nodiscard]] friend constexpr FieldGroups operator|(FieldGroups a, FieldGroups b) noexcept {
        a.bits_ |= b.bits_;
        return a;
    }
    /// Those of `a` that are not in `b`.
    [[nodiscard]] friend constexpr FieldGroups operator-(FieldGroups a, FieldGroups b) noexcept {
        a.bits_ &= ~b.bits_;
        return a;
    }
    friend constexpr bool operator==(const FieldGroups&, const FieldGroups&) noexcept = default;

private:
    std::uint32_t bits_ = 0;
    static_assert(kMostFieldGroups <= 32);
};

/// The set of these groups, by their structs.
template <class... Groups>
[[nodiscard]] constexpr FieldGroups groups_of() noexcept {
    FieldGroups set;
    (set.set(kFieldGroupId<Groups>), ...);
    return set;
}
/// All that are compiled in.
inline constexpr FieldGroups kEveryGroup = [] {
    FieldGroups set;
    for (FieldGroupId id = 0; id < kStandardFieldGroups; ++id) {
        set.set(id);
    }
    return set;
}();
/// Those that are compiled in, and added ones that are not of tables. Code that
/// searches all groups for a name or a number searches these: another thread may free the row of a
/// table at any time, unless the caller has a share in the table.
///
/// @thread  any
[[nodiscard]] inline FieldGroups lasting_groups() noexcept {
    return kEveryGroup |
           FieldGroups::with_bits(detail::added_field_groups.lasting() << kStandardFieldGroups);
}
/// @return  nothing: none of the lasting_groups() has this name
[[nodiscard]] inline std::optional<FieldGroupId> find_field_group(std::string_view name) noexcept {
    std::optional<FieldGroupId> found;
    lasting_groups().for_each([&](FieldGroupId id) {
        if (!name.empty() && field_group(id).name == name) {
            found = id;
        }
    });
    return found;
}
/// Adds a group that is not compiled into the cache: each packet costs two calls by pointer. It
/// cannot have a state. A table has a name of its own, but for the one that a reload puts in its
/// place: they are there side by side until the former one has ended.
///
/// @param row  outlives all use of it
/// @return     its number; nothing: there are kMostFieldGroups, or one of the lasting_groups() has
///             its name, or the row is not valid
/// @thread     any
[[nodiscard]] inline std::optional<FieldGroupId> add_field_group(const FieldGroup& row) noexcept {
    if (find_field_group(row.name) || row.has_state || !is_valid(row)) {
        return std::nullopt;
    }
    const std::optional<std::size_t> place = detail::added_field_groups.add(row);
    return place ? std::optional(kStandardFieldGroups + *place) : std::nullopt;
}
/// Removes an added group; nothing uses it any more. Its number may be another one's then.
///
/// @thread  any
inline void remove_field_group(FieldGroupId id) noexcept {
    detail::added_field_groups.remove(id - kStandardFieldGroups);
}
/// Those with a state.
inline constexpr FieldGroups kGroupsWithState = [] {
    FieldGroups set;
    for (FieldGroupId id = 0; id < kStandardFieldGroups; ++id) {
        set.set(id, field_group(id).has_state);
    }
    return set;
}();

}  // namespace tributary
