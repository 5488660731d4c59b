// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/top_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <sstream>
#include <utility>

#include "daemon/control/top_tables.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

using nlohmann::json;

/// The front of a printable text.
std::string cut(const std::string& text, std::size_t columns) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80;
        if (begins && ++characters > columns) {
            return text.substr(0, at);
        }
    }
    return text;
}

/// The words of a text in lines of at most `columns` characters; longer words stay whole.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
    std::vector<std::string> lines;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
            lines.push_back(word);
        } else {
            lines.back() += " " + word;
        }
    }
    return lines;
}

/// A number of the figures; -1: missing, in a tributaryd of a former version.
double figure(const TopLook& look, const char* name) { return look.figures.value(name, -1.0); }

/// "2026-11-27 04:56:56 UTC"; empty: outside the calendar's range.
std::string time_text(double seconds) {
    constexpr double kYear10000 = 253'402'300'800;
    if (!(seconds >= 0 && seconds < kYear10000)) {
        return {};
    }
    const auto calendar = static_cast<std::time_t>(seconds);
    std::tm utc{};
    ::gmtime_r(&calendar, &utc);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/// The state of the queues' clocks, the worst of all.
struct ClockState {
    double lead = 0;       ///< seconds
    double times_set = 0;  ///< the host's clock was set back so far that packet time went back too
    bool is_known = false;

    explicit ClockState(const json& queues) {
        for (const json& queue : queues) {
            if (queue.contains("clock")) {
                is_known = true;
                lead = std::max(lead, queue.at("clock").at("lead_seconds").get<double>());
                times_set =
                    std::max(times_set, queue.at("clock").at("times_set_back").get<double>());
            }
        }
    }
    [[nodiscard]] bool is_off() const noexcept { return lead >= 1e-3; }
    [[nodiscard]] const char* word() const noexcept {
        return !is_known ? "unknown" : is_off() ? "set back" : "ok";
    }
    [[nodiscard]] std::string text() const {
        std::string text = is_off()
                               ? fmt::format(
                                     "CLOCK  the host's clock was set back: {:.3f} s are not made "
                                     "good",
                                     lead)
                               : std::string();
        if (times_set > 0) {
            text += text.empty() ? "CLOCK  the host's clock was set back" : ";";
            text += fmt::format(" {} times so far that packet time went back", scaled(times_set));
        }
        return text;
    }
};

void add_header(ScreenLines& lines, const TopPicture& picture, std::size_t columns) {
    const TopLook& now = *picture.now;
    const ClockState clock(now.stats.at("queues"));
    const double time = figure(now, "now");
    const double started = figure(now, "started");
    std::string text = fmt::format(
        "tributary {}  up {}  clock {}", now.figures.value("version", std::string("unknown")),
        time >= 0 && started >= 0 ? duration_text(time - started) : "unknown", clock.word());
    if (const std::string right = time_text(time); text.size() + 2 + right.size() <= columns) {
        text += std::string(columns - text.size() - right.size(), ' ') + right;
    }
    lines.push_back({text, LineStyle::heading});
    for (const std::string& line : wrapped(picture.notice, columns)) {
        lines.push_back({line, LineStyle::alarm});
    }
    if (const std::string trouble = clock.text(); !trouble.empty()) {
        lines.push_back({trouble, clock.is_off() ? LineStyle::alarm : LineStyle::plain});
    }
    const Growth growth(picture.before, now);
    lines.push_back(
        {fmt::format("{} packets/s  {} bit/s  {} flows/s  {} records/s  {} active",
                     growth.rate_text("/packets/received"), growth.rate_text("/octets/metered", 8),
                     growth.rate_text("/flows/created"), growth.rate_text("/flows/exported"),
                     scaled(now.stats.at("flows").at("active").get<double>()))});
}

/// A table, and the number of its rows on the screen.
struct Cut {
    ScreenTable table;
    std::size_t rows{};  ///< on the screen

    [[nodiscard]] std::size_t height() const {
        std::size_t lines = table.head.size();
        for (const std::size_t row : chosen()) {
            lines += table.rows[row].lines.size();
        }
        return lines + (rows < table.rows.size() && !table.noun.empty() ? 1 : 0);
    }
    /// The most urgent rows, in their order.
    [[nodiscard]] std::vector<std::size_t> chosen() const {
        std::vector<std::size_t> order(table.rows.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [this](std::size_t a, std::size_t b) {
            return table.rows[a].urgency > table.rows[b].urgency;
        });
        order.resize(std::min(rows, order.size()));
        std::ranges::sort(order);
        return order;
    }
    void add_to(ScreenLines& lines) const {
        lines.insert(lines.end(), table.head.begin(), table.head.end());
        for (const std::size_t row : chosen()) {
            lines.insert(lines.end(), table.rows[row].lines.begin(), table.rows[row].lines.end());
        }
        if (rows < table.rows.size() && !table.noun.empty()) {
            lines.push_back(
                {fmt::format("  and {} more {}", table.rows.size() - rows, table.noun)});
        }
    }
};

Cut whole(ScreenTable table) {
    const std::size_t rows = table.rows.size();
    return {std::move(table), rows};
}

std::size_t height_of(const std::vector<Cut>& tables) {
    return std::accumulate(tables.begin(), tables.end(), std::size_t{0},
                           [](std::size_t sum, const Cut& cut) { return sum + cut.height(); });
}

/// Tables with something to show; each may have an empty line ahead.
std::size_t titled(const std::vector<Cut>& tables) {
    return static_cast<std::size_t>(
        std::ranges::count_if(tables, [](const Cut& cut) { return !cut.table.head.empty(); }));
}

/// Cuts the highest tables until all fit into `room` lines, as far as possible.
void fit(std::vector<Cut>& tables, std::size_t room) {
    constexpr std::size_t kLeastRows = 2;
    while (height_of(tables) > room) {
        const auto highest = std::ranges::max_element(
            tables, {}, [](const Cut& cut) { return cut.rows > kLeastRows ? cut.rows : 0; });
        if (highest->rows <= kLeastRows) {
            return;
        }
        --highest->rows;
    }
}

/// The flows, the last table, get the rows left by the others.
/// @return  whether there is room for an empty line before each table
bool lay_out(std::vector<Cut>& tables, Cut& flows, std::size_t room) {
    constexpr std::size_t kFlowRows = 4;
    const std::size_t head = flows.table.head.size();
    const std::size_t wanted = head + std::min(kFlowRows, flows.rows);
    const std::size_t gaps = titled(tables) + (head > 0 ? 1 : 0);
    const bool has_gaps = height_of(tables) + wanted + gaps <= room;
    room -= std::min(room, has_gaps ? gaps : 0);
    fit(tables, room - std::min(room, wanted));
    const std::size_t used = height_of(tables) + head;
    flows.rows = std::min(flows.rows, room - std::min(room, used));
    return has_gaps;
}

void add_table(ScreenLines& lines, const Cut& table, bool has_gap) {
    if (has_gap && !table.table.head.empty()) {
        lines.emplace_back();
    }
    table.add_to(lines);
}

void finish(ScreenLines& lines, ScreenSize size) {
    if (size.rows != 0 && lines.size() > size.rows) {
        lines.resize(size.rows);
    }
    for (ScreenLine& line : lines) {
        line.text = cut(printable(line.text), size.columns);
        line.text.erase(line.text.find_last_not_of(' ') + 1);
    }
}

/// The keys for the help: one in a line, or two where the screen has too few lines.
/// @param others  other lines of the help
std::vector<std::string> key_lines(std::size_t others, ScreenSize size) {
    std::vector<std::string> keys{
        "  r  flows by bit/s over the last interval",
        "  p  flows by packets/s over the last interval",
        "  o  flows by octets since they began",
        "  space  pause, and go on",
        "  Enter  look now",
        "  h  this help, and back",
        "  q  quit",
    };
    constexpr std::size_t kColumnsOfTwo = 76;
    const bool has_room = size.rows == 0 || keys.size() + others <= size.rows;
    if (has_room || size.columns < kColumnsOfTwo) {
        return keys;
    }
    const std::size_t height = (keys.size() + 1) / 2;
    std::vector<std::string> lines(height);
    for (std::size_t i = 0; i < height; ++i) {
        lines[i] =
            i + height < keys.size() ? fmt::format("{:<50}{}", keys[i], keys[i + height]) : keys[i];
    }
    return lines;
}

}  // namespace

