// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "export/messages/flow_view.hpp"

namespace tributary {

enum class MeasureUnit : std::uint8_t {
    count,
    nanoseconds,
};

/// A number of a flow that filters compare.
struct FlowMeasure {
    std::string_view name;  ///< its word in a filter
    MeasureUnit unit{};
    /// @return  of both directions together if there are two; nothing: the flow does not have it
    std::optional<WideCount> (*of_flow)(const FlowView& flow, std::size_t place) noexcept;
    std::size_t place = 0;  ///< of a listed count

    [[nodiscard]] std::optional<WideCount> value(const FlowView& flow) const noexcept {
        return of_flow(flow, place);
    }
};

/// All of them: those of every flow, and the listed counts.
[[nodiscard]] std::vector<FlowMeasure> flow_measures();

/// @return  nothing: there is none of this name
[[nodiscard]] std::optional<FlowMeasure> find_measure(std::string_view name);

}  // namespace tributary
