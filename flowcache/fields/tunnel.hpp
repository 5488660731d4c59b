// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `tunnel`: the tunnel right around the record's packets. It has no padding that is not
/// zero, so that it is hashed and compared as bytes where it is part of the key.
struct TunnelGroup {
    IpAddress source{};  ///< outer addresses: network byte order; IPv4 in the first four bytes
    IpAddress destination{};
    std::uint32_t id{};         ///< VNI, GRE key, ERSPAN session id or TEID; 0 where there is none
    TunnelKind kind{};          ///< none: the packets are in no tunnel
    std::uint8_t ip_version{};  ///< 4 or 6, of the outer addresses
    std::array<std::uint8_t, 2> padding{};
    friend bool operator==(const TunnelGroup& a, const TunnelGroup& b) noexcept {
        return std::memcmp(&a, &b, sizeof a) == 0;
    }

    void begin(const PacketFields& fields) noexcept;

    /// Outer addresses of one IP version, and for VXLAN a segment id.
    enum Variant : std::uint8_t {
        no_tunnel,
        over_ipv4,
        over_ipv6,
        vxlan_over_ipv4,
        vxlan_over_ipv6,
    };
    static constexpr std::uint8_t kVariants = 5;
    [[nodiscard]] std::uint8_t variant(std::uint8_t /*protocol*/) const noexcept {
        if (kind == TunnelKind::none) {
            return no_tunnel;
        }
        if (kind == TunnelKind::vxlan) {
            return ip_version == 6 ? vxlan_over_ipv6 : vxlan_over_ipv4;
        }
        return ip_version == 6 ? over_ipv6 : over_ipv4;
    }
    [[nodiscard]] bool is_plausible() const noexcept {
        return kind == TunnelKind::none ||
               (kind <= TunnelKind::gtp_u && (ip_version == 4 || ip_version == 6));
    }
};
static_assert(std::has_unique_object_representations_v<TunnelGroup>);

/// The tunnel around a packet, as record and key hold it.
[[nodiscard]] inline TunnelGroup tunnel_of(const PacketFields& fields) noexcept {
    const TunnelFields& tunnel = fields.tunnel;
    TunnelGroup group{.id = tunnel.id, .kind = tunnel.kind, .ip_version = tunnel.ip_version};
    if (tunnel.addresses != nullptr) {
        const std::size_t octets = tunnel.ip_version == 4 ? 4 : 16;
        std::memcpy(group.source.data(), tunnel.addresses, octets);
        std::memcpy(group.destination.data(), tunnel.addresses + octets, octets);
    }
    return group;
}
inline void TunnelGroup::begin(const PacketFields& fields) noexcept { *this = tunnel_of(fields); }

/// An element of tributary's own, which the key has where the tunnel is in it.
[[nodiscard]] constexpr FieldElement tunnel_element(const char* name, std::uint16_t number,
                                                    Encoding encoding, std::size_t offset,
                                                    const char* meaning) noexcept {
    FieldElement element = tributary_element(name, number, encoding, offset, meaning);
    element.in_key = true;
    return element;
}
// The flow's own address elements are not repeated here: a collector that does not expect them
// twice (RFC 7011 §8) would take the outer addresses for the flow's.
inline constexpr std::array kTunnelElements = [] {
    using T = TunnelGroup;
    constexpr Variants kAny = kEveryVariant & ~in_variants(T::no_tunnel);
    constexpr Variants kOverIpv4 = in_variants(T::over_ipv4, T::vxlan_over_ipv4);
    constexpr Variants kOverIpv6 = in_variants(T::over_ipv6, T::vxlan_over_ipv6);
    using E = Encoding;
    return std::array{
        limited_to(kAny, tunnel_element("tunnelType", 1, E::octets1, offsetof(T, kind),
                                        "1 IP in IP, 2 GRE, 3 ERSPAN, 4 VXLAN, 5 GENEVE, 6 GTP-U")),
        limited_to(
            kAny, tunnel_element("tunnelId", 2, E::unsigned4, offsetof(T, id),
                                 "VNI, GRE key, ERSPAN session id or TEID; 0 where there is none")),
        limited_to(kOverIpv4,
                   tunnel_element("tunnelSourceIPv4Address", 3, E::octets4, offsetof(T, source),
                                  "outer source, where the tunnel runs over IPv4")),
        limited_to(kOverIpv4,
                   tunnel_element("tunnelDestinationIPv4Address", 4, E::octets4,
                                  offsetof(T, destination), "outer destination, the same")),
        limited_to(kOverIpv6,
                   tunnel_element("tunnelSourceIPv6Address", 5, E::octets16, offsetof(T, source),
                                  "outer source, where the tunnel runs over IPv6")),
        limited_to(kOverIpv6,
                   tunnel_element("tunnelDestinationIPv6Address", 6, E::octets16,
                                  offsetof(T, destination), "outer destination, the same")),
        FieldElement{"layer2SegmentId", 351, Encoding::vxlan_segment, offsetof(T, id),
                     "VXLAN only: 0x01 in the highest octet, the VNI in the three lowest",
                     in_variants(T::vxlan_over_ipv4, T::vxlan_over_ipv6)},
    };
}();

template <>
inline constexpr FieldGroup kFieldGroup<TunnelGroup> =
    field_group_of<TunnelGroup>({.name = "tunnel",
                                 .elements = kTunnelElements,
                                 .chosen_by = ChosenBy::tunnel,
                                 .in_unified_headers = false});

}  // namespace tributary
