// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "export/ipfix/ipfix_template.hpp"
#include "export/messages/listed_counts.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Sums of 64-bit counts, which an input may fill to the last bit.
__extension__ typedef unsigned __int128 WideCount;
/// Their differences.
__extension__ typedef __int128 SignedCount;

/// An address of a record: a whole one, or the prefix that the key of its table has.
struct FlowAddress {
    bool is_known = true;  ///< the record has it
    bool is_prefix{};      ///< the bits behind the prefix are 0
    /// Of a prefix: its length. Nothing: the record does not tell.
    std::optional<std::uint8_t> prefix_bits{};
};

/// The parts of a data record by which flows are listed, sorted and filtered. A record of a
/// declared table has those which its declaration names, and another exporter's may lack any.
struct FlowView {
    FlowRecordCore core;
    ReverseGroup reverse;  ///< packets 0: a uniflow, or a biflow of which one direction was seen
    TunnelGroup tunnel;    ///< kind none: the record names no tunnel
    ListedValues counts{};
    ListedValues reverse_counts{};
    FlowAddress source{};
    FlowAddress destination{};
    FlowAddress outer_source{};  ///< of the tunnel
    FlowAddress outer_destination{};
    std::optional<std::uint8_t> code_point{};  ///< ipDiffServCodePoint
    // Whether the record has the part of `core`.
    bool has_source_port = true;
    bool has_destination_port = true;  ///< or ICMP's type and code
    bool has_protocol = true;
    bool has_class_of_service = true;
    bool has_flags = true;
    bool has_interface = true;

    [[nodiscard]] bool has_reverse() const noexcept { return reverse.packets != 0; }
    /// Of both directions.
    [[nodiscard]] WideCount packets() const noexcept {
        return WideCount{core.packets} + reverse.packets;
    }
    [[nodiscard]] WideCount octets() const noexcept {
        return WideCount{core.octets} + reverse.octets;
    }
    /// The six bits that lead the class of service, of the forward direction (RFC 2474 §3).
    /// Nothing: the record does not tell.
    [[nodiscard]] std::optional<std::uint8_t> dscp() const noexcept {
        constexpr unsigned kEcnBits = 2;
        return has_class_of_service
                   ? std::optional(static_cast<std::uint8_t>(core.ip_class_of_service >> kEcnBits))
                   : code_point;
    }
    [[nodiscard]] std::optional<std::uint8_t> class_of_service() const noexcept {
        return has_class_of_service ? std::optional(core.ip_class_of_service) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::uint32_t> interface() const noexcept {
        return has_interface ? std::optional(core.key.ingress_interface.value) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::uint8_t> protocol() const noexcept {
        return has_protocol ? std::optional(core.key.protocol) : std::nullopt;
    }
    /// Nothing: the record has no such port, or its protocol has no ports.
    [[nodiscard]] std::optional<std::uint16_t> source_port() const noexcept;
    [[nodiscard]] std::optional<std::uint16_t> destination_port() const noexcept;
    /// tcpControlBits of a TCP flow, or of one whose protocol the record does not tell.
    [[nodiscard]] std::optional<std::uint16_t> tcp_flags() const noexcept;
    /// Whether it has a source address; that of the IP version of its key.
    [[nodiscard]] bool has_source() const noexcept {
        return source.is_known && core.key.ip_version != 0;
    }
    [[nodiscard]] bool has_destination() const noexcept {
        return destination.is_known && core.key.ip_version != 0;
    }
    /// Whether start and end are there, and in their order.
    [[nodiscard]] bool is_timed() const noexcept {
        return start() != Timestamp{} && end() >= start();
    }
    /// First and last packet time of both directions; 1970 where the record has none.
    [[nodiscard]] Timestamp start() const noexcept {
        const bool has_times = core.start != Timestamp{} && reverse.start != Timestamp{};
        return has_times ? std::min(core.start, reverse.start)
                         : std::max(core.start, reverse.start);
    }
    [[nodiscard]] Timestamp end() const noexcept { return std::max(core.end, reverse.end); }
};

/// Whether the destination port holds ICMP's type and code.
[[nodiscard]] bool is_icmp(const FlowKey& key) noexcept;

/// Whether source and destination port are ports: never for ICMP, whose type and code stand in the
/// destination port.
[[nodiscard]] bool has_ports(const FlowKey& key) noexcept;

/// Reads these parts. Of parts that the record does not have, times are at 1970 and counts 0; for
/// the others there are members that tell. ip_version is 0 where nothing tells it.
///
/// Total counts replace missing delta counts. ICMP type and code are in the destination port, as in
/// tributary's own records.
/// @param record  of any exporter; of enterprise elements only tributary's own are read
[[nodiscard]] FlowView view_flow(const IpfixRecord& record) noexcept;

}  // namespace tributary
