// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flowcache/flow_hasher.hpp"
#include "flowcache/flow_record.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// What makes a packet one of a record's: the whole key is equal, and so is the tunnel around it
/// where that is part of the key. The tunnel is not in FlowKey, because few configurations want it
/// and it would double the key for all.
class FlowIdentity {
public:
    /// @param tunnel_in_key  needs a layout with the group `tunnel`
    FlowIdentity(FlowHasher hasher, const RecordLayout& layout, bool tunnel_in_key) noexcept
        : hasher_(hasher), tunnel_at_(tunnel_in_key ? layout.tunnel_at : std::uint16_t{0}) {}

    [[nodiscard]] FlowHash hash(const KeyedPacket& packet) const noexcept {
        const FlowHash hash = hasher_(packet.key);
        return tunnel_at_ != 0 ? hasher_(hash, tunnel_of(*packet.fields)) : hash;
    }
    /// The same as that of each of the record's packets.
    template <class Record>
    [[nodiscard]] FlowHash hash(Record& record) const noexcept {
        const FlowHash hash = hasher_(record.core.key);
        return tunnel_at_ != 0 ? hasher_(hash, record.template group<TunnelGroup>(tunnel_at_))
                               : hash;
    }
    template <class Record>
    [[nodiscard]] bool is_same(Record& record, const KeyedPacket& packet) const noexcept {
        return record.core.key == packet.key &&
               (tunnel_at_ == 0 ||
                record.template group<TunnelGroup>(tunnel_at_) == tunnel_of(*packet.fields));
    }

private:
    FlowHasher hasher_;
    std::uint16_t tunnel_at_;  ///< 0: not in the key
};

}  // namespace tributary
