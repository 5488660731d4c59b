// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flowcache/record/key_extractor.hpp"

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
    tunnel,    ///< the tunnel around the packet; needs a layout with the group `tunnel`
    declared,  ///< octets that an extractor takes; needs a layout with the extension_group
};

/// The key of a table of flows: which fields of FlowKey it has, with which masks, and an extension.
/// A field, or a part of an address, that is not in the key is 0 in the FlowKey of records; an IP
/// version that is not in it is 4. KeyMasks is what a cache makes of it. Templates have the leading
/// bits as a prefix (elements 44, 45, 169, 170), and say nothing of their number: an exporter
/// of such a key adds elements 9, 13, 29 and 30.
struct KeyDescriptor {
    AddressPrefix source{};
    AddressPrefix destination{};
    bool source_port = true;
    bool destination_port = true;  ///< with it, type and code of ICMP and ICMPv6
    bool protocol = true;
    bool vlan = true;  ///< the outermost VLAN id
    bool ingress_interface = true;
    /// A key without it has no address either. Each key with an address has it.
    bool ip_version = true;
    KeyExtension extension = KeyExtension::none;
    /// Of a declared extension: outlives the cache, and all that handles its records.
    const KeyExtractor* extractor = nullptr;
    std::uint8_t extension_group = 0;  ///< FieldGroupId of an added group; FieldGroup::key_octets

    friend bool operator==(const KeyDescriptor&, const KeyDescriptor&) = default;
};

/// Whether the key has the same of both ends of a packet. Biflows need that: otherwise the two
/// directions of a conversation have different keys, and are flows of their own.
[[nodiscard]] constexpr bool is_symmetric(const KeyDescriptor& key) noexcept {
    return key.source == key.destination && key.source_port == key.destination_port;
}

}  // namespace tributary
