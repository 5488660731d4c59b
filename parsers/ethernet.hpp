// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "parsers/captured_bytes.hpp"
#include "parsers/link_layer.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

namespace ethertype {  // IEEE registration authority, as the IANA lists them (ieee-802-numbers)
inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr std::uint16_t kArp = 0x0806;
inline constexpr std::uint16_t kCustomerTag = 0x8100;  ///< 802.1Q
inline constexpr std::uint16_t kIpv6 = 0x86dd;
inline constexpr std::uint16_t kMplsUnicast = 0x8847;
inline constexpr std::uint16_t kMplsMulticast = 0x8848;
inline constexpr std::uint16_t kPppoeDiscovery = 0x8863;
inline constexpr std::uint16_t kPppoeSession = 0x8864;
inline constexpr std::uint16_t kServiceTag = 0x88a8;  ///< 802.1ad
inline constexpr std::uint16_t kQinqTag1 = 0x9100;    ///< used for stacked tags before 802.1ad
inline constexpr std::uint16_t kQinqTag2 = 0x9200;
inline constexpr std::uint16_t kQinqTag3 = 0x9300;
/// Up to here the field is a length (IEEE 802.3-2022 §3.2.6).
inline constexpr std::uint16_t kLastLlcLength = 1500;
}  // namespace ethertype

[[nodiscard]] constexpr bool is_vlan_tag(std::uint16_t type) noexcept {
    switch (type) {
        case ethertype::kCustomerTag:
        case ethertype::kServiceTag:
        case ethertype::kQinqTag1:
        case ethertype::kQinqTag2:
        case ethertype::kQinqTag3:
            return true;
        default:
            return false;
    }
}

/// Steps over one VLAN tag and counts it.
///
/// @param at      where the tag control information begins
/// @param fields  gets the first two VLAN ids of the frame and the number of tags
/// @errors        truncated_vlan_tag
/// @source        IEEE 802.1Q-2022 §9.5, §9.6
[[nodiscard]] inline LinkLayer parse_vlan_tag(CapturedBytes frame, std::size_t at,
                                              PacketFields& fields) noexcept {
    const auto tag = frame.header<4>(at);
    if (!tag) {
        return {ParseStatus::truncated_vlan_tag};
    }
    const VlanId id{static_cast<std::uint16_t>(tag.u16<0>() & 0x0fffU)};
    if (fields.vlan_tags == 0) {
        fields.outer_vlan = id;
    } else if (fields.vlan_tags == 1) {
        fields.customer_vlan = id;
    }
    if (fields.vlan_tags < std::numeric_limits<std::uint8_t>::max()) {
        ++fields.vlan_tags;
    }
    return {ParseStatus::ok, tag.u16<2>(), at + 4};
}

/// Where the type field lies that is behind the MAC addresses of a frame and all its VLAN tags.
///
/// @return  nothing: the frame ends before or in it
[[nodiscard]] inline std::optional<std::size_t> type_behind_tags(CapturedBytes frame) noexcept {
    constexpr std::size_t kTypeAt = 12;
    constexpr std::size_t kTag = 4;
    std::size_t at = kTypeAt;
    auto type = frame.header<2>(at);
    while (type && is_vlan_tag(type.u16<0>())) {
        at += kTag;
        type = frame.header<2>(at);
    }
    return type ? std::optional(at) : std::nullopt;
}

/// Parses an Ethernet header, up to its type field.
///
/// @param at      where the header begins
/// @param fields  gets the MAC addresses, instead of those of a frame around this one
/// @errors        truncated_link_header
/// @source        IEEE 802.3-2022 §3.1.1
[[nodiscard]] inline LinkLayer parse_ethernet(CapturedBytes frame, std::size_t at,
                                              PacketFields& fields) noexcept {
    const auto header = frame.header<14>(at);
    if (!header) {
        return {ParseStatus::truncated_link_header};
    }
    fields.mac_addresses = header.bytes<0, 12>();
    return {ParseStatus::ok, header.u16<12>(), at + 14};
}

/// Restores the MAC addresses of the outermost frame in `fields`, if the mode asks for these.
///
/// @param outermost  the addresses before an inner frame was parsed; nullptr if there were none
inline void keep_outer_mac(const std::byte* outermost, MacMode mode,
                           PacketFields& fields) noexcept {
    if (mode == MacMode::outer && outermost != nullptr) {
        fields.mac_addresses = outermost;
    }
}

}  // namespace tributary
