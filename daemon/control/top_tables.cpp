// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/top_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "daemon/pipeline/ledger.hpp"
#include "export/listing/flow_table.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

using nlohmann::json;

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Width of a table's first column, left by the others.
std::size_t name_width(std::size_t columns, std::size_t others, std::size_t most) {
    constexpr std::size_t kLeast = 12;
    return std::clamp(columns > others ? columns - others : 0, kLeast, most);
}

std::string name_of(const json& item, std::size_t width) {
    return shortened(item.at("name").get<std::string>(), width - 1);
}

/// Flows that a queue's cache holds. Active ones also wait in rings and for collectors.
double in_cache(const json& queue) {
    const json& flows = queue.at("flows");
    double count = flows.at("created").get<double>();
    for (const json& ended : flows.at("ended_by_reason")) {
        count -= ended.get<double>();
    }
    return std::max(0.0, count);
}

/// The sum over all inputs.
std::string lost_by_nics(const json& ports) {
    std::uint64_t known = 0;
    bool any_unknown = false;
    for (const json& port : ports) {
        const json& missed = port.at("nic_missed");
        any_unknown |= missed.is_null();
        known += (missed.is_null() ? 0 : missed.get<std::uint64_t>()) +
                 port.at("nic_no_buffer").get<std::uint64_t>() +
                 port.at("nic_errors").get<std::uint64_t>();
    }
    return part_text(known, any_unknown);
}

/// Adds the rate of a cause to the parts of a line: "unknown", or nothing where it is 0.
void add_cause(std::vector<std::string>& parts, const std::string& cause,
               std::optional<double> rate, const char* unit) {
    if (!rate) {
        parts.push_back(cause + " unknown");
    } else if (*rate > 0) {
        parts.push_back(fmt::format("{} {} {}", cause, scaled(*rate), unit));
    }
}

/// The losses between the looks by cause, and those that are unknown.
std::vector<std::string> losses_now(const Growth& growth, const json& stats) {
    constexpr std::array kPacketLosses{"nic_missed", "nic_no_buffer", "nic_errors"};
    std::vector<std::string> losses;
    for (const char* const cause : kPacketLosses) {
        add_cause(losses, cause, growth.rate(std::string("/packets/") + cause), "packets/s");
    }
    for (const auto& [cause, count] : stats.at("flows").at("lost_by_cause").items()) {
        add_cause(losses, cause, growth.rate("/flows/lost_by_cause/" + cause), "records/s");
    }
    return losses;
}

/// Puts parts after a title, in as many lines as they need.
ScreenLines filled_lines(const std::string& title, const std::vector<std::string>& parts,
                         LineStyle style, std::size_t columns) {
    ScreenLines lines{{title, style}};
    for (const std::string& part : parts) {
        if (lines.back().text.size() + 2 + part.size() > columns) {
            lines.push_back({std::string(title.size(), ' '), style});
        }
        lines.back().text += "  " + part;
    }
    return lines;
}

std::string state_of(const json& collector) {
    return collector.contains("removed")        ? "removed"
           : collector.at("failed") != 0        ? "failed"
           : collector.at("connected") == 0     ? "away"
           : collector.value("standby", 0) != 0 ? "standby"
                                                : "up";
}

/// The fill of a collector's spool, and its growth.
struct SpoolFill {
    double octets{};
    double most{};                 ///< 0: unknown, or no spool
    std::optional<double> growth;  ///< octets per second
    bool loses{};                  ///< full: the oldest records are lost

    [[nodiscard]] std::string fill_text() const {
        return most > 0 ? percent(octets / most) : octets > 0 ? scaled(octets) : "-";
    }
    [[nodiscard]] std::string text() const {
        if (octets <= 0) {
            return {};
        }
        std::string text = fmt::format("spool: {} octets", scaled(octets));
        if (most > 0) {
            text = fmt::format("spool: {} of {} octets", scaled(octets), scaled(most));
        }
        return text + outlook();
    }

private:
    [[nodiscard]] std::string outlook() const {
        if (loses) {
            return ", full: the oldest records are lost";
        }
        if (!growth) {
            return {};
        }
        if (*growth < 0) {
            return ", empty in " + duration_text(octets / -*growth);
        }
        if (*growth == 0) {
            return ", steady";
        }
        return most > octets ? ", full in " + duration_text((most - octets) / *growth) : "";
    }
};

