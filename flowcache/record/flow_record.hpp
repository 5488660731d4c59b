// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "flowcache/fields/field_groups.hpp"
#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

// A flow record is one block of bytes: FlowRecordCore, then the chosen field groups (the table in
// flowcache/fields/field_groups.hpp) in the order of RecordLayout. Which groups there are is
// decided once at start; cache, ring and encoder are instantiated per size (kRecordSizes), not per
// layout, and find a group by its offset:
//
//     0                80              80 + ...
//     | FlowRecordCore | tcp-analysis? | reverse tcp-analysis? | reverse? | extremes? | ...
//                                                              | reverse extremes? | ...
//
// In a biflow's record (RFC 5103) the core and the groups are those of the direction from the
// initiator, which is the key's source; group `reverse` and the groups that are called reverse are
// the same of the other direction. They mean something only once reverse.packets is not 0.

/// flowEndReason (IE 136).
enum class FlowEndReason : std::uint8_t {
    none = 0,  ///< the flow still runs
    idle_timeout = 1,
    active_timeout = 2,
    end_of_flow = 3,
    forced_end = 4,
    lack_of_resources = 5,
};
inline constexpr std::size_t kFlowEndReasonCount = 6;

/// biflowDirection (IE 239): how the source of a biflow was found.
/// @source  RFC 5103 §6.3
enum class BiflowDirection : std::uint8_t {
    arbitrary = 0,          ///< the source has sent the first packet seen
    initiator = 1,          ///< the source is the initiator, as far as the packets show
    reverse_initiator = 2,  ///< the destination is
};

/// The part that every record has. Times are packet times; start <= end.
struct FlowRecordCore {
    FlowKey key;
    std::uint16_t tcp_control_bits{};    ///< OR over all packets
    std::uint8_t ip_class_of_service{};  ///< of the first packet
    FlowEndReason end_reason{};
    std::uint64_t packets{};
    std::uint64_t octets{};  ///< sum of IP total lengths
    Timestamp start{};       ///< smallest packet time
    Timestamp end{};         ///< largest packet time

    /// Of a uniflow; tally_of() is for any record.
    [[nodiscard]] RecordTally tally() const noexcept { return {1, packets, octets}; }
};
static_assert(sizeof(FlowRecordCore) == 80 && std::is_trivially_copyable_v<FlowRecordCore>);

/// Group `reverse`: the direction from responder to initiator. Its counts and times lie in the
/// order of FlowRecordCore.
struct ReverseGroup {
    std::array<std::uint8_t, 4> padding{};
    std::uint16_t tcp_control_bits{};                               ///< OR over its packets
    std::uint8_t ip_class_of_service{};                             ///< of its first packet
    BiflowDirection biflow_direction = BiflowDirection::initiator;  ///< of the record
    std::uint64_t packets{};  ///< 0: none was seen, and the rest means nothing
    std::uint64_t octets{};   ///< sum of IP total lengths
    Timestamp start{};        ///< smallest packet time
    Timestamp end{};          ///< largest packet time
};
static_assert(sizeof(ReverseGroup) == 40 && std::is_trivially_copyable_v<ReverseGroup>);
/// The same count or time of a biflow's two directions is this far apart, less the place of
/// `reverse`.
inline constexpr std::size_t kReverseShift = sizeof(FlowRecordCore) - sizeof(ReverseGroup);
static_assert(offsetof(ReverseGroup, tcp_control_bits) + kReverseShift ==
                  offsetof(FlowRecordCore, tcp_control_bits) &&
              offsetof(ReverseGroup, ip_class_of_service) + kReverseShift ==
                  offsetof(FlowRecordCore, ip_class_of_service) &&
              offsetof(ReverseGroup, packets) + kReverseShift ==
                  offsetof(FlowRecordCore, packets) &&
              offsetof(ReverseGroup, end) + kReverseShift == offsetof(FlowRecordCore, end));

/// Smallest and largest packet time.
struct PacketSpan {
    Timestamp start;
    Timestamp end;
};