ScreenLines top_screen(const TopPicture& picture, ScreenSize size) {
    constexpr std::size_t kAnyNumber = 1'000'000;
    ScreenLines lines;
    add_header(lines, picture, size.columns);
    std::vector<Cut> tables;
    tables.push_back(whole(queue_table(picture, size.columns)));
    tables.push_back(whole(input_table(picture, size.columns)));
    tables.push_back(whole(loss_table(picture, size.columns)));
    tables.push_back(whole(collector_table(picture, size.columns)));
    tables.push_back(whole(recorder_table(picture, size.columns)));
    tables.push_back(whole(dump_table(picture, size.columns)));
    tables.push_back(whole(trigger_table(picture, size.columns)));
    tables.push_back(whole(helper_table(picture, size.columns)));
    tables.push_back(whole(memory_table(picture, size.columns)));
    Cut flows = picture.flows != nullptr ? whole(flow_table(picture, size.columns)) : Cut{};
    const std::size_t room = size.rows == 0 ? kAnyNumber : size.rows;
    const bool has_gaps = lay_out(tables, flows, room - std::min(room, lines.size()));
    for (const Cut& table : tables) {
        add_table(lines, table, has_gaps);
    }
    add_table(lines, flows, has_gaps);
    finish(lines, size);
    return lines;
}