/// @param figure  of the collector; nullptr: none
SpoolFill spool_of(const TopPicture& picture, const Growth& growth, std::size_t index,
                   const json* figure) {
    const json& collector = picture.now->stats.at("collectors").at(index);
    const std::string path = fmt::format("/collectors/{}/lost_by_cause/spool_full", index);
    const bool has_cause =
        collector.contains("lost_by_cause") && collector.at("lost_by_cause").contains("spool_full");
    return {.octets = collector.at("spool_octets").get<double>(),
            .most = figure != nullptr ? figure->at("spool_max_octets").get<double>() : 0,
            .growth = picture.spools != nullptr ? picture.spools->growth(index) : std::nullopt,
            .loses = has_cause && growth.rate(path).value_or(0) > 0};
}

/// The content of the spool of mode failover; empty: no spool.
std::string group_spool_text(const TopPicture& picture, const Growth& growth) {
    const json& stats = picture.now->stats;
    if (!stats.contains("spool")) {
        return {};
    }
    const json& spool = stats.at("spool");
    const SpoolFill fill{
        .octets = spool.at("octets").get<double>(),
        .most = spool.at("max_octets").get<double>(),
        .growth = picture.spools != nullptr ? picture.spools->growth_of_group() : std::nullopt,
        .loses = growth.rate("/spool/lost_by_cause/spool_full").value_or(0) > 0};
    return fmt::format("failover  {} records wait; {}", count_text(spool.at("waiting"), 13),
                       fill.octets > 0 ? fill.text() : "spool: empty");
}

/// A full ring of the recorder that reaches back fewer seconds is an alarm, as in the alert
/// TributaryRecorderShort.
constexpr double kLeastReach = 5;

/// How far back the ring of a recorded queue reaches.
std::string reach_text(const json& queue) {
    constexpr double kMostSeconds = 1000;
    const json& reach = queue.at("reach_seconds");
    if (reach.is_null()) {
        return "unknown";
    }
    if (queue.at("held") == 0) {
        return "empty";
    }
    const auto seconds = reach.get<double>();
    return seconds < kMostSeconds ? fmt::format("{:.0f} s", seconds) : duration_text(seconds);
}

/// Seconds that a full ring reaches back; nullopt: unknown, or it overwrites nothing now.
/// @param path  of the queue in the ledger
std::optional<double> reach_of_full(const json& queue, const Growth& growth,
                                    const std::string& path) {
    const json& reach = queue.at("reach_seconds");
    const bool is_full = growth.rate(path + "/overwritten").value_or(0) > 0;
    return is_full && !reach.is_null() ? std::optional(reach.get<double>()) : std::nullopt;
}

/// What the ring of a recorded queue keeps of its frames: all per second, and the share that is
/// kept in part.
std::array<std::string, 2> kept_texts(const Growth& growth, const std::string& path) {
    const std::optional<double> whole = growth.rate(path + "/kept_whole");
    const std::optional<double> cut = growth.rate(path + "/kept_cut");
    if (!whole || !cut) {
        const std::string text = growth.has_rates() ? "unknown" : "-";
        return {text, text};
    }
    const double kept = *whole + *cut;
    return {scaled(kept), percent(kept > 0 ? std::optional(*cut / kept) : std::nullopt)};
}