/// Where each chosen group lies in a record. Offset 0 means: not chosen.
struct RecordLayout {
    using Places = std::array<std::uint16_t, kMostFieldGroups>;  ///< by FieldGroupId

    Places places{};             ///< of the groups; of a biflow those of the initiator's direction
    Places reverse_places{};     ///< of the same groups of the other direction: biflows
    std::uint16_t reverse_at{};  ///< of ReverseGroup: biflows
    std::uint16_t forward_span_at{};  ///< biflows: the first direction's times, which only the
                                      ///< cache reads
    std::uint16_t bytes =
        sizeof(FlowRecordCore);  ///< all groups included, before rounding up to a size
    FieldGroups added{};         ///< groups that are not compiled in

    /// @param groups  of the table of field groups
    [[nodiscard]] static constexpr RecordLayout of(
        const FieldGroups& groups, FlowDirection direction = FlowDirection::uniflow) noexcept {
        RecordLayout layout;
        const bool biflow = direction == FlowDirection::biflow;
        layout.place_all(layout.places, groups, true);
        if (biflow) {
            layout.place_all(layout.reverse_places, groups, true);
            layout.place(layout.reverse_at, sizeof(ReverseGroup));
            layout.place(layout.forward_span_at, sizeof(PacketSpan));
        }
        layout.place_all(layout.places, groups, false);
        if (biflow) {
            layout.place_all(layout.reverse_places, groups, false);
        }
        layout.added = groups - kEveryGroup;
        return layout;
    }
    /// The offset of a group that is compiled in.
    template <class Group>
    [[nodiscard]] constexpr std::uint16_t at() const noexcept {
        return places[kFieldGroupId<Group>];
    }
    /// The same of a biflow's other direction.
    template <class Group>
    [[nodiscard]] constexpr std::uint16_t back_at() const noexcept {
        return reverse_places[kFieldGroupId<Group>];
    }
    /// The groups of a biflow's other direction in the places of the first's. The result has no
    /// reverse groups.
    [[nodiscard]] constexpr RecordLayout reversed() const noexcept {
        return {.places = reverse_places, .bytes = bytes, .added = added};
    }
    /// Those that were chosen.
    [[nodiscard]] constexpr FieldGroups groups() const noexcept {
        FieldGroups chosen;
        for (FieldGroupId id = 0; id < kMostFieldGroups; ++id) {
            chosen.set(id, places[id] != 0);
        }
        return chosen;
    }
    friend bool operator==(const RecordLayout&, const RecordLayout&) = default;

private:
    constexpr void place(std::uint16_t& at, std::size_t octets) noexcept {
        at = bytes;
        bytes = static_cast<std::uint16_t>(bytes + octets);
    }
    /// Places the groups with a state, or those without.
    constexpr void place_all(Places& in, const FieldGroups& groups, bool with_state) noexcept {
        groups.for_each([&](FieldGroupId id) {
            if (field_group(id).has_state == with_state) {
                place(in[id], field_group(id).octets);
            }
        });
    }
};

/// The layout of the records of flows.
///
/// @param asked  groups of export.fields; effective_groups() adds those that follow from `options`
[[nodiscard]] inline RecordLayout layout_of_flows(const FieldGroups& asked,
                                                  const FlowCacheOptions& options) noexcept {
    return RecordLayout::of(effective_groups(asked, options), options.direction);
}

/// The number of templates that the records of a layout can need: IP version, ICMP, VLAN id and the
/// variants of groups decide which elements a record has.
[[nodiscard]] constexpr std::size_t record_kinds(const RecordLayout& layout) noexcept {
    std::size_t kinds = 8;
    std::size_t back = 1;
    layout.groups().for_each([&](FieldGroupId id) {
        const FieldGroup& group = field_group(id);
        kinds *= group.variants;
        back *= group.variant_of_both == nullptr ? group.variants : 1;
    });
    return layout.reverse_at != 0 ? kinds * (1 + back) : kinds;
}
/// More than that do not have template ids (export/ipfix/template_ids.hpp).
inline constexpr std::size_t kMostRecordKinds = 16'128;
static_assert(record_kinds(RecordLayout::of(kEveryGroup, FlowDirection::biflow)) <=
              kMostRecordKinds);

