// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `fragments`.
struct FragmentsGroup {
    std::uint8_t fragment_flags{};  ///< of fragment_flag, OR over all packets
    std::array<std::uint8_t, 7> padding{};

    void add(const PacketView& /*packet*/, const PacketFields& fields) noexcept {
        fragment_flags |= fields.fragment_flags;
    }
};

inline constexpr std::array kFragmentsElements{
    FieldElement{"fragmentFlags", 197, Encoding::octets1, offsetof(FragmentsGroup, fragment_flags),
                 "OR over all packets of 0x40 (IPv4: don't fragment) and 0x20 (more fragments, "
                 "also of IPv6's fragment header)"},
};

template <>
inline constexpr FieldGroup kFieldGroup<FragmentsGroup> =
    field_group_of<FragmentsGroup>({.name = "fragments", .elements = kFragmentsElements});

}  // namespace tributary
