// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "export/listing/flow_view.hpp"

namespace tributary {

/// One of the counts of analysed TCP, with its names.
struct TcpCount {
    std::string_view word;     ///< of filters and of --sort
    std::string_view element;  ///< of IPFIX, as in JSON and CSV
    std::string_view reverse_element;
    std::string_view title;  ///< of a table's column
    TcpCountsView::Count count;
};
inline constexpr std::array<TcpCount, 5> kTcpCounts{{
    {"segments", "segments", "reverseSegments", "Segments", &TcpCountsView::segments},
    {"retransmissions", "retransmissions", "reverseRetransmissions", "Retrans",
     &TcpCountsView::retransmissions},
    {"duplicates", "duplicates", "reverseDuplicates", "Dups", &TcpCountsView::duplicates},
    {"out-of-order", "outOfOrder", "reverseOutOfOrder", "OutOfOrder", &TcpCountsView::out_of_order},
    {"zero-windows", "zeroWindow", "reverseZeroWindow", "ZeroWindow", &TcpCountsView::zero_windows},
}};

enum class MeasureUnit : std::uint8_t {
    count,
    nanoseconds,
};

/// A number of a flow that filters compare.
struct FlowMeasure {
    std::string_view name;  ///< its word in a filter
    MeasureUnit unit{};
    /// @return  of both directions together if there are two; nothing: the flow does not have it
    std::optional<WideCount> (*value)(const FlowView& flow) noexcept;
};

/// All of them, each in one row.
[[nodiscard]] std::span<const FlowMeasure> flow_measures() noexcept;

/// @return  nullptr: there is none of this name
[[nodiscard]] const FlowMeasure* find_measure(std::string_view name) noexcept;

}  // namespace tributary
