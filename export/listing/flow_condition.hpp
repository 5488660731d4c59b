// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "export/listing/flow_measure.hpp"
#include "export/messages/flow_view.hpp"

namespace tributary {

/// Which of a flow's two endpoints a condition tests.
enum class Endpoint : std::uint8_t { either, source, destination, both };

/// The addresses; a host is a net of all bits.
struct NetCondition {
    Endpoint endpoint{};
    bool outer{};  ///< of the tunnel's addresses
    std::uint8_t ip_version{};
    std::uint8_t prefix_bits{};
    IpAddress address{};
};

struct PortCondition {
    Endpoint endpoint{};
    std::uint16_t first{};
    std::uint16_t last{};
};

struct ProtocolCondition {
    std::uint8_t protocol{};
};

struct VersionCondition {
    std::uint8_t ip_version{};
};

struct VlanCondition {
    VlanId id{};  ///< 0: any
};

struct TunnelCondition {
    TunnelKind kind{};  ///< none: any
};

struct TunnelIdCondition {
    std::uint32_t id{};
};

/// Flags that were set in any TCP segment, of either direction.
struct FlagsCondition {
    std::uint16_t bits{};
    bool exactly{};  ///< these and no other of the eight
};

struct ReasonCondition {
    FlowEndReason reason{};
};

enum class Comparison : std::uint8_t { equal, unequal, less, at_most, more, at_least };

/// A flow that does not have the measure does not match.
struct MeasureCondition {
    FlowMeasure measure{};
    Comparison comparison{};
    std::uint64_t number{};
};

struct FlowCondition;

struct Negation {
    std::vector<FlowCondition> operand;  ///< one
};

/// Conditions joined from left to right; `and` binds no stronger than `or`, as in pcap filters.
struct Chain {
    struct Link;
    std::vector<Link> links;  ///< none: matches every flow
};

struct FlowCondition {
    std::variant<Chain, Negation, NetCondition, PortCondition, ProtocolCondition, VersionCondition,
                 VlanCondition, TunnelCondition, TunnelIdCondition, FlagsCondition, ReasonCondition,
                 MeasureCondition>
        what;
};

enum class Joint : std::uint8_t { all, any };

struct Chain::Link {
    Joint joint{};  ///< to what is in front of it; of the first, all
    FlowCondition condition;
};

/// @cost  no allocation; recursion as deep as the condition is nested
[[nodiscard]] bool matches(const FlowCondition& condition, const FlowView& flow);

}  // namespace tributary