ScreenLines top_help(const TopPicture& picture, ScreenSize size) {
    constexpr std::array kColumns{
        "  FLOWS    in the queue's cache",
        "  CACHE    share of flows.max-flows, which each queue has",
        "  RING     records between the input and the export thread",
        "  LOAD     share of a thread's time that brought something",
        "  HELPERS  all other threads: the cores that they may run on, and the share of a CPU",
        "  MEMORY   octets in use, of those reserved",
        "  LINK     up, down, gone (the device was removed), unknown",
        "  MISSED   packets that the NIC had no descriptor for",
        "  LOST     records; docs/ledger.md has the causes",
        "  STATE    up, away, failed (for good), removed (by a reload)",
        "  SPOOL    share of the spool's max-size; full and empty as over the last minute",
    };
    constexpr std::array kRecorder{
        "  REACH    how far back the ring of the packet recorder goes",
        "  CUT      share of kept frames that are kept in part; LEFT OUT are not kept",
        "  DUMPS    since the start; overwritten: packets that a dump came too late for",
    };
    constexpr std::array kNotes{
        "  flows/s begin, records/s leave",
        "  \"-\" is not known yet; what is unknown cannot be known",
    };
    std::vector<const char*> columns(kColumns.begin(), kColumns.end());
    if (has_recorder(picture)) {
        columns.insert(columns.end(), kRecorder.begin(), kRecorder.end());
    }
    columns.insert(columns.end(), kNotes.begin(), kNotes.end());
    ScreenLines lines{{"tributary top", LineStyle::heading}, {}};
    for (const std::string& keys : key_lines(columns.size() + lines.size() + 1, size)) {
        lines.push_back({keys});
    }
    lines.emplace_back();
    for (const char* const text : columns) {
        lines.push_back({text});
    }
    finish(lines, size);
    return lines;
}

ScreenLine top_bar(const TopBar& bar, ScreenSize size) {
    const auto key = [&bar](RateOrder order, const char* text) {
        return bar.order == order ? fmt::format("[{}]", text) : std::string(text);
    };
    std::string text =
        fmt::format("q quit  h help  {}  {}  {}  space {}", key(RateOrder::octet_rate, "r bit/s"),
                    key(RateOrder::packet_rate, "p packets/s"), key(RateOrder::octets, "o octets"),
                    bar.is_paused ? "go on" : "pause");
    const std::string right = bar.is_paused ? "PAUSED" : fmt::format("every {} s", bar.interval);
    if (text.size() + 2 + right.size() <= size.columns) {
        text += std::string(size.columns - text.size() - right.size(), ' ') + right;
    }
    return {cut(text, size.columns), LineStyle::bar};
}

}  // namespace tributary
