// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"
#include "export/listing/flow_measure.hpp"
#include "export/messages/flow_view.hpp"

namespace tributary {

/// A filter that cannot be parsed, or that the elements of a record do not fit; the text names the
/// column and what was expected there.
struct FilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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

/// The value that an element is compared with: the text of the filter, as elements of the types may
/// read it. Nothing: such elements cannot be compared with it.
struct ElementOperand {
    std::string text{};
    std::optional<std::uint64_t> number{};
    std::optional<std::int64_t> integer{};  ///< this one and the next: also of a number
    std::optional<double> real{};
    std::optional<bool> truth{};
    std::optional<NetCondition> net{};               ///< an address is a net of all bits
    std::optional<std::vector<std::byte>> octets{};  ///< of 0x and digits, or of a MAC address
    std::optional<Timestamp> time{};
    bool is_mac{};  ///< `octets` are those of a MAC address
};

/// A part of a sum: a measure, the first value of an element of numbers, or a number.
struct SumTerm {
    bool is_subtracted{};
    std::optional<FlowMeasure> measure{};
    std::string element{};   ///< is_named(); empty: it is none
    std::size_t column{};    ///< of the name in the filter
    std::uint64_t number{};  ///< where it is neither
};

/// A sum that is compared with a number. A record that lacks one of the parts does not match.
struct SumCondition {
    std::vector<SumTerm> terms;
    Comparison comparison{};
    std::int64_t number{};
};

/// A record that does not have the element does not match. One that has it several times matches if
/// one of the values does.
struct ElementCondition {
    std::string name;      ///< is_named()
    std::size_t column{};  ///< of the name in the filter
    Comparison comparison{};
    ElementOperand operand{};
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
                 MeasureCondition, SumCondition, ElementCondition>
        what;
};

enum class Joint : std::uint8_t { all, any };

struct Chain::Link {
    Joint joint{};  ///< to what is in front of it; of the first, all
    FlowCondition condition;
};

/// @param record  of the flow; nullptr: it has no elements
/// @errors  FilterError: an element of the record cannot be compared with the filter's value
/// @cost    no allocation; recursion as deep as the condition is nested
[[nodiscard]] bool matches(const FlowCondition& condition, const FlowView& flow,
                           const IpfixRecord* record = nullptr);

}  // namespace tributary
