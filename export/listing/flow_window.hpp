// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "export/messages/flow_view.hpp"

namespace tributary {

/// A span of time. Flows that had a packet in it, or ran across it, are in it.
struct FlowWindow {
    Timestamp since = Timestamp::min();  ///< the first time that is in it
    Timestamp until = Timestamp::max();  ///< the first one behind it

    /// Whether every flow is in it, also one without times.
    [[nodiscard]] bool is_endless() const noexcept {
        return since == Timestamp::min() && until == Timestamp::max();
    }
    /// Whether a flow can be in it.
    [[nodiscard]] bool is_possible() const noexcept { return since < until; }
    [[nodiscard]] bool has(const FlowView& flow) const noexcept {
        return is_endless() || (flow.is_timed() && flow.start() < until && flow.end() >= since);
    }
};

/// Reads a time: 2024-02-29, 2024-02-29T12:34, 2024-02-29T12:34:56.789, with Z behind it or not,
/// always in UTC, or how long it is ago: 30s, 15m, 1h30m, 2d, 1w.
///
/// @param now  for times relative to it
/// @return     nothing when it is none of these, or outside the times that an export can have
[[nodiscard]] std::optional<Timestamp> parse_time(std::string_view text, Timestamp now);

}  // namespace tributary
