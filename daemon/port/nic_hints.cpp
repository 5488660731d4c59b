// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/nic_hints.hpp"

#include <rte_mbuf_ptype.h>

#include <algorithm>

namespace tributary {
namespace {

/// With "unknown" options or extension headers are possible, as from most NICs: the parser looks.
bool is_ipv4(std::uint32_t layer3) noexcept {
    return layer3 == RTE_PTYPE_L3_IPV4 || layer3 == RTE_PTYPE_L3_IPV4_EXT_UNKNOWN;
}
bool is_ipv6(std::uint32_t layer3) noexcept {
    return layer3 == RTE_PTYPE_L3_IPV6 || layer3 == RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
}

}  // namespace

PlainKind nic_hint_of(std::uint32_t packet_type) noexcept {
    constexpr std::uint32_t kOutermost = RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK;
    if ((packet_type & RTE_PTYPE_L2_MASK) != RTE_PTYPE_L2_ETHER ||
        (packet_type & ~kOutermost) != 0) {
        return PlainKind::none;
    }
    const std::uint32_t layer3 = packet_type & RTE_PTYPE_L3_MASK;
    const std::uint32_t layer4 = packet_type & RTE_PTYPE_L4_MASK;
    if (layer4 == RTE_PTYPE_L4_TCP) {
        return is_ipv4(layer3)   ? PlainKind::ipv4_tcp
               : is_ipv6(layer3) ? PlainKind::ipv6_tcp
                                 : PlainKind::none;
    }
    if (layer4 == RTE_PTYPE_L4_UDP) {
        return is_ipv4(layer3)   ? PlainKind::ipv4_udp
               : is_ipv6(layer3) ? PlainKind::ipv6_udp
                                 : PlainKind::none;
    }
    return PlainKind::none;
}

bool are_hints_supported(std::span<const std::uint32_t> packet_types) noexcept {
    const auto has = [packet_types](std::uint32_t mask, auto is_wanted) {
        return std::ranges::any_of(
            packet_types, [mask, is_wanted](std::uint32_t type) { return is_wanted(type & mask); });
    };
    const auto has_layer4 = [](std::uint32_t type) {
        return type == RTE_PTYPE_L4_TCP || type == RTE_PTYPE_L4_UDP;
    };
    const auto is_ip = [](std::uint32_t type) { return is_ipv4(type) || is_ipv6(type); };
    return has(RTE_PTYPE_L2_MASK, [](auto type) { return type == RTE_PTYPE_L2_ETHER; }) &&
           has(RTE_PTYPE_L3_MASK, is_ip) && has(RTE_PTYPE_L4_MASK, has_layer4);
}

}  // namespace tributary
