// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `flow-label`: that of the first packet.
struct FlowLabelGroup {
    std::uint32_t flow_label{};
    std::array<std::uint8_t, 4> padding{};

    void begin(const PacketFields& fields) noexcept { *this = {fields.flow_label}; }
};

inline constexpr std::array kFlowLabelElements{
    FieldElement{.name = "flowLabelIPv6",
                 .number = 31,
                 .encoding = Encoding::unsigned4,
                 .offset = offsetof(FlowLabelGroup, flow_label),
                 .meaning = "of the first packet; in IPv6 records only",
                 .condition = Condition::ipv6},
};

template <>
inline constexpr FieldGroup kFieldGroup<FlowLabelGroup> = field_group_of<FlowLabelGroup>(
    {.name = "flow-label", .elements = kFlowLabelElements, .in_unified_headers = false});

}  // namespace tributary
