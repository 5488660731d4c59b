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

inline void add_packet(ExtremesGroup& group, const PacketFields& fields) noexcept {
    group.minimum_ttl = std::min(group.minimum_ttl, fields.ttl);
    group.maximum_ttl = std::max(group.maximum_ttl, fields.ttl);
    group.minimum_ip_total_length = std::min(group.minimum_ip_total_length, fields.ip_bytes);
    group.maximum_ip_total_length = std::max(group.maximum_ip_total_length, fields.ip_bytes);
}

inline void start_group(Layer2Group& group, const PacketFields& fields) noexcept {
    group = {.dot1q_vlan = fields.outer_vlan,
             .dot1q_customer_vlan = fields.customer_vlan,
             .vlan_tags = fields.vlan_tags};
    if (fields.mac_addresses != nullptr) {
        std::memcpy(group.destination_mac.data(), fields.mac_addresses, 6);
        std::memcpy(group.source_mac.data(), fields.mac_addresses + 6, 6);
        group.has_mac_addresses = true;
    }
}

inline void start_group(MplsGroup& group, const PacketFields& fields) noexcept {
    group = {.labels = fields.mpls_labels};
    const std::size_t sections = std::min<std::size_t>(fields.mpls_labels, MplsGroup::kSections);
    for (std::size_t i = 0; i < sections; ++i) {
        std::memcpy(group.sections[i].data(), fields.mpls_stack + 4 * i, 3);
    }
}

/// The tunnel around a packet, as record and key hold it.
[[nodiscard]] inline TunnelGroup tunnel_of(const PacketFields& fields) noexcept {
    const TunnelFields& tunnel = fields.tunnel;
    TunnelGroup group{.id = tunnel.id, .kind = tunnel.kind, .ip_version = tunnel.ip_version};
    if (tunnel.addresses != nullptr) {
        const std::size_t octets = tunnel.ip_version == 4 ? 4 : 16;
        std::memcpy(group.source.data(), tunnel.addresses, octets);
        std::memcpy(group.destination.data(), tunnel.addresses + octets, octets);
    }
    return group;
}

inline void add_packet(TcpCountsGroup& group, const PacketFields& fields) noexcept {
    const auto has = [&fields](std::uint16_t flag) {
        return static_cast<std::uint32_t>((fields.tcp_control_bits & flag) != 0);
    };
    group.syn += has(tcp_flag::kSyn);
    group.fin += has(tcp_flag::kFin);
    group.rst += has(tcp_flag::kRst);
    group.psh += has(tcp_flag::kPsh);
    group.ack += has(tcp_flag::kAck);
    group.urg += has(tcp_flag::kUrg);
}

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

/// Begins the groups of a record with its first packet, which they do not count yet.
inline void start_groups(GroupBytes groups, const RecordLayout& layout,
                         const PacketFields& fields) noexcept {
    if (layout.extremes_at != 0) {
        groups.get<ExtremesGroup>(layout.extremes_at) = {};
    }
    if (layout.layer2_at != 0) {
        start_group(groups.get<Layer2Group>(layout.layer2_at), fields);
    }
    if (layout.tcp_counts_at != 0) {
        groups.get<TcpCountsGroup>(layout.tcp_counts_at) = {};
    }
    if (layout.flow_label_at != 0) {
        groups.get<FlowLabelGroup>(layout.flow_label_at) = {fields.flow_label};
    }
    if (layout.mpls_at != 0) {
        start_group(groups.get<MplsGroup>(layout.mpls_at), fields);
    }
    if (layout.tunnel_at != 0) {
        groups.get<TunnelGroup>(layout.tunnel_at) = tunnel_of(fields);
    }
    if (layout.fragments_at != 0) {
        groups.get<FragmentsGroup>(layout.fragments_at) = {};
    }
}

/// Whether a layout has a group that start_groups() and add_to_groups() change.
[[nodiscard]] inline bool has_groups_to_add_to(const RecordLayout& layout) noexcept {
    return layout.groups() != FieldGroups{.tcp_analysis = layout.tcp_analysis_at != 0};
}
/// Adds one packet to the groups of its record.
inline void add_to_groups(GroupBytes groups, const RecordLayout& layout,
                          const KeyedPacket& keyed) noexcept {
    if (layout.extremes_at != 0) {
        add_packet(groups.get<ExtremesGroup>(layout.extremes_at), *keyed.fields);
    }
    if (layout.layer2_at != 0) {
        groups.get<Layer2Group>(layout.layer2_at).layer2_octets += keyed.packet->wire_bytes;
    }
    if (layout.tcp_counts_at != 0) {
        add_packet(groups.get<TcpCountsGroup>(layout.tcp_counts_at), *keyed.fields);
    }
    if (layout.fragments_at != 0) {
        groups.get<FragmentsGroup>(layout.fragments_at).fragment_flags |=
            keyed.fields->fragment_flags;
    }
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

/// The counts of the direction that a HotEntry counts, with the member names of ReverseGroup.
struct HotCounts {
    [[gnu::always_inline]] HotCounts(HotEntry& hot, EntryCounts& counts) noexcept
        : packets(counts.packets),
          octets(counts.octets),
          tcp_control_bits(hot.tcp_control_bits),
          ip_class_of_service(hot.ip_class_of_service) {}

    std::uint64_t& packets;
    std::uint64_t& octets;
    std::uint16_t& tcp_control_bits;
    std::uint8_t& ip_class_of_service;
};

/// What some packets of one direction add to its record.
struct PacketCounts {
    std::uint64_t packets{};
    std::uint64_t octets{};  ///< sum of IP total lengths
    std::uint16_t tcp_control_bits{};
};

[[nodiscard]] inline PacketCounts counts_of(const KeyedPacket& keyed) noexcept {
    return {1, keyed.fields->ip_bytes, keyed.fields->tcp_control_bits};
}

/// @param direction  HotCounts or ReverseGroup
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

/// @param span  of any type with a start and an end
template <class Span>
void widen(Span& span, Timestamp first, Timestamp last) noexcept {
    span.start = std::min(span.start, first);
    span.end = std::max(span.end, last);
}
/// @param own  of the entry
[[gnu::always_inline]] inline void widen(HotEntry& hot, EntryCounts& own, Timestamp first,
                                         Timestamp last) noexcept {
    own.start = std::min(own.start, first);
    hot.end = std::max(hot.end, last);
}

/// Adds a packet to one direction of a biflow, which begins with its first one.
///
/// @param counts, span  of the packet's direction: two parts of one entry, or the same
template <class Counts, class Span>
void add_to_direction(Counts&& counts, Span& span, GroupBytes groups, const RecordLayout& layout,
                      const KeyedPacket& packet) noexcept {
    const Timestamp seen_at = packet.packet->seen_at;
    if (counts.packets == 0) {
        counts.ip_class_of_service = packet.fields->ip_class_of_service;
        span.start = seen_at;
        span.end = seen_at;
        start_groups(groups, layout, *packet.fields);
    }
    add_counts(counts, counts_of(packet));
    widen(span, seen_at, seen_at);
    add_to_groups(groups, layout, packet);
}

}  // namespace tributary
