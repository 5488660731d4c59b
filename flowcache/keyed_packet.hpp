// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/entry_index.hpp"
#include "flowcache/flow_direction.hpp"
#include "flowcache/flow_hasher.hpp"
#include "flowcache/flow_key.hpp"
#include "flowcache/options.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// A parsed packet on its way into the cache. Borrows the frame's view and fields for one burst.
/// A cache line, so that the next one is found without a multiplication.
struct alignas(64) KeyedPacket {
    ShortKey key;                 ///< of biflows: the canonical one, which both directions have
    bool is_backward{};           ///< the packet goes from the key's destination to its source
    FlowHash hash{};              ///< the cache's
    EntryIndex guess = kNoEntry;  ///< its flow's entry, most likely
    const PacketView* packet{};
    const PacketFields* fields{};
};

/// Makes a packet's key.
inline void key_packet(KeyedPacket& keyed, const PacketView& packet, const PacketFields& fields,
                       const FlowCacheOptions& options) noexcept {
    if (options.direction == FlowDirection::uniflow) {
        keyed.is_backward = false;
        write_key(keyed.key, fields, packet.ingress_interface, options.vlan_in_key, false);
    } else {
        keyed.is_backward = is_backward(fields);
        write_key(keyed.key, fields, packet.ingress_interface, options.vlan_in_key,
                  keyed.is_backward);
    }
    keyed.packet = &packet;
    keyed.fields = &fields;
}

/// The IPv6 addresses that belong to the packet's key.
[[nodiscard]] inline AddressPair ipv6_addresses(const KeyedPacket& packet) noexcept {
    return turned_addresses(*packet.fields, packet.is_backward);
}

}  // namespace tributary
