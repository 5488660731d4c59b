// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Octets of a packet's frame on the wire, without FCS: what its source says, but where that may be
/// too little no less than the link-layer headers that are known and the IP packet.
///
/// @param fields  of the packet
/// @thread        any; pure
/// @cost          no loop
[[nodiscard]] inline std::uint64_t frame_bytes(const PacketView& packet,
                                               const PacketFields& fields) noexcept {
    constexpr std::uint64_t kEthernetHeader = 14;
    constexpr std::uint64_t kTagOrLabel = 4;
    if (!packet.may_be_longer) {
        return packet.wire_bytes;
    }
    const std::uint64_t header_bytes =
        (fields.mac_addresses != nullptr ? kEthernetHeader : 0) +
        kTagOrLabel * (std::uint64_t{fields.vlan_tags} + fields.mpls_labels);
    return std::max<std::uint64_t>(packet.wire_bytes, header_bytes + fields.ip_bytes);
}

}  // namespace tributary