/// The dumps that run; "unknown" if one of the counts is.
std::string running_dumps(const json& dumps) {
    const json& begun = dumps.at("begun");
    const json& whole = dumps.at("whole");
    const json& cut_off = dumps.at("cut_off");
    if (begun.is_null() || whole.is_null() || cut_off.is_null()) {
        return "unknown";
    }
    const double running = begun.get<double>() - whole.get<double>() - cut_off.get<double>();
    return scaled(std::max(0.0, running));
}

/// The frames that the recorder leaves out now, by cause, of all queues; empty: none.
ScreenLines left_out_lines(const Growth& growth, const json& recorder, std::size_t columns) {
    std::vector<std::string> causes;
    for (const auto& [cause, count] : recorder.at("left_out_by_cause").items()) {
        add_cause(causes, cause, growth.rate("/recorder/left_out_by_cause/" + cause), "frames/s");
    }
    return growth.has_rates() && !causes.empty()
               ? filled_lines("LEFT OUT NOW", causes, LineStyle::plain, columns)
               : ScreenLines();
}

std::string flows_heading(const FlowRates& flows, RateOrder order) {
    const std::optional<double> interval = flows.interval();
    const std::string last = interval ? fmt::format(" over the last {:.1f} s", *interval)
                                      : ": rates come with the next look";
    std::string text = fmt::format("FLOWS  {} run; ", count_text(json(flows.flows()), 9)) +
                       (order == RateOrder::octets       ? "most octets so far"
                        : order == RateOrder::octet_rate ? "most bit/s" + last
                                                         : "most packets/s" + last);
    if (flows.least_octets() > 0) {
        text += fmt::format(", of {} octets or more",
                            scaled(static_cast<double>(flows.least_octets())));
    }
    return text;
}

/// A flow's text in the columns of variable width.
struct FlowEnds {
    std::string source;
    std::string destination;
};

/// Widths of both columns, so that as many texts as possible are whole.
std::array<std::size_t, 2> widths_of(const std::vector<FlowEnds>& ends, std::size_t room) {
    std::array<std::size_t, 2> needs{8, 13};  // the titles, with two blanks
    for (const FlowEnds& each : ends) {
        needs[0] = std::max(needs[0], each.source.size() + 1);
        needs[1] = std::max(needs[1], each.destination.size() + 1);
    }
    if (needs[0] + needs[1] > room) {
        const std::size_t half = room / 2;
        needs = needs[0] <= half   ? std::array{needs[0], room - needs[0]}
                : needs[1] <= half ? std::array{room - needs[1], needs[1]}
                                   : std::array{room - half, half};
    }
    return needs;
}

}  // namespace

bool has_recorder(const TopPicture& picture) {
    return picture.now->stats.contains(json::json_pointer("/recorder/queues"));
}

ScreenTable queue_table(const TopPicture& picture, std::size_t columns) {
    const bool is_wide = columns >= kWideScreen;
    const TopLook& now = *picture.now;
    const Growth growth(picture.before, now);
    const json& queues = now.stats.at("queues");
    const double max_flows = now.figures.at("max_flows").get<double>();
    const std::size_t width = name_width(columns, is_wide ? 79 : 60, 41);
    const auto line = [&](const std::string& name, const std::array<std::string, 8>& cells) {
        const std::string more =
            is_wide ? fmt::format("{:>10}{:>11}", cells[3], cells[4]) : std::string();
        return fmt::format("{:<{}}{:>11}{:>10}{:>10}{}{:>9}{:>9}{:>9}", name, width, cells[0],
                           cells[1], cells[2], more, cells[5], cells[6], cells[7]);
    };
    ScreenTable table{.head = {}, .rows = {}, .noun = "queues and threads"};
    table.head.push_back(
        {line("QUEUE", {"PACKETS/S", "BIT/S", "FLOWS", "NEW/S", "LOST", "CACHE", "RING", "LOAD"}),
         LineStyle::heading});
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const std::string path = "/queues/" + std::to_string(i);
        const double cached = in_cache(queues[i]);
        const json& ring = now.figures.at("rings").at(i);
        const double ring_fill =
            share_of(ring.at("records").get<double>(), ring.at("room").get<double>());
        const double cache_fill = share_of(cached, max_flows);
        const std::optional<double> load = growth.load(i);
        const std::string text = line(name_of(queues[i], width),
                                      {growth.rate_text(path + "/packets/received"),
                                       growth.rate_text(path + "/octets/metered", 8),
                                       scaled(cached), growth.rate_text(path + "/flows/created"),
                                       count_text(queues[i].at("flows").at("lost"), 10),
                                       percent(cache_fill), percent(ring_fill), percent(load)});
        table.rows.push_back(
            {.lines = {{text}}, .urgency = std::max({load.value_or(0), cache_fill, ring_fill})});
    }
    const json& threads = now.figures.at("threads");
    for (std::size_t i = queues.size(); i < threads.size(); ++i) {
        const std::optional<double> load = growth.load(i);
        const std::string text =
            line(name_of(threads[i], width), {"", "", "", "", "", "", "", percent(load)});
        table.rows.push_back({.lines = {{text}}, .urgency = load.value_or(0)});
    }
    return table;
}

