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

/// The parts of a data record by which flows are listed, sorted and filtered.
struct FlowView {
    FlowRecordCore core;
    ReverseGroup reverse;  ///< packets 0: a uniflow, or a biflow of which one direction was seen
    TunnelGroup tunnel;    ///< kind none: the record names no tunnel
    ListedValues counts{};
    ListedValues reverse_counts{};

    [[nodiscard]] bool has_reverse() const noexcept { return reverse.packets != 0; }
    /// Of both directions.
    [[nodiscard]] WideCount packets() const noexcept {
        return WideCount{core.packets} + reverse.packets;
    }
    [[nodiscard]] WideCount octets() const noexcept {
        return WideCount{core.octets} + reverse.octets;
    }
    /// The six bits that lead the class of service, of the forward direction (RFC 2474 §3).
    [[nodiscard]] unsigned dscp() const noexcept {
        constexpr unsigned kEcnBits = 2;
        return unsigned{core.ip_class_of_service} >> kEcnBits;
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

/// Reads these parts. Parts that the record does not have keep their default: ip_version 0, times
/// at 1970.
///
/// Total counts replace missing delta counts. ICMP type and code are in the destination port, as in
/// tributary's own records.
/// @param record  of any exporter; of enterprise elements only tributary's own are read
[[nodiscard]] FlowView view_flow(const IpfixRecord& record) noexcept;

}  // namespace tributary
