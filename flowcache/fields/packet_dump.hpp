// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `packet-dump`: which file has packets of the flow. No packet adds to it; the holder that
/// had the file written puts its number into the record when that ends (FlowHolder::record_ends()).
struct PacketDumpGroup {
    std::uint32_t file_number{};  ///< 0: none
    std::array<std::uint8_t, 4> padding{};
};

inline constexpr std::array kPacketDumpElements{
    tributary_element("dumpFileNumber", 24, Encoding::unsigned4,
                      offsetof(PacketDumpGroup, file_number),
                      "the number of the file that a trigger of `triggers` has had written because "
                      "of this record, as in the file's name; 0: no trigger fired"),
};

template <>
inline constexpr FieldGroup kFieldGroup<PacketDumpGroup> = field_group_of<PacketDumpGroup>(
    {.name = "packet-dump", .elements = kPacketDumpElements, .chosen_by = ChosenBy::triggers});

}  // namespace tributary
