// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `extremes`.
struct ExtremesGroup {
    std::uint32_t minimum_ip_total_length = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t maximum_ip_total_length{};
    std::uint8_t minimum_ttl = std::numeric_limits<std::uint8_t>::max();
    std::uint8_t maximum_ttl{};
    std::array<std::uint8_t, 6> padding{};

    void begin(const PacketFields& /*fields*/) noexcept { *this = {}; }
    void add(const PacketView& /*packet*/, const PacketFields& fields) noexcept {
        minimum_ttl = std::min(minimum_ttl, fields.ttl);
        maximum_ttl = std::max(maximum_ttl, fields.ttl);
        minimum_ip_total_length = std::min(minimum_ip_total_length, fields.ip_bytes);
        maximum_ip_total_length = std::max(maximum_ip_total_length, fields.ip_bytes);
    }
};

inline constexpr std::array kExtremesElements{
    FieldElement{"minimumIpTotalLength", 25, Encoding::unsigned4,
                 offsetof(ExtremesGroup, minimum_ip_total_length), "over all packets"},
    FieldElement{"maximumIpTotalLength", 26, Encoding::unsigned4,
                 offsetof(ExtremesGroup, maximum_ip_total_length), "over all packets"},
    FieldElement{"minimumTTL", 52, Encoding::octets1, offsetof(ExtremesGroup, minimum_ttl),
                 "over all packets; the hop limit of IPv6"},
    FieldElement{"maximumTTL", 53, Encoding::octets1, offsetof(ExtremesGroup, maximum_ttl),
                 "over all packets; the hop limit of IPv6"},
};

template <>
inline constexpr FieldGroup kFieldGroup<ExtremesGroup> =
    field_group_of<ExtremesGroup>({.name = "extremes", .elements = kExtremesElements});

}  // namespace tributary
