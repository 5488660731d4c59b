// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "flowcache/record/address_words.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

// A KeyDescriptor as masks over what a packet has. A cache makes them once. Most keys have all
// fields whole, perhaps without the VLAN id; these are WholeKeyMasks, with which a packet's key
// takes fewer instructions. Both kinds have the same functions for key_packet().

/// The masks of a key of whole fields, with or without the VLAN id.
class WholeKeyMasks {
public:
    explicit WholeKeyMasks(bool has_vlan) noexcept
        : flow_word_(has_vlan ? ~std::uint64_t{0} : ~kVlan) {}

    [[nodiscard]] ShortKey::Words masked(const ShortKey::Words& words) const noexcept {
        return {words[0], words[1] & flow_word_, words[2]};
    }
    [[nodiscard]] bool needs_swap(const PacketFields& fields) const noexcept {
        return tributary::needs_swap(fields);
    }

private:
    static constexpr std::uint64_t kVlan = std::uint64_t{0xFFFF} << 32U;

    std::uint64_t flow_word_;  ///< over PacketFields::flow_word()
};

/// The masks of any key.
class KeyMasks {
public:
    explicit KeyMasks(const KeyDescriptor& key) noexcept
        : of_version_{masks(key, key.source.ipv4, key.destination.ipv4),
                      masks(key, key.source.ipv6, key.destination.ipv6)},
          has_vlan_(key.vlan),
          is_whole_(has_whole_fields(key)),
          is_symmetric_(is_symmetric(key)),
          has_icmp_type_(key.protocol && key.destination_port),
          one_version_(key.ip_version ? 0 : kIpv4) {
        of_version_[0].confine_to_ipv4();
    }

    /// Whether all fields of FlowKey but the VLAN id are in the key and whole. Then whole() is a
    /// quicker way to the same keys, and IPv6 addresses need no mask.
    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
    [[nodiscard]] WholeKeyMasks whole() const noexcept { return WholeKeyMasks(has_vlan_); }

    /// @param words  of a packet, source first
    [[nodiscard]] ShortKey::Words masked(const ShortKey::Words& words) const noexcept {
        constexpr int kVersion = 56;
        const auto ip_version = static_cast<std::uint8_t>(words[1] >> kVersion);
        const ShortKey::Words& mask = of(ip_version).words;
        return {words[0] & mask[0], (words[1] & mask[1]) | one_version_, words[2] & mask[2]};
    }
    /// Where so many octets have room in ShortKeys of this table, because the members that lie
    /// there are not in its key. The last word, that of the interface, is left alone: FlowHasher
    /// mixes it less than the others.
    ///
    /// @param octets  1 .. 8
    /// @return        the first one's place in a ShortKey; all are in the same of its words.
    ///                nothing: there is no such room
    [[nodiscard]] std::optional<std::size_t> free_octets(std::size_t octets) const noexcept {
        constexpr std::size_t kWord = sizeof(std::uint64_t);
        constexpr std::size_t kBits = 8;
        for (std::size_t at = 0; at + octets <= 2 * kWord; ++at) {
            const ShortKey::Words& ipv4 = of_version_[0].words;
            const ShortKey::Words& ipv6 = of_version_[1].words;
            const std::size_t word = at / kWord;
            const std::uint64_t used = ipv4[word] | ipv6[word] | (word == 1 ? kIpVersion : 0);
            const std::uint64_t wanted = ~std::uint64_t{0} >> (kWord - octets) * kBits
                                                                  << at % kWord * kBits;
            if (at % kWord + octets <= kWord && (used & wanted) == 0) {
                return at;
            }
        }
        return std::nullopt;
    }
    /// The IPv6 addresses of a packet's key.
    ///
    /// @param is_swapped  of the packet
    [[nodiscard]] AddressPair ipv6_addresses(const PacketFields& fields,
                                             bool is_swapped) const noexcept {
        const Masks& mask = of_version_[1];
        const IpAddress source = masked(fields.source, mask.source);
        const IpAddress destination = masked(fields.destination, mask.destination);
        return {is_swapped ? destination : source, is_swapped ? source : destination};
    }

