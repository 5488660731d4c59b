// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/control/top_look.hpp"
#include "export/listing/flow_rates.hpp"

namespace tributary {

/// How a line stands out where it can.
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
/// From so many columns on tables have more of them.
inline constexpr std::size_t kWideScreen = 120;

/// What `tributary top` shows.
struct TopPicture {
    const TopLook* before{};     ///< nullptr: there are no rates yet
    const TopLook* now{};        ///< never nullptr
    const SpoolTrend* spools{};  ///< nullptr: unknown
    const FlowRates* flows{};    ///< nullptr: flows are not shown
    RateOrder order = RateOrder::octet_rate;
    std::string notice;  ///< why there is no later look; empty: it is of now
};

/// What happened between two looks, per second, as a screen of text: version, uptime and clock,
/// packets, flows and records per queue, how busy the threads are, the inputs' links, what was lost
/// and why, the collectors and their spools, and the flows with the highest rates.
///
/// @param size  a table that finds no room is cut, and says so; what needs a look comes first then
/// @errors      nlohmann::json::exception: an answer is not what this program knows
/// @thread      any; pure
[[nodiscard]] ScreenLines top_screen(const TopPicture& picture, ScreenSize size);

/// What the keys do and the columns mean.
[[nodiscard]] ScreenLines top_help(ScreenSize size);

/// The last line of a screen: keys, the order of flows, and how often there is a look.
struct TopBar {
    RateOrder order{};
    unsigned interval{};  ///< seconds
    bool is_paused{};
};
[[nodiscard]] ScreenLine top_bar(const TopBar& bar, ScreenSize size);

}  // namespace tributary