/// The inputs' links, and the packets dropped by their NICs.
ScreenTable input_table(const TopPicture& picture, std::size_t columns) {
    const Growth growth(picture.before, *picture.now);
    const json& ports = picture.now->stats.at("ports");
    const std::size_t width = name_width(columns, 60, 41);
    const auto line = [&](const std::string& name, const std::array<std::string, 5>& cells) {
        return fmt::format("{:<{}}{:<9}{:>10}{:>13}{:>13}{:>13}", name, width, cells[0], cells[1],
                           cells[2], cells[3], cells[4]);
    };
    ScreenTable table{.head = {}, .rows = {}, .noun = "inputs"};
    table.head.push_back(
        {line("INPUT", {"LINK", "MISSED/S", "MISSED", "NO BUFFER", "ERRORS"}), LineStyle::heading});
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::string path = "/ports/" + std::to_string(i) + "/nic_missed";
        const auto link = picture.now->figures.at("inputs").at(i).at("link").get<std::string>();
        const bool is_lost = link == "down" || link == "gone";
        const std::string text =
            line(name_of(ports[i], width), {shortened(link, 8), growth.rate_text(path),
                                            count_text(ports[i].at("nic_missed"), 12),
                                            count_text(ports[i].at("nic_no_buffer"), 12),
                                            count_text(ports[i].at("nic_errors"), 12)});
        table.rows.push_back({.lines = {{text, is_lost ? LineStyle::alarm : LineStyle::plain}},
                              .urgency = is_lost ? 1e18 : growth.rate(path).value_or(0)});
    }
    return table;
}

ScreenTable loss_table(const TopPicture& picture, std::size_t columns) {
    const Growth growth(picture.before, *picture.now);
    const json& stats = picture.now->stats;
    std::vector<std::string> losses;
    if (growth.has_rates()) {
        losses = losses_now(growth, stats);
    }
    const bool is_any = std::ranges::any_of(
        losses, [](const std::string& loss) { return !loss.ends_with(" unknown"); });
    if (losses.empty()) {
        losses.emplace_back(growth.has_rates() ? "nothing" : "-");
    }
    ScreenTable table;
    table.head =
        filled_lines("LOST NOW", losses, is_any ? LineStyle::alarm : LineStyle::plain, columns);
    table.head.push_back({fmt::format("LOST SINCE START  {} packets by the NIC, {} records",
                                      lost_by_nics(stats.at("ports")),
                                      count_text(stats.at("flows").at("lost"), 20))});
    return table;
}

