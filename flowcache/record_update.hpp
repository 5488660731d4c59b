// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>

#include "flowcache/hot_entry.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

// How packets become a record. The first packet starts it. Each packet, the first included, is
// added to the HotEntry and to the chosen groups.

/// The groups of one record in the making, which a layout's offsets lead into.
class GroupBytes {
public:
    /// @param bytes  of all groups; aligned to 8
    explicit GroupBytes(std::byte* bytes) noexcept : bytes_(bytes) {}

    /// @param at  the group's offset in the record, from its layout
    template <class Group>
    [[nodiscard]] Group& get(std::uint16_t at) const noexcept {
        return *reinterpret_cast<Group*>(bytes_ + (at - sizeof(FlowRecordCore)));
    }

private:
    std::byte* bytes_;
};

/// Begins a group that is not compiled in. Octets of the key stay.
inline void start_added_group(std::byte& group, const FieldGroup& row,
                              const KeyedPacket& keyed) noexcept {
    std::memset(&group + row.key_octets, 0, std::size_t{row.octets} - row.key_octets);
    if (row.begin != nullptr) {
        row.begin(row.context, &group, *keyed.packet, *keyed.fields);
    }
}
/// Begins the groups of a record with its first packet, which they do not count yet. Those with
/// hooks begin by these.
inline void start_groups(GroupBytes groups, const RecordLayout& layout,
                         const KeyedPacket& keyed) noexcept {
    StandardFieldGroups::for_each([&]<class Group>() {
        if (kFieldGroup<Group>.has_state || layout.at<Group>() == 0) {
            return;
        }
        auto& group = groups.get<Group>(layout.at<Group>());
        if constexpr (requires { group.begin(*keyed.fields); }) {
            group.begin(*keyed.fields);
        } else {
            group = {};
        }
    });
    layout.added.for_each([&](FieldGroupId id) {
        start_added_group(groups.get<std::byte>(layout.places[id]), field_group(id), keyed);
    });
}

/// Whether a layout has a group that start_groups() changes, or finish_groups().
[[nodiscard]] inline bool has_groups_to_start(const RecordLayout& layout) noexcept {
    return !(layout.groups() - kGroupsWithState).empty();
}
/// Whether it has one that add_to_groups() changes.
[[nodiscard]] inline bool has_groups_to_add_to(const RecordLayout& layout) noexcept {
    FieldGroups groups = layout.groups() - kGroupsWithState;
    layout.added.for_each([&groups](FieldGroupId id) {
        if (field_group(id).add == nullptr) {
            groups.set(id, false);
        }
    });
    return !groups.empty();
}
/// Adds one packet to a group that is compiled in, if it is chosen and packets change it.
template <class Group>
[[gnu::always_inline]] inline void add_to_group(GroupBytes groups, const RecordLayout& layout,
                                                const KeyedPacket& keyed) noexcept {
    if constexpr (requires(Group group) { group.add(*keyed.packet, *keyed.fields); }) {
        if (layout.at<Group>() != 0) {
            groups.get<Group>(layout.at<Group>()).add(*keyed.packet, *keyed.fields);
        }
    }
}
/// Never inlined, so that the path of packets in tables without such groups is short.
[[gnu::noinline]] inline void add_to_added_groups(GroupBytes groups, const RecordLayout& layout,
                                                  const KeyedPacket& keyed) noexcept {
    layout.added.for_each([&](FieldGroupId id) {
        const FieldGroup& row = field_group(id);
        if (row.add != nullptr) {
            row.add(row.context, &groups.get<std::byte>(layout.places[id]), *keyed.packet,
                    *keyed.fields);
        }
    });
}
/// Adds one packet to the groups of its record.
inline void add_to_groups(GroupBytes groups, const RecordLayout& layout,
                          const KeyedPacket& keyed) noexcept {
    StandardFieldGroups::for_each(
        [&]<class Group>() { add_to_group<Group>(groups, layout, keyed); });
    if (!layout.added.empty()) {
        add_to_added_groups(groups, layout, keyed);
    }
}
/// Finishes the added groups of a record.
///
/// @param groups  of a copy, not of the entry
inline void finish_groups(GroupBytes groups, const RecordLayout& layout) noexcept {
    layout.added.for_each([&](FieldGroupId id) {
        const FieldGroup& row = field_group(id);
        if (row.finish == nullptr) {
            return;
        }
        row.finish(row.context, &groups.get<std::byte>(layout.places[id]));
        if (layout.reverse_places[id] != 0) {
            row.finish(row.context, &groups.get<std::byte>(layout.reverse_places[id]));
        }
    });
}

/// Makes a HotEntry one that has counted nothing.
///
/// @param counts  of the entry
inline void clear_counts(HotEntry& hot, EntryCounts& counts) noexcept {
    hot.tcp_control_bits = 0;
    hot.ip_class_of_service = 0;
    hot.end_reason = FlowEndReason::none;
    counts = {.packets = 0, .octets = 0, .start = Timestamp::max()};
}

/// What some packets of one direction add to its record.
struct PacketCounts {
    std::uint64_t packets{};
    std::uint64_t octets{};  ///< sum of IP total lengths
    std::uint16_t tcp_control_bits{};
};

[[nodiscard]] inline PacketCounts counts_of(const KeyedPacket& keyed) noexcept {
    return {1, keyed.fields->ip_bytes, keyed.fields->tcp_control_bits};
}

/// @param direction  DirectionCounts or ReverseGroup
template <class Direction>
[[gnu::always_inline]] inline void add_counts(Direction&& direction,
                                              const PacketCounts& counts) noexcept {
    direction.packets += counts.packets;
    direction.octets += counts.octets;
    direction.tcp_control_bits |= counts.tcp_control_bits;
}

/// @param own  of the entry
[[gnu::always_inline]] inline void add_counts(HotEntry& hot, EntryCounts& own,
                                              const PacketCounts& counts) noexcept {
    own.packets += counts.packets;
    own.octets += counts.octets;
    hot.tcp_control_bits |= counts.tcp_control_bits;
}

/// Without std::min() and std::max(), for which g++ 12 makes arguments in registers objects on the
/// stack.
///
/// @param span  of any type with a start and an end
template <class Span>
[[gnu::always_inline]] inline void widen(Span& span, Timestamp first, Timestamp last) noexcept {
    if (first < span.start) {
        span.start = first;
    }
    if (last > span.end) {
        span.end = last;
    }
}
/// @param own  of the entry
[[gnu::always_inline]] inline void widen(HotEntry& hot, EntryCounts& own, Timestamp first,
                                         Timestamp last) noexcept {
    own.start = std::min(own.start, first);
    hot.end = std::max(hot.end, last);
}

}  // namespace tributary