    /// Whether a packet's flow may have another direction. The key has to be symmetric. Type and
    /// code of ICMP and ICMPv6 stand in the destination port: swapped, they would be another flow's
    /// ports. A key without that port does not have them, and pairs the two directions of ICMP like
    /// any other. So does a key without the protocol, in which ICMP is told from nothing: all
    /// packets of such a flow have to be swapped, or none.
    [[nodiscard]] bool can_be_paired(std::uint8_t protocol) const noexcept {
        return is_symmetric_ && (!has_icmp_type_ || tributary::can_be_paired(protocol));
    }
    /// Whether a packet's key has to be swapped to be canonical, by what the key has of its ends.
    [[nodiscard]] bool needs_swap(const PacketFields& fields) const noexcept {
        const Ends ends = ends_of(fields);
        return can_be_paired(fields.protocol) && are_in_wrong_order(ends.source, ends.destination);
    }
    /// Whether both ends of a packet's key are equal.
    [[nodiscard]] bool has_equal_ends(const PacketFields& fields) const noexcept {
        const Ends ends = ends_of(fields);
        return !are_in_wrong_order(ends.source, ends.destination) &&
               !are_in_wrong_order(ends.destination, ends.source);
    }

private:
    static constexpr int kPortBits = 16;
    static constexpr std::uint64_t kIpv4 = std::uint64_t{4} << 56U;
    static constexpr std::uint64_t kIpVersion = std::uint64_t{0xFF} << 56U;

    struct Ends {
        FlowEnd source;
        FlowEnd destination;
    };

    /// For packets of one IP version.
    struct Masks {
        ShortKey::Words words;
        AddressWords source;
        AddressWords destination;

        /// IPv4 does not use the other octets of an address.
        void confine_to_ipv4() noexcept {
            for (AddressWords* const address : {&source, &destination}) {
                address->low &= 0xFFFF'FFFF;
                address->high = 0;
            }
        }
    };

    [[nodiscard]] const Masks& of(std::uint8_t ip_version) const noexcept {
        return of_version_[ip_version == 4 ? 0 : 1];
    }

    [[nodiscard]] Ends ends_of(const PacketFields& fields) const noexcept {
        const Masks& mask = of(fields.ip_version);
        const std::uint64_t ports = fields.flow_word() & mask.words[1];
        return {
            .source = {masked_words(fields.source, mask.source), static_cast<std::uint16_t>(ports)},
            .destination = {masked_words(fields.destination, mask.destination),
                            static_cast<std::uint16_t>(ports >> kPortBits)}};
    }
    [[nodiscard]] static bool has_whole_fields(KeyDescriptor key) noexcept {
        key.vlan = true;
        key.extension = KeyExtension::none;
        key.extractor = nullptr;
        key.extension_group = 0;
        return key == KeyDescriptor{};
    }
    /// @param source , destination  bits of the addresses
    [[nodiscard]] static Masks masks(const KeyDescriptor& key, unsigned source,
                                     unsigned destination) noexcept {
        constexpr std::uint64_t kPort = 0xFFFF;
        constexpr std::uint64_t kProtocol = 0xFF;
        constexpr std::uint64_t kInterface = 0xFFFF'FFFF;
        constexpr std::uint64_t kAddress = 0xFFFF'FFFF;  // the first four octets
        const auto field = [](bool is_in_key, std::uint64_t bits, int at) {
            return is_in_key ? bits << at : 0;
        };
        const AddressWords of_source = prefix_mask(source);
        const AddressWords of_destination = prefix_mask(destination);
        return {.words = {(of_source.low & kAddress) | of_destination.low << 32U,
                          field(key.source_port, kPort, 0) |
                              field(key.destination_port, kPort, kPortBits) |
                              field(key.vlan, kPort, 2 * kPortBits) |
                              field(key.protocol, kProtocol, 3 * kPortBits) |
                              (key.ip_version ? kIpVersion : 0),
                          field(key.ingress_interface, kInterface, 0)},
                .source = of_source,
                .destination = of_destination};
    }
    [[nodiscard]] static AddressWords masked_words(const IpAddress& address,
                                                   const AddressWords& mask) noexcept {
        AddressWords words;
        std::memcpy(&words, address.data(), sizeof words);
        return {words.low & mask.low, words.high & mask.high};
    }
    [[nodiscard]] static IpAddress masked(const IpAddress& address,
                                          const AddressWords& mask) noexcept {
        return std::bit_cast<IpAddress>(masked_words(address, mask));
    }

    std::array<Masks, 2> of_version_;  ///< IPv4, IPv6
    bool has_vlan_;
    bool is_whole_;
    bool is_symmetric_;
    bool has_icmp_type_;
    std::uint64_t one_version_;  ///< of keys without the IP version: 4, in its place
};

}  // namespace tributary