ScreenTable helper_table(const TopPicture& picture, std::size_t columns) {
    const Growth growth(picture.before, *picture.now);
    struct Place {
        std::vector<std::string> threads;
        bool any_hangs = false;
    };
    std::map<std::string, Place> places;  // by cores
    for (const json& helper : picture.now->figures.value("helpers", json::array())) {
        const auto cpus = helper.at("cpus").get<std::string>();
        const json& node = helper.at("node");
        std::string title = "HELPERS ON " + (cpus.empty() ? "UNKNOWN CORES" : "CORE " + cpus);
        title += node.is_null() ? std::string() : ", NODE " + std::to_string(node.get<int>());
        const bool hangs = helper.at("hangs") == true;
        Place& place = places[title];
        place.any_hangs |= hangs;
        place.threads.push_back(helper.at("name").get<std::string>() + " " +
                                (hangs ? "hangs" : percent(growth.helper_load(helper))));
    }
    ScreenTable table;
    for (const auto& [title, place] : places) {
        const ScreenLines lines = filled_lines(
            title, place.threads, place.any_hangs ? LineStyle::alarm : LineStyle::plain, columns);
        table.head.insert(table.head.end(), lines.begin(), lines.end());
    }
    return table;
}

ScreenTable memory_table(const TopPicture& picture, std::size_t columns) {
    struct Sum {
        double octets = 0;
        double used = 0;
        bool is_known = true;
    };
    std::vector<std::pair<std::string, Sum>> parts;  // in their order
    for (const json& each : picture.now->figures.value("memory", json::array())) {
        const auto name = each.at("part").get<std::string>();
        auto part = std::ranges::find(parts, name, &std::pair<std::string, Sum>::first);
        if (part == parts.end()) {
            part = parts.insert(part, {name, {}});
        }
        Sum& sum = part->second;
        const json& used = each.at("used");
        sum.octets += each.at("octets").get<double>();
        sum.used += used.is_null() ? 0 : used.get<double>();
        sum.is_known = sum.is_known && !used.is_null();
    }
    ScreenTable table;
    std::vector<std::string> texts;
    texts.reserve(parts.size());
    for (const auto& [name, sum] : parts) {
        texts.push_back(sum.is_known
                            ? fmt::format("{} {} of {}", name, scaled(sum.used), scaled(sum.octets))
                            : fmt::format("{} {}", name, scaled(sum.octets)));
    }
    if (!texts.empty()) {
        table.head = filled_lines("MEMORY", texts, LineStyle::plain, columns);
    }
    return table;
}

ScreenTable collector_table(const TopPicture& picture, std::size_t columns) {
    const bool is_wide = columns >= kWideScreen;
    const Growth growth(picture.before, *picture.now);
    const json& collectors = picture.now->stats.at("collectors");
    const json figures = picture.now->figures.value("collectors", json::array());
    const std::size_t width = name_width(columns, is_wide ? 72 : 50, 48);
    const auto line = [&](const std::string& name, const std::array<std::string, 7>& cells) {
        const std::string more =
            is_wide ? fmt::format("{:>11}{:>11}", cells[2], cells[3]) : std::string();
        return fmt::format("{:<{}}{:<9}{:>11}{}{:>11}{:>9}{:>8}", name, width, cells[0], cells[1],
                           more, cells[4], cells[5], cells[6]);
    };
    ScreenTable table{.head = {}, .rows = {}, .noun = "collectors"};
    table.head.push_back({line("COLLECTOR", {"STATE", "RECORDS/S", "OCTETS/S", "WAITING", "LOST",
                                             "ERRORS", "SPOOL"}),
                          LineStyle::heading});
    std::size_t in_use = 0;  // figures contain no removed collectors
    for (std::size_t i = 0; i < collectors.size(); ++i) {
        const json& collector = collectors[i];
        const std::string state = state_of(collector);
        const json* figure = nullptr;
        if (state != "removed" && in_use < figures.size()) {
            figure = &figures[in_use++];
            figure = figure->at("name") == collector.at("name") ? figure : nullptr;
        }
        const SpoolFill spool = spool_of(picture, growth, i, figure);
        const std::string path = "/collectors/" + std::to_string(i);
        const bool is_away = state == "away" || state == "failed";
        const bool is_up = state == "up" || state == "standby";
        ScreenTable::Row row{.lines = {}, .urgency = is_away ? 2.0 : is_up ? 1.0 : 0.0};
        row.lines.push_back(
            {line(name_of(collector, width),
                  {state, growth.rate_text(path + "/records"), growth.rate_text(path + "/octets"),
                   collector.contains("waiting_octets")
                       ? scaled(collector.at("waiting_octets").get<double>())
                       : "-",
                   count_text(collector.at("lost"), 10), count_text(collector.at("errors"), 8),
                   spool.fill_text()}),
             is_away ? LineStyle::alarm : LineStyle::plain});
        std::string more =
            collector.contains("next_try_in")
                ? fmt::format("next try in {} s", count_text(collector.at("next_try_in"), 9))
                : std::string();
        if (const std::string text = spool.text(); !text.empty()) {
            more += (more.empty() ? "" : "; ") + text;
        }
        if (!more.empty()) {
            row.lines.push_back({"  " + more});
        }
        table.rows.push_back(std::move(row));
    }
    if (const std::string text = group_spool_text(picture, growth); !text.empty()) {
        table.rows.push_back({.lines = {{text}}, .urgency = 1.0});
    }
    return table;
}

