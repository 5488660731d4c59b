// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/control/top_screen.hpp"

namespace tributary {

/// A part of the screen that can be cut.
struct ScreenTable {
    struct Row {
        ScreenLines lines;
        double urgency{};  ///< rows with more stay where not all find room
    };
    ScreenLines head;
    std::vector<Row> rows;
    std::string noun;  ///< of rows, for "and 3 more queues"; empty: nothing is said
};

// The tables of top_screen(), made for so many columns.

[[nodiscard]] ScreenTable queue_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable input_table(const TopPicture& picture, std::size_t columns);
/// What is lost now and why, and what was lost since the start: no rows.
[[nodiscard]] ScreenTable loss_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable collector_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable flow_table(const TopPicture& picture, std::size_t columns);

}  // namespace tributary
