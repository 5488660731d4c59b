// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/flow_entries.hpp"
#include "flowcache/flow_hasher.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// What makes a packet one of a flow's: the whole key is equal, and so is the tunnel around it
/// where that is part of the key. The tunnel is not in FlowKey, because few configurations want it
/// and it would double the key for all.
class FlowIdentity {
public:
    /// @param tunnel_in_key  needs a layout with the group `tunnel`
    FlowIdentity(FlowHasher hasher, const RecordLayout& layout, bool tunnel_in_key) noexcept
        : hasher_(hasher), tunnel_at_(tunnel_in_key ? layout.tunnel_at : std::uint16_t{0}) {}

    [[nodiscard]] FlowHash hash(const KeyedPacket& packet) const noexcept {
        FlowHash hash = hasher_(packet.key);
        if (packet.key.ip_version != 4) {
            hash = hasher_(hash, ipv6_addresses(packet));
        }
        if (tunnel_at_ != 0) {
            hash = hasher_(hash, turned(tunnel_of(*packet.fields), packet.is_backward));
        }
        return hash;
    }
    /// @return  whether `entry` runs, and is this packet's flow
    template <class Entries>
    [[nodiscard]] bool is_same(Entries& entries, EntryIndex entry,
                               const KeyedPacket& packet) const noexcept {
        const FlowLine& line = entries.line(entry);
        return line.key == packet.key && line.is_running() &&
               (packet.key.ip_version == 4 || entries.ipv6(entry) == ipv6_addresses(packet)) &&
               (tunnel_at_ == 0 || entries.groups(entry).template get<TunnelGroup>(tunnel_at_) ==
                                       turned(tunnel_of(*packet.fields), line.is_reverse(packet)));
    }

private:
    FlowHasher hasher_;
    std::uint16_t tunnel_at_;  ///< 0: not in the key
};

}  // namespace tributary
