// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "export/flow_view.hpp"

namespace tributary {

enum class MeasureUnit : std::uint8_t {
    count,
    nanoseconds,
};

/// A number of a flow that filters compare.
struct FlowMeasure {
    std::string_view name;  ///< its word in a filter
    MeasureUnit unit{};
    /// @return  of both directions together where there are two; nothing: the flow does not tell
    std::optional<WideCount> (*value)(const FlowView& flow) noexcept;
};

/// All of them, each in one row.
[[nodiscard]] std::span<const FlowMeasure> flow_measures() noexcept;

/// @return  nullptr: there is none of this name
[[nodiscard]] const FlowMeasure* find_measure(std::string_view name) noexcept;

}  // namespace tributary
