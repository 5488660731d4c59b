// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "flowcache/fields/field_element.hpp"

namespace tributary {

/// Which end of a packet a field describes. In a biflow the two directions exchange such fields.
enum class FieldSide : std::uint8_t { none, source, destination };

/// The part of a key that a field becomes.
enum class KeyMember : std::uint8_t {
    extension,  ///< octets of the key's extension; the others are members of KeyDescriptor
    source_address,
    destination_address,
    source_port,
    destination_port,
    protocol,
    vlan,
    ingress_interface,
    ip_version,
};

/// Where the value of a field comes from.
enum class FieldSource : std::uint8_t {
    fields,      ///< a member of PacketFields: 1, 2 or 4 octets
    view,        ///< a member of PacketView: 4 octets
    icmp,        ///< ICMP's type and code, of ICMP over IPv4
    icmp_v6,     ///< the same, of ICMPv6 over IPv6
    time,        ///< PacketView::seen_at, in seconds
    ether_type,  ///< the frame's type field
    // Octets.
    source_address,
    destination_address,
    tunnel_source,
    tunnel_destination,
    mac_address,   ///< six octets of PacketFields::mac_addresses
    mpls_section,  ///< three octets of PacketFields::mpls_stack
};

/// A row of the catalogue: a field of a packet that keys and values of declared tables name.
struct PacketField {
    std::string_view name;  ///< of the element as which it is exported, or a name for those of
                            ///< both IP versions
    std::uint8_t id;        ///< 1 .. 63. Derived elements are numbered by it: once used it is
                            ///< never changed.
    std::uint16_t number;   ///< of the element; 0: two elements, one for each IP version
    ElementOwner owner;
    Encoding encoding;         ///< in the key's extension
    std::string_view meaning;  ///< for docs/fields.md: Markdown, one line
    FieldSource source;
    /// Of the member (`fields`, `view`), of the address or section (`mac_address`, `mpls_section`).
    std::uint16_t offset;
    std::uint8_t octets;  ///< to read; of a number 1, 2 or 4
    std::uint8_t shift;   ///< of a number: the lowest bit that counts
    std::uint32_t mask;   ///< of a number, behind the shift
    KeyMember key_member;
    FieldSide side;
    std::string_view counterpart;  ///< the name of the same field of the other side
    bool is_numeric;               ///< sum, min, max, first, last and or take it
    bool in_unified_headers;       ///< they carry it
    /// In a record it is that of the first packet (RFC 7012 §5): first() is exported as the element
    /// itself. Not so where the core of records has the element, or where it has another meaning.
    bool first_is_element;

    [[nodiscard]] bool is_address() const noexcept {
        return source == FieldSource::source_address ||
               source == FieldSource::destination_address || source == FieldSource::tunnel_source ||
               source == FieldSource::tunnel_destination;
    }
};

/// All of them.
[[nodiscard]] std::span<const PacketField> packet_fields() noexcept;

/// @return  nullptr: there is none of this name
[[nodiscard]] const PacketField* find_packet_field(std::string_view name) noexcept;

/// The field that is meant by the name of an element which is none of the catalogue, for instance
/// sourceAddress by sourceIPv4Address.
///
/// @return  empty: no such element
[[nodiscard]] std::string_view field_instead_of(std::string_view element) noexcept;

}  // namespace tributary
