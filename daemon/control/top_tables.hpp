// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/control/top_screen.hpp"

namespace tributary {

/// A table of the screen, which can be cut.
struct ScreenTable {
    struct Row {
        ScreenLines lines;
        double urgency{};  ///< the most urgent rows stay if not all fit
    };
    ScreenLines head;
    std::vector<Row> rows;
    std::string noun;  ///< of rows, for "and 3 more queues"; empty: no note
};

// The tables of top_screen(), for a screen of so many columns.

[[nodiscard]] ScreenTable queue_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable input_table(const TopPicture& picture, std::size_t columns);
/// The present losses by cause, and those since the start: no rows.
[[nodiscard]] ScreenTable loss_table(const TopPicture& picture, std::size_t columns);
/// The helper threads with their cores and loads: no rows.
[[nodiscard]] ScreenTable helper_table(const TopPicture& picture, std::size_t columns);
/// The memory of each part, in use and reserved: no rows.
[[nodiscard]] ScreenTable memory_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable collector_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable flow_table(const TopPicture& picture, std::size_t columns);

}  // namespace tributary