/// A record of at most `kBytes` bytes, as cache and ring hold it.
template <std::size_t kBytes>
struct FlowRecord {
    static_assert(kBytes >= sizeof(FlowRecordCore) && kBytes % 8 == 0);
    FlowRecordCore core;
    std::array<std::byte, kBytes - sizeof(FlowRecordCore)> groups;

    /// The group of type `Group` that lies at `at`, an offset from the record's layout.
    template <class Group>
    [[nodiscard]] Group& group(std::uint16_t at) noexcept {
        return *reinterpret_cast<Group*>(reinterpret_cast<std::byte*>(this) + at);
    }
};
template <>
struct FlowRecord<sizeof(FlowRecordCore)> {
    FlowRecordCore core;
    template <class Group>
    [[nodiscard]] Group& group(std::uint16_t at) noexcept {
        return *reinterpret_cast<Group*>(reinterpret_cast<std::byte*>(this) + at);
    }
};
static_assert(sizeof(FlowRecord<80>) == 80 && sizeof(FlowRecord<144>) == 144);

/// The counts of a record in the ledger: packets and octets of both directions of a biflow.
///
/// @param record  of the layout, aligned to 8
[[nodiscard]] inline RecordTally tally_of(const std::byte* record,
                                          const RecordLayout& layout) noexcept {
    RecordTally tally = reinterpret_cast<const FlowRecordCore*>(record)->tally();
    if (layout.reverse_at != 0) {
        const auto& reverse = *reinterpret_cast<const ReverseGroup*>(record + layout.reverse_at);
        tally.packets += reverse.packets;
        tally.octets += reverse.octets;
    }
    return tally;
}
template <std::size_t kBytes>
[[nodiscard]] RecordTally tally_of(const FlowRecord<kBytes>& record,
                                   const RecordLayout& layout) noexcept {
    return tally_of(reinterpret_cast<const std::byte*>(&record), layout);
}

/// The largest packet time of a record, in either direction of a biflow.
///
/// @param record  of the layout, aligned to 8
[[nodiscard]] inline Timestamp latest_packet(const std::byte* record,
                                             const RecordLayout& layout) noexcept {
    const Timestamp end = reinterpret_cast<const FlowRecordCore*>(record)->end;
    if (layout.reverse_at == 0) {
        return end;
    }
    const auto& reverse = *reinterpret_cast<const ReverseGroup*>(record + layout.reverse_at);
    return reverse.packets != 0 ? std::max(end, reverse.end) : end;
}

/// The sizes that are instantiated; a layout takes the first one that holds it. With a stride
/// between entries that is known only at run time, packets took 1.11 times as long at 16,384 flows,
/// and 1.05 times at a million.
inline constexpr std::array<std::size_t, 9> kRecordSizes{
    80,   // uniflow without groups
    144,  // biflow without groups, or uniflow with tcp-analysis
    152,  // uniflow with the common groups (extremes, layer2, tcp-counts)
    216,  //   and with tcp-analysis
    272,  // biflow with tcp-analysis
    280,  // biflow with the common groups
    456,  // biflow with all but tcp-analysis and packet-dump
    584,  // biflow with all but packet-dump
    840,  //   and with further groups
};
inline constexpr std::size_t kLargestRecord = kRecordSizes.back();
static_assert(RecordLayout::of(kEveryGroup, FlowDirection::biflow).bytes <= kLargestRecord);

/// @param layout  of at most kLargestRecord octets
[[nodiscard]] constexpr std::size_t record_size(const RecordLayout& layout) noexcept {
    for (const std::size_t size : kRecordSizes) {
        if (layout.bytes <= size) {
            return size;
        }
    }
    return kLargestRecord;
}

}  // namespace tributary
