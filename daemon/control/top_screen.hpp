// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/control/top_look.hpp"
#include "export/listing/flow_rates.hpp"

namespace tributary {

/// The style of a line, on terminals that have styles.
enum class LineStyle : std::uint8_t { plain, heading, alarm, bar };
struct ScreenLine {
    std::string text;  ///< printable
    LineStyle style = LineStyle::plain;
};
using ScreenLines = std::vector<ScreenLine>;

struct ScreenSize {
    std::size_t rows{};  ///< 0: any number
    std::size_t columns = 80;
};
/// Tables have more columns on a screen at least so wide.
inline constexpr std::size_t kWideScreen = 120;

/// The content of `tributary top`.
struct TopPicture {
    const TopLook* before{};     ///< nullptr: no rates yet
    const TopLook* now{};        ///< never nullptr
    const SpoolTrend* spools{};  ///< nullptr: unknown
    const FlowRates* flows{};    ///< nullptr: flows are not shown
    RateOrder order = RateOrder::octet_rate;
    std::string notice;  ///< why there is no later look; empty: `now` is current
};

/// The rates between two looks as a screen of text: version, uptime and clock, packets, flows and
/// records per queue, the load of threads, the inputs' links, losses by cause, the collectors and
/// their spools, the rings and dumps of the packet recorder where there is one, and the flows with
/// the highest rates.
///
/// @param size  a table without enough room is cut, with a note; its most urgent rows stay
/// @errors      nlohmann::json::exception: unknown form of an answer
/// @thread      any; pure
[[nodiscard]] ScreenLines top_screen(const TopPicture& picture, ScreenSize size);

/// Describes keys and columns, those of the recorder where there is one.
[[nodiscard]] ScreenLines top_help(const TopPicture& picture, ScreenSize size);

/// The last line of a screen: keys, the order of flows, and the interval of looks.
struct TopBar {
    RateOrder order{};
    unsigned interval{};  ///< seconds
    bool is_paused{};
};
[[nodiscard]] ScreenLine top_bar(const TopBar& bar, ScreenSize size);

}  // namespace tributary
