// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// The leading bits of an address that are in a key. 0: the address is not in it.
struct AddressPrefix {
    std::uint8_t ipv4 = 32;   ///< 0 .. 32
    std::uint8_t ipv6 = 128;  ///< 0 .. 128

    friend bool operator==(const AddressPrefix&, const AddressPrefix&) = default;
};

/// What identifies a flow beyond the fields of FlowKey.
enum class KeyExtension : std::uint8_t {
    none,
    tunnel,  ///< the tunnel around the packet; needs a layout with the group `tunnel`
};

/// The key of a table of flows: which fields of FlowKey it has, with which masks, and an extension.
/// Each key has the IP version. A field, or a part of an address, that is not in the key is 0 in
/// the FlowKey of records. KeyMasks is what a cache makes of it. Templates have the leading bits as
/// an address, and say nothing of their number: who exports such a key adds elements 9, 13, 29 and
/// 30.
struct KeyDescriptor {
    AddressPrefix source{};
    AddressPrefix destination{};
    bool source_port = true;
    bool destination_port = true;  ///< with it, type and code of ICMP and ICMPv6
    bool protocol = true;
    bool vlan = true;  ///< the outermost VLAN id
    bool ingress_interface = true;
    KeyExtension extension = KeyExtension::none;

    friend bool operator==(const KeyDescriptor&, const KeyDescriptor&) = default;
};

/// Whether the key has the same of both ends of a packet. Biflows need that: otherwise the two
/// directions of a conversation have different keys, and are flows of their own.
[[nodiscard]] constexpr bool is_symmetric(const KeyDescriptor& key) noexcept {
    return key.source == key.destination && key.source_port == key.destination_port;
}

}  // namespace tributary
