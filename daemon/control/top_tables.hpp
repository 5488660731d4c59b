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

/// Whether the probe records packets.
[[nodiscard]] bool has_recorder(const TopPicture& picture);

// The tables of top_screen(), for a screen of so many columns.

[[nodiscard]] ScreenTable queue_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable input_table(const TopPicture& picture, std::size_t columns);
/// The present losses by cause, and those since the start: no rows.
[[nodiscard]] ScreenTable loss_table(const TopPicture& picture, std::size_t columns);
/// The rings of the packet recorder; empty: there is no recorder.
[[nodiscard]] ScreenTable recorder_table(const TopPicture& picture, std::size_t columns);
/// What the recorder leaves out now by cause, and its dumps since the start: no rows.
[[nodiscard]] ScreenTable dump_table(const TopPicture& picture, std::size_t columns);
/// The triggers of dumps since the start; empty: there are none.
[[nodiscard]] ScreenTable trigger_table(const TopPicture& picture, std::size_t columns);
/// The helper threads with their cores and loads: no rows.
[[nodiscard]] ScreenTable helper_table(const TopPicture& picture, std::size_t columns);
/// The memory of each part, in use and reserved: no rows.
[[nodiscard]] ScreenTable memory_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable collector_table(const TopPicture& picture, std::size_t columns);
[[nodiscard]] ScreenTable flow_table(const TopPicture& picture, std::size_t columns);

}  // namespace tributary
