// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// The flow key, as a record carries it. It has no padding.
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

/// The part of a key that is hashed and compared for every packet: all of it for IPv4; for IPv6
/// there are whole addresses beside it, as an AddressPair. It has no padding either.
struct ShortKey {
    std::array<std::byte, 8> addresses{};  ///< the first four octets of source and destination
    L4Port source_port{};
    L4Port destination_port{};
    VlanId vlan{};
    std::uint8_t protocol{};
    std::uint8_t ip_version{};
    InterfaceIndex ingress_interface{};

    /// The same bytes as whole registers: addresses; ports, VLAN, protocol and version; interface.
    /// Where a key is written and read so, no load waits for a store that is narrower.
    using Words = std::array<std::uint64_t, 3>;
    void set_words(const Words& words) noexcept {
        auto* const bytes = reinterpret_cast<std::byte*>(this);
        std::memcpy(bytes, words.data(), 8);
        std::memcpy(bytes + 8, words.data() + 1, 8);
        std::memcpy(bytes + 16, words.data() + 2, 4);
    }
    [[nodiscard]] Words words() const noexcept {
        const auto* const bytes = reinterpret_cast<const std::byte*>(this);
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        std::uint32_t third = 0;
        std::memcpy(&first, bytes, sizeof first);
        std::memcpy(&second, bytes + 8, sizeof second);
        std::memcpy(&third, bytes + 16, sizeof third);
        return {first, second, third};
    }

    friend bool operator==(const ShortKey& a, const ShortKey& b) noexcept {
        return std::memcmp(&a, &b, sizeof(ShortKey)) == 0;
    }
};
static_assert(std::endian::native == std::endian::little);
static_assert(std::has_unique_object_representations_v<ShortKey> && sizeof(ShortKey) == 20);

/// IPv6 source and destination, network byte order.
struct AddressPair {
    IpAddress source;
    IpAddress destination;

    friend bool operator==(const AddressPair& a, const AddressPair& b) noexcept {
        return std::memcmp(&a, &b, sizeof(AddressPair)) == 0;
    }
};
static_assert(std::has_unique_object_representations_v<AddressPair>);

/// The ShortKey of a packet before masks, as words.
[[nodiscard]] inline ShortKey::Words words_of_packet(const PacketFields& fields,
                                                     InterfaceIndex ingress_interface) noexcept {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::memcpy(&source, fields.source.data(), sizeof source);
    std::memcpy(&destination, fields.destination.data(), sizeof destination);
    return {source | std::uint64_t{destination} << 32U, fields.flow_word(),
            ingress_interface.value};
}

/// The key of a packet, or of its other direction.
///
/// @param key         every byte of it is written
/// @param words       of the packet, masked
/// @param is_swapped  source and destination change places
/// @cost              no branch on `is_swapped`: a branch predictor cannot predict a packet's
///                    direction
inline void write_key(ShortKey& key, const ShortKey::Words& words, bool is_swapped) noexcept {
    constexpr std::uint64_t kPorts = 0xFFFF'FFFF;
    const auto turn = static_cast<int>(is_swapped);
    const std::uint32_t ports = std::rotl(static_cast<std::uint32_t>(words[1] & kPorts), 16 * turn);
    key.set_words({std::rotl(words[0], 32 * turn), (words[1] & ~kPorts) | ports, words[2]});
}

/// @param ipv6  read for IPv6 only
[[nodiscard]] inline FlowKey whole_key(const ShortKey& key, const AddressPair& ipv6) noexcept {
    FlowKey whole{.source_port = key.source_port,
                  .destination_port = key.destination_port,
                  .vlan = key.vlan,
                  .protocol = key.protocol,
                  .ip_version = key.ip_version,
                  .ingress_interface = key.ingress_interface};
    if (key.ip_version == 4) {
        std::memcpy(whole.source.data(), key.addresses.data(), 4);
        std::memcpy(whole.destination.data(), key.addresses.data() + 4, 4);
    } else {
        whole.source = ipv6.source;
        whole.destination = ipv6.destination;
    }
    return whole;
}

}  // namespace tributary
