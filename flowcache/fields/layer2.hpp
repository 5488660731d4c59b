// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `layer2`; addresses and tags are those of the record's first packet.
struct Layer2Group {
    std::uint64_t layer2_octets{};  ///< PacketView::wire_bytes
    std::array<std::byte, 6> destination_mac{};
    std::array<std::byte, 6> source_mac{};
    VlanId dot1q_vlan{};           ///< meaningful when vlan_tags >= 1
    VlanId dot1q_customer_vlan{};  ///< meaningful when vlan_tags >= 2
    std::uint8_t vlan_tags{};
    bool has_mac_addresses{};  ///< the link layer has them, and the input path carries them
    std::array<std::uint8_t, 6> padding{};

    void begin(const PacketFields& fields) noexcept {
        *this = {.dot1q_vlan = fields.outer_vlan,
                 .dot1q_customer_vlan = fields.customer_vlan,
                 .vlan_tags = fields.vlan_tags};
        if (fields.mac_addresses != nullptr) {
            std::memcpy(destination_mac.data(), fields.mac_addresses, 6);
            std::memcpy(source_mac.data(), fields.mac_addresses + 6, 6);
            has_mac_addresses = true;
        }
    }
    void add(const PacketView& packet, const PacketFields& /*fields*/) noexcept {
        layer2_octets += packet.wire_bytes;
    }

    // A variant is the number of tags, at most two, and kNoMacAddresses where there are none.
    static constexpr std::uint8_t kTagCounts = 3;
    static constexpr std::uint8_t kNoMacAddresses = kTagCounts;
    static constexpr std::uint8_t kVariants = 2 * kTagCounts;
    [[nodiscard]] std::uint8_t variant(std::uint8_t /*protocol*/) const noexcept {
        return static_cast<std::uint8_t>(std::min<std::uint8_t>(vlan_tags, kTagCounts - 1) +
                                         (has_mac_addresses ? 0 : kNoMacAddresses));
    }
    [[nodiscard]] static constexpr std::uint8_t variant_of_both(std::uint8_t there,
                                                                std::uint8_t back) noexcept {
        const bool has_none = there >= kNoMacAddresses && back >= kNoMacAddresses;
        return static_cast<std::uint8_t>(std::max(there % kTagCounts, back % kTagCounts) +
                                         (has_none ? kNoMacAddresses : 0));
    }
};

inline constexpr std::array kLayer2Elements{
    FieldElement{"sourceMacAddress", 56, Encoding::octets6, offsetof(Layer2Group, source_mac),
                 "of the first packet; not in records of links that have none (PPP, raw IP, ...)",
                 in_variants(0, 1, 2)},
    FieldElement{"destinationMacAddress", 80, Encoding::octets6,
                 offsetof(Layer2Group, destination_mac), "the same", in_variants(0, 1, 2)},
    FieldElement{
        "layer2OctetDeltaCount", 352, Encoding::unsigned8, offsetof(Layer2Group, layer2_octets),
        "sum of frame lengths on the wire, as far as the input knows them; the whole frame's, also "
        "of a packet in a tunnel; of a live frame that was cut on its way at least its Ethernet "
        "header, tags, labels and IP packet; a capture has the lengths itself"},
    FieldElement{"dot1qVlanId", 243, Encoding::unsigned2, offsetof(Layer2Group, dot1q_vlan),
                 "the first packet's outer tag, where it has one; 0 is a priority tag",
                 in_variants(1, 2, 4, 5)},
    FieldElement{"dot1qCustomerVlanId", 245, Encoding::unsigned2,
                 offsetof(Layer2Group, dot1q_customer_vlan),
                 "the first packet's second tag, where it has one", in_variants(2, 5)},
};

template <>
inline constexpr FieldGroup kFieldGroup<Layer2Group> =
    field_group_of<Layer2Group>({.name = "layer2", .elements = kLayer2Elements});

}  // namespace tributary
