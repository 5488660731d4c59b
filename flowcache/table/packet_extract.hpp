// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// What another thread needs of a packet to account it in a declared table, once the packet's
/// octets are gone: its times and sizes, and those fields that do not point into the frame. Behind
/// it lie the octets that CompiledTable::gather() has written.
struct PacketExtract {
    Timestamp seen_at;
    Timestamp clock;       ///< of the source, when the packet came
    std::uint64_t number;  ///< of the packet in its capture; 0: live
    std::uint32_t wire_bytes;
    InterfaceIndex ingress_interface;
    std::array<std::byte, 64> fields;  ///< the front of PacketFields

    /// @param to_number  see `number`
    void take(const PacketView& packet, const PacketFields& of, std::uint64_t to_number) noexcept {
        seen_at = packet.seen_at;
        clock = packet.clock;
        number = to_number;
        wire_bytes = packet.wire_bytes;
        ingress_interface = packet.ingress_interface;
        std::memcpy(fields.data(), &of, sizeof fields);
    }
    /// @param gathered  the octets behind the extract, which become `captured`
    /// @param to        all its members are set
    /// @param to_fields only members that an extract has are written
    void give(std::span<const std::byte> gathered, PacketView& to,
              PacketFields& to_fields) const noexcept {
        to.captured = gathered;
        to.wire_bytes = wire_bytes;
        to.link_type = LinkType::ethernet;
        to.ingress_interface = ingress_interface;
        to.seen_at = seen_at;
        to.clock = clock;
        std::memcpy(static_cast<void*>(&to_fields), fields.data(), sizeof fields);
        to_fields.has_tcp_segment = false;  // it is not in the extract
    }
};
static_assert(std::is_trivially_copyable_v<PacketExtract> && sizeof(PacketExtract) == 96 &&
              alignof(PacketExtract) == 8);
static_assert(std::is_trivially_copyable_v<PacketFields> &&
              offsetof(PacketFields, mac_addresses) == 64);

}  // namespace tributary
