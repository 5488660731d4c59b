// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>

#include "flowcache/flow_record.hpp"
#include "flowcache/keyed_packet.hpp"

namespace tributary {

// How packets become a record: start_record() with the first one, add_packet() with each, the first
// included. Both come once per group; where no group is chosen, all of them together cost one
// predictable branch.

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

template <class Record>
void start_groups(Record& record, const RecordLayout& layout, const PacketFields& fields) noexcept {
    if (layout.extremes_at != 0) {
        record.template group<ExtremesGroup>(layout.extremes_at) = {};
    }
    if (layout.layer2_at != 0) {
        start_group(record.template group<Layer2Group>(layout.layer2_at), fields);
    }
    if (layout.tcp_counts_at != 0) {
        record.template group<TcpCountsGroup>(layout.tcp_counts_at) = {};
    }
    if (layout.flow_label_at != 0) {
        record.template group<FlowLabelGroup>(layout.flow_label_at) = {fields.flow_label};
    }
    if (layout.mpls_at != 0) {
        start_group(record.template group<MplsGroup>(layout.mpls_at), fields);
    }
    if (layout.tunnel_at != 0) {
        record.template group<TunnelGroup>(layout.tunnel_at) = tunnel_of(fields);
    }
    if (layout.fragments_at != 0) {
        record.template group<FragmentsGroup>(layout.fragments_at) = {};
    }
}

/// Begins a record for the packet's flow; it still counts no packet.
template <class Record>
void start_record(Record& record, const RecordLayout& layout, const KeyedPacket& keyed) noexcept {
    record.core = {.key = keyed.key,
                   .ip_class_of_service = keyed.fields->ip_class_of_service,
                   .start = keyed.packet->seen_at,
                   .end = keyed.packet->seen_at};
    if (layout.has_groups()) {
        start_groups(record, layout, *keyed.fields);
    }
}

/// Adds one packet to the record of its flow.
template <class Record>
void add_packet(Record& record, const RecordLayout& layout, const KeyedPacket& keyed) noexcept {
    FlowRecordCore& core = record.core;
    core.packets += 1;
    core.octets += keyed.fields->ip_bytes;
    core.tcp_control_bits |= keyed.fields->tcp_control_bits;
    core.start = std::min(core.start, keyed.packet->seen_at);
    core.end = std::max(core.end, keyed.packet->seen_at);
    if (!layout.has_groups()) {
        return;
    }
    if (layout.extremes_at != 0) {
        add_packet(record.template group<ExtremesGroup>(layout.extremes_at), *keyed.fields);
    }
    if (layout.layer2_at != 0) {
        record.template group<Layer2Group>(layout.layer2_at).layer2_octets +=
            keyed.packet->wire_bytes;
    }
    if (layout.tcp_counts_at != 0) {
        add_packet(record.template group<TcpCountsGroup>(layout.tcp_counts_at), *keyed.fields);
    }
    if (layout.fragments_at != 0) {
        record.template group<FragmentsGroup>(layout.fragments_at).fragment_flags |=
            keyed.fields->fragment_flags;
    }
}

}  // namespace tributary
