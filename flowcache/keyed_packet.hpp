// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "flowcache/entry_index.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/key_masks.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

struct HotEntry;

/// A parsed packet on its way into the cache. Borrows the frame's view and fields for one burst.
/// One cache line long, so that the next one is found without a multiplication.
struct alignas(64) KeyedPacket {
    ShortKey key;       ///< of biflows: the canonical one, which both directions have
    bool is_swapped{};  ///< of biflows: it goes from the key's destination to its source
    IndexHome home;     ///< of its hash, in the cache's index
    HotEntry* entry{};  ///< until it is accounted: most likely its flow's; nullptr: unknown
                        ///< then: its flow's; FlowCache::flow_of() gives it as a handle
    const PacketView* packet{};
    const PacketFields* fields{};
    std::byte* extension{};  ///< of a declared key: its octets, of biflows in the canonical key's
                             ///< direction
};

static_assert(sizeof(KeyedPacket) == 64);

/// Makes a packet's key from its view and its fields. For uniflows `is_swapped` is left alone: it
/// is false from the start.
///
/// @param masks  WholeKeyMasks or KeyMasks
template <class Masks>
[[gnu::always_inline]] inline void key_packet(KeyedPacket& keyed, FlowDirection direction,
                                              const Masks& masks) noexcept {
    const PacketFields& fields = *keyed.fields;
    const bool is_swapped = direction == FlowDirection::biflow && masks.needs_swap(fields);
    if (direction == FlowDirection::biflow) {
        keyed.is_swapped = is_swapped;
    }
    write_key(keyed.key, masks.masked(words_of_packet(fields, keyed.packet->ingress_interface)),
              is_swapped);
}

}  // namespace tributary
