// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/flow_hasher.hpp"
#include "flowcache/flow_key.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// A parsed packet on its way into the cache. Borrows the frame's view and fields for one burst.
struct KeyedPacket {
    ShortKey key;
    FlowHash hash{};
    const PacketView* packet{};
    const PacketFields* fields{};
};

}  // namespace tributary
