// SPDX-License-Identifier: Apache-2.0
#include "conf/trigger_keys.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "conf/config_section.hpp"
#include "conf/rules.hpp"
#include "conf/scalars.hpp"

namespace tributary {
namespace {

bool is_name(std::string_view text) { return is_table_name(text); }
bool is_given(std::string_view text) { return !text.empty(); }

constexpr std::array<std::pair<std::string_view, std::chrono::seconds>, 3> kPeriods{
    {{"/s", std::chrono::seconds(1)},
     {"/min", std::chrono::seconds(60)},
     {"/h", std::chrono::seconds(3600)}}};
constexpr std::uint64_t kMostFiles = 1000;  // in a period

std::optional<TriggerRate> parse_rate(std::string_view text) {
    for (const auto& [suffix, period] : kPeriods) {
        const std::optional<std::uint64_t> files =
            text.ends_with(suffix) ? parse_whole(text.substr(0, text.size() - suffix.size()))
                                   : std::nullopt;
        if (files && *files >= 1 && *files <= kMostFiles) {
            return TriggerRate{.files = static_cast<std::uint32_t>(*files), .period = period};
        }
    }
    return std::nullopt;
}

/// A number of files for a second, a minute or an hour.
Rule<TriggerOptions> rate() {
    using O = TriggerOptions;
    return {
        .limits = "a whole number from 1 to " + std::to_string(kMostFiles) + " and /s, /min or /h",
        .accept =
            [](const YamlNode& node, O& options) {
                const std::optional<TriggerRate> read = parse_rate(node.text);
                if (!is_scalar(node) || !read) {
                    return false;
                }
                options.rate = *read;
                return true;
            },
        .yaml =
            [](const O& options) {
                const auto suffix =
                    std::ranges::find(kPeriods, options.rate.period,
                                      &std::pair<std::string_view, std::chrono::seconds>::second);
                return std::to_string(options.rate.files) + std::string(suffix->first);
            }};
}

std::string path_of(std::size_t index) { return "triggers." + std::to_string(index); }

}  // namespace

std::vector<Key<TriggerOptions>> trigger_keys() {
    using O = TriggerOptions;
    constexpr std::chrono::milliseconds kNone{0};
    constexpr std::size_t kLongestCondition = 4096;
    constexpr std::uint64_t kLeastSize = std::uint64_t{1} << 20U;
    constexpr std::uint64_t kMostSize = std::uint64_t{1} << 50U;
    return {
        value("name",
              text(&O::name,
                   "a small letter, then small letters, digits and hyphens, at most 32 of them "
                   "together",
                   is_name),
              "its name in accounts, in the names of its files, and for `tributary trigger`"),
        value("when",
              text(&O::when, "a filter of flows (docs/filters.md), with + and -", is_given,
                   kLongestCondition),
              "packets are written when a record begins to match, which is tested after packets "
              "that changed a field named here, and at the record's end"),
        value("table", text(&O::table, "main or the name of a table", is_given),
              "whose records are tested"),
        value("packets",
              choice(&O::packets, {{"flow", TriggerPackets::flow},
                                   {"hosts", TriggerPackets::hosts},
                                   {"all", TriggerPackets::all}}),
              "which packets are written: those with the record's key; those from or to one of "
              "its addresses; or all"),
        value("before", seconds(&O::before, kNone, kHour),
              "how far back from the packet that made the record match"),
        value("after", seconds(&O::after, kNone, kHour), "how long after that packet"),
        value("directory", text(&O::directory, "auto or the path of a directory", is_given),
              "where files are written, NAME-NUMBER.pcapng; it is made with mode 0700 if it is "
              "not there. auto is triggers in the state directory (/var/lib/tributary)"),
        value("max-size", whole_number(&O::max_octets, kLeastSize, kMostSize),
              "octets of all files of this trigger together: the oldest are removed, and a file "
              "that would be larger ends there"),
        value("rate", rate(), "how often it may have a file written; beyond that it is counted"),
    };
}

void complete_triggers(Config& config) {
    const auto is_watched = [&config](std::string_view table) {
        return std::ranges::find(config.triggers, table, &TriggerOptions::table) !=
               config.triggers.end();
    };
    config.flows.dump_files = is_watched(kMainTable);
    config.flows.flow_holders = config.flows.dump_files;
    for (TableDeclaration& table : config.tables) {
        table.dump_files = is_watched(table.name);
    }
}

void check_triggers(const Config& config, const YamlNode& root, Faults& faults) {
    const auto& triggers = config.triggers;
    if (triggers.size() > kMostTriggers && !faults.is_unread("triggers")) {
        faults.note("triggers", place_of(root, "triggers") + ": triggers has " +
                                    std::to_string(triggers.size()) + " items; must have at most " +
                                    std::to_string(kMostTriggers));
        return;
    }
    for (std::size_t index = 0; index < triggers.size(); ++index) {
        const TriggerOptions& trigger = triggers[index];
        const Section section(root, path_of(index), faults);
        section.demand("name", !trigger.name.empty(), " is missing; must be given");
        section.demand("when", !trigger.when.empty(), " is missing; must be given");
        const auto before = triggers.begin() + static_cast<std::ptrdiff_t>(index);
        const bool is_first = std::find_if(triggers.begin(), before, [&](const auto& other) {
                                  return other.name == trigger.name;
                              }) == before;
        section.demand("name", is_first,
                       " is " + shown(trigger.name) +
                           ", as that of another trigger; must be "
                           "another name");
        const bool is_there = trigger.table == kMainTable ||
                              std::ranges::find(config.tables, trigger.table,
                                                &TableDeclaration::name) != config.tables.end();
        section.demand("table", is_there || faults.is_unread("tables"),
                       " is " + shown(trigger.table) +
                           ", but there is no such table; must be main or the name of a table");
    }
}

void check_triggers_of_probe(const Config& config, const YamlNode& root, Faults& faults) {
    for (std::size_t index = 0; index < config.triggers.size(); ++index) {
        const Section section(root, path_of(index), faults);
        section.demand("when", config.recorder.memory != 0 || faults.is_unread("recorder"),
                       " is given, but recorder.memory is 0; must be left out without a recorder "
                       "(there are no packets to write)");
    }
}

void check_triggers_of_captures(const Config& config, const YamlNode& root, Faults& faults) {
    for (std::size_t index = 0; index < config.triggers.size(); ++index) {
        const Section section(root, path_of(index), faults);
        section.demand("when", config.read.parse != ParseMode::unified_header,
                       " is given, but read.parse is unified-header; must be left out with it "
                       "(unified headers bring no octets to write)");
    }
}

}  // namespace tributary