ScreenTable recorder_table(const TopPicture& picture, std::size_t columns) {
    ScreenTable table{.head = {}, .rows = {}, .noun = "recorded queues"};
    if (!has_recorder(picture)) {
        return table;
    }
    const Growth growth(picture.before, *picture.now);
    const std::size_t width = name_width(columns, 53, 41);
    const auto line = [&](const std::string& name, const std::array<std::string, 5>& cells) {
        return fmt::format("{:<{}}{:>11}{:>10}{:>10}{:>9}{:>13}", name, width, cells[0], cells[1],
                           cells[2], cells[3], cells[4]);
    };
    table.head.push_back({line("RECORDER", {"REACH", "FRAMES/S", "OCTETS/S", "CUT", "LEFT OUT/S"}),
                          LineStyle::heading});
    const json& queues = picture.now->stats.at("recorder").at("queues");
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const std::string path = "/recorder/queues/" + std::to_string(i);
        const auto [kept, cut] = kept_texts(growth, path);
        const std::optional<double> reach = reach_of_full(queues[i], growth, path);
        const bool is_short = reach && *reach < kLeastReach;
        const std::string text =
            line(name_of(queues[i], width),
                 {reach_text(queues[i]), kept, growth.rate_text(path + "/kept_octets"), cut,
                  growth.rate_text(path + "/left_out")});
        table.rows.push_back({.lines = {{text, is_short ? LineStyle::alarm : LineStyle::plain}},
                              .urgency = reach ? 1 / (1 + *reach) : 0});
    }
    return table;
}

ScreenTable dump_table(const TopPicture& picture, std::size_t columns) {
    ScreenTable table;
    if (!has_recorder(picture)) {
        return table;
    }
    const Growth growth(picture.before, *picture.now);
    const json& recorder = picture.now->stats.at("recorder");
    const json& dumps = recorder.at("dumps");
    const auto count = [&dumps](const char* name) { return count_text(dumps.at(name), 10); };
    const std::vector<std::string> parts{
        running_dumps(dumps) + " running", count("begun") + " begun",
        count("whole") + " whole",         count("cut_off") + " cut off",
        count("packets") + " packets",     count("overwritten") + " overwritten"};
    const bool is_alarm = growth.rate("/recorder/dumps/overwritten").value_or(0) > 0 ||
                          growth.rate("/recorder/dumps/cut_off").value_or(0) > 0;
    table.head = left_out_lines(growth, recorder, columns);
    const ScreenLines lines =
        filled_lines("DUMPS", parts, is_alarm ? LineStyle::alarm : LineStyle::plain, columns);
    table.head.insert(table.head.end(), lines.begin(), lines.end());
    return table;
}

