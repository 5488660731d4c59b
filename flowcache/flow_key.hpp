// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// What makes two packets one flow. It has no padding, so that it is hashed and compared as bytes.
struct FlowKey {
    IpAddress source{};  ///< network byte order; IPv4 in the first four bytes
    IpAddress destination{};
    L4Port source_port{};
    L4Port destination_port{};  ///< for ICMP and ICMPv6: type * 256 + code
    VlanId vlan{};              ///< outermost; 0 = none, or not in the key
    std::uint8_t protocol{};
    std::uint8_t ip_version{};  ///< 4 or 6
    InterfaceIndex ingress_interface{};

    friend bool operator==(const FlowKey& a, const FlowKey& b) noexcept {
        return std::memcmp(&a, &b, sizeof(FlowKey)) == 0;
    }
};
static_assert(std::has_unique_object_representations_v<FlowKey> && sizeof(FlowKey) == 44);

[[nodiscard]] inline FlowKey make_key(const PacketFields& fields, InterfaceIndex ingress_interface,
                                      bool vlan_in_key) noexcept {
    return {.source = fields.source,
            .destination = fields.destination,
            .source_port = fields.source_port,
            .destination_port = fields.destination_port,
            .vlan = vlan_in_key ? fields.outer_vlan : VlanId{},
            .protocol = fields.protocol,
            .ip_version = fields.ip_version,
            .ingress_interface = ingress_interface};
}

}  // namespace tributary