ScreenTable trigger_table(const TopPicture& picture, std::size_t columns) {
    ScreenTable table{.head = {}, .rows = {}, .noun = "triggers"};
    const json triggers =
        picture.now->stats.value(json::json_pointer("/recorder/triggers"), json::array());
    if (triggers.empty()) {
        return table;
    }
    const Growth growth(picture.before, *picture.now);
    const std::size_t width = name_width(columns, 53, 41);
    const auto line = [&](const std::string& name, const std::array<std::string, 5>& cells) {
        return fmt::format("{:<{}}{:>11}{:>12}{:>8}{:>9}{:>13}", name, width, cells[0], cells[1],
                           cells[2], cells[3], cells[4]);
    };
    table.head.push_back(
        {line("TRIGGER", {"FIRED", "SUPPRESSED", "FILES", "PACKETS", "OVERWRITTEN"}),
         LineStyle::heading});
    for (std::size_t i = 0; i < triggers.size(); ++i) {
        const json& trigger = triggers[i];
        const std::string path = "/recorder/triggers/" + std::to_string(i);
        const bool is_alarm = growth.rate(path + "/overwritten").value_or(0) > 0;
        const std::string text =
            line(name_of(trigger, width),
                 {count_text(trigger.at("fired"), 10), count_text(trigger.at("suppressed"), 11),
                  count_text(trigger.at("files"), 7), count_text(trigger.at("packets"), 8),
                  count_text(trigger.at("overwritten"), 12)});
        table.rows.push_back(
            {.lines = {{text, is_alarm ? LineStyle::alarm : LineStyle::plain}},
             .urgency = is_alarm ? 1e18 : growth.rate(path + "/fired").value_or(0)});
    }
    return table;
}

ScreenTable flow_table(const TopPicture& picture, std::size_t columns) {
    const bool is_wide = columns >= kWideScreen;
    const std::vector<FlowRate>& rates = picture.flows->best(picture.order);
    std::vector<FlowEnds> ends;
    ends.reserve(rates.size());
    for (const FlowRate& rate : rates) {
        ends.push_back({source_text(rate.flow), destination_text(rate.flow)});
    }
    const std::size_t fixed = is_wide ? 58 : 36;
    const std::array<std::size_t, 2> widths =
        widths_of(ends, columns > fixed ? columns - fixed : 24);
    const auto line = [&](const FlowEnds& end, const std::array<std::string, 6>& cells) {
        const std::string more =
            is_wide ? fmt::format("{:>10}{:>12}", cells[4], cells[5]) : std::string();
        return fmt::format("{:<8}{:<{}}{:<{}}{:>9}{:>10}{:>9}{}", cells[0],
                           shortened(end.source, widths[0] - 1), widths[0],
                           shortened(end.destination, widths[1] - 1), widths[1], cells[1], cells[2],
                           cells[3], more);
    };
    ScreenTable table;  // cut without a note: it is only the top of all flows
    table.head.push_back({flows_heading(*picture.flows, picture.order), LineStyle::heading});
    table.head.push_back({line({"SOURCE", "DESTINATION"},
                               {"PROTO", "BIT/S", "PACKETS/S", "OCTETS", "PACKETS", "LASTS"}),
                          LineStyle::heading});
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const FlowView& flow = rates[i].flow;
        const auto rate_text = [](std::optional<double> rate, double factor) {
            return rate ? scaled(*rate * factor) : std::string("-");
        };
        const std::chrono::duration<double> lasts = flow.end() - flow.start();
        table.rows.push_back(
            {.lines = {{line(
                 ends[i],
                 {protocol_text(flow.core.key.protocol), rate_text(rates[i].octets_rate, 8),
                  rate_text(rates[i].packets_rate, 1), scaled(static_cast<double>(flow.octets())),
                  scaled(static_cast<double>(flow.packets())),
                  flow.is_timed() ? duration_text(lasts.count()) : "-"})}},
             .urgency = 0});
    }
    return table;
}

}  // namespace tributary
