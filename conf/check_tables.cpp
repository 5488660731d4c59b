// SPDX-License-Identifier: Apache-2.0
#include "conf/check_tables.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/config_change.hpp"
#include "conf/config_error.hpp"
#include "conf/config_section.hpp"
#include "conf/declared_tables.hpp"
#include "daemon/base/options.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/field_reference.hpp"

namespace tributary {
namespace {

/// Where packets come from, and how their fields are found.
struct PacketWay {
    std::string section;  ///< of the configuration, such as inputs.0
    ParseMode parse;
    std::uint16_t trim_length;
    std::size_t queues;
};

/// The word of the key `parse`.
const char* word_of(ParseMode mode) {
    switch (mode) {
        case ParseMode::full:
            return "full";
        case ParseMode::trimmed:
            return "trimmed";
        case ParseMode::unified_header:
            break;
    }
    return "unified-header";
}

void note(const YamlNode& root, const std::string& path, const std::string& words, Faults& faults) {
    faults.note(path, place_of(root, path) + ": " + path + words);
}

/// @return  whether the list has no more items than it may
bool check_count(const std::string& list, std::size_t count, std::size_t most, const YamlNode& root,
                 Faults& faults) {
    if (count <= most) {
        return true;
    }
    if (!faults.is_unread(list)) {
        note(root, list,
             " has " + std::to_string(count) + " items; must have at most " + std::to_string(most),
             faults);
    }
    return false;
}

std::string path_of(const char* list, std::size_t index) {
    return std::string(list) + "." + std::to_string(index);
}

/// Own fields by themselves, and each with those before it that are good.
///
/// @return  whether all are good
bool check_fields(const Config& config, const YamlNode& root, Faults& faults) {
    if (!check_count("fields", config.fields.size(), kMostOwnFields, root, faults)) {
        return false;
    }
    bool are_good = !faults.is_unread("fields");
    std::vector<OwnField> good;
    for (std::size_t index = 0; index < config.fields.size(); ++index) {
        const OwnField& field = config.fields[index];
        const std::string path = path_of("fields", index);
        const Section section(root, path, faults);
        section.demand("name", !field.name.empty(),
                       " is missing; must be a letter, then letters and digits, at most 48 of them "
                       "together");
        section.demand("octets", field.octets != 0,
                       " is missing; must be from 1 to " + std::to_string(OwnField::kMostOctets) +
                           " (" + std::string(name_of(field.as)) +
                           " has no number of octets of its own)");
        if (field.name.empty() || field.octets == 0 || faults.is_unread(path)) {
            are_good = false;
            continue;
        }
        good.push_back(field);
        if (const auto fault = fault_of(good)) {
            note(root, path, ": " + *fault, faults);
            good.pop_back();
            are_good = false;
        }
    }
    return are_good;
}

/// Names of tables: each its own, and no other word of the configuration.
void check_name(const Config& config, std::size_t index, const YamlNode& root, Faults& faults) {
    const std::string& name = config.tables[index].name;
    const Section section(root, path_of("tables", index), faults);
    section.demand(
        "name", !name.empty(),
        " is missing; must be a small letter, then small letters, digits and hyphens, at "
        "most 32 of them together, other than main");
    const auto before = std::span(config.tables).first(index);
    const auto same = std::ranges::find(before, name, &TableDeclaration::name);
    if (!name.empty() && same != before.end()) {
        section.demand("name", false,
                       " is " + name + "; must differ from " +
                           path_of("tables", static_cast<std::size_t>(same - before.begin())) +
                           ".name (collectors and accounts tell tables apart by it)");
    }
    section.demand("name", !find_field_group(name),
                   " is " + name + "; must be another name (it is a group of export.fields)");
}

/// The list or key that a TableError is about; empty: the table as a whole.
std::string_view key_of_fault(std::string_view words) {
    constexpr std::array<std::string_view, 3> kKeys{"key", "values", "direction"};
    const auto* const found = std::ranges::find_if(kKeys, [words](std::string_view key) {
        return words.starts_with(key) && words.substr(key.size()).starts_with(": ");
    });
    return found == kKeys.end() ? std::string_view{} : *found;
}

/// Notes why a declaration is no table. The words of the error begin with their key.
void note_table_error(const std::string& table, std::string_view words, const YamlNode& root,
                      Faults& faults) {
    const std::string_view key = key_of_fault(words);
    const std::string path = key.empty() ? table : table + "." + std::string(key);
    words.remove_prefix(key.empty() ? 0 : key.size() + 2);
    note(root, path, ": " + std::string(words), faults);
}

/// A table in the check: compiled for each way, if it is good.
class TableCheck {
public:
    TableCheck(const Config& config, std::size_t index, const YamlNode& root, Faults& faults)
        : config_(config),
          table_(config.tables[index]),
          path_(path_of("tables", index)),
          root_(root),
          faults_(faults) {}

    void run(std::span<const PacketWay> ways) {
        const Section section(root_, path_, faults_);
        section.demand("key", !table_.key.empty(),
                       " is missing; must be a list of fields, at least one, such as "
                       "[sourceAddress, destinationAddress]");
        if (table_.key.empty() || faults_.has_unread_key(path_)) {
            return;
        }
        for (const PacketWay& way : ways) {
            if (!check(way, section)) {
                return;
            }
        }
        check_spread(ways, section);
    }

private:
    /// With `spread: key` each queue has a ring to each other.
    void check_spread(std::span<const PacketWay> ways, const Section& section) {
        std::size_t queues = 0;
        for (const PacketWay& way : ways) {
            queues += way.queues;
        }
        section.demand(
            "spread", table_.spread == TableSpread::queue || queues <= kMostQueuesBetween,
            " is key, but there are " + std::to_string(queues) + " queues (" +
                ways.front().section + ".queues" + (ways.size() > 1 ? ", ..." : "") +
                "); must be queue, or there must "
                "be at most " +
                std::to_string(kMostQueuesBetween) + " (each queue has a ring to each other)");
    }
    /// @return  whether the table can be used with these packets
    bool check(const PacketWay& way, const Section& section) {
        try {
            const auto compiled = compile_table(config_, table_, way.parse, way.trim_length);
            return has_what_it_needs(*compiled, way, section);
        } catch (const TableError& error) {
            note_table_error(path_, error.what(), root_, faults_);
            return false;
        }
    }

    bool has_what_it_needs(const CompiledTable& compiled, const PacketWay& way,
                           const Section& section) {
        if (way.parse == ParseMode::unified_header) {
            return fits_unified_headers(compiled, way, section);
        }
        return !compiled.has_own_fields() || is_parsed_alike(compiled, way);
    }

    bool fits_unified_headers(const CompiledTable& compiled, const PacketWay& way,
                              const Section& section) {
        const std::string no_frames = ", but " + way.section + ".parse is unified-header; must be ";
        const std::vector<std::string>& beyond = compiled.fields_beyond_unified_headers();
        if (!beyond.empty()) {
            note(root_, path_,
                 " has " + listed(beyond) + no_frames + "without " +
                     (beyond.size() == 1 ? "it" : "them") + " (unified headers do not carry " +
                     (beyond.size() == 1 ? "it)" : "them)"),
                 faults_);
        }
        section.demand("filter", table_.filter.empty(),
                       " is given" + no_frames +
                           "left out (the sender of unified headers can choose among packets)");
        return beyond.empty() && table_.filter.empty();
    }

    /// Own fields are found by a second walk of the headers, with the options of all inputs.
    bool is_parsed_alike(const CompiledTable& compiled, const PacketWay& way) {
        const PacketWay& first = first_way_ ? *first_way_ : first_way_.emplace(way);
        std::string words;
        if (first.parse != way.parse) {
            words = first.section + ".parse is " + word_of(first.parse) + " and " + way.section +
                    ".parse " + word_of(way.parse);
        } else if (way.parse == ParseMode::trimmed && first.trim_length != way.trim_length) {
            words = first.section + ".trim-length is " + std::to_string(first.trim_length) +
                    " and " + way.section + ".trim-length " + std::to_string(way.trim_length);
        }
        if (words.empty()) {
            return true;
        }
        std::vector<std::string> own;
        for (const std::size_t field : compiled.own_fields()) {
            own.push_back(config_.fields[field].name);
        }
        note(root_, path_,
             " has " + listed(own) + ", but " + words +
                 "; must be without fields of your own, or all inputs must have the same parse and "
                 "trim-length (headers are walked once more for such fields, alike for all inputs)",
             faults_);
        return false;
    }

    const Config& config_;
    const TableDeclaration& table_;
    std::string path_;
    const YamlNode& root_;
    Faults& faults_;
    std::optional<PacketWay> first_way_;
};

void check_tables(const Config& config, std::span<const PacketWay> ways, const YamlNode& root,
                  Faults& faults) {
    const bool are_fields_good = check_fields(config, root, faults);
    if (!check_count("tables", config.tables.size(), kMostTables, root, faults)) {
        return;
    }
    for (std::size_t index = 0; index < config.tables.size(); ++index) {
        check_name(config, index, root, faults);
        if (are_fields_good && !faults.is_unread("flows.tunnel")) {
            TableCheck(config, index, root, faults).run(ways);
        }
    }
}

}  // namespace

void complete_tables(Config& config) {
    for (OwnField& field : config.fields) {
        const Encoding encoding = encoding_of(field.as);
        if (field.octets == 0 && !has_length(encoding)) {
            field.octets = static_cast<std::uint8_t>(octets_of(encoding));
        }
    }
    for (TableDeclaration& table : config.tables) {
        if (table.idle_timeout.count() == 0) {
            table.idle_timeout = config.flows.idle_timeout;
        }
        if (table.active_timeout.count() == 0) {
            table.active_timeout = config.flows.active_timeout;
        }
    }
}

void check_tables_of_inputs(const Config& config, const YamlNode& root, Faults& faults) {
    std::vector<PacketWay> ways;
    if (!faults.is_unread("inputs")) {
        for (std::size_t index = 0; index < config.inputs.size(); ++index) {
            const InputOptions& input = config.inputs[index];
            ways.push_back(
                {path_of("inputs", index), input.parse, input.trim_length, input.queues});
        }
    }
    if (ways.empty()) {  // another fault; those of tables are told nevertheless
        ways.push_back({"inputs.0", ParseMode::full, 0, 1});
    }
    check_tables(config, ways, root, faults);
}

void check_tables_of_captures(const Config& config, const YamlNode& root, Faults& faults) {
    const bool is_known = !faults.is_unread("read");
    const std::vector<PacketWay> ways{{"read", is_known ? config.read.parse : ParseMode::full,
                                       config.read.trim_length,
                                       is_known ? config.read.queues : std::uint16_t{1}}};
    check_tables(config, ways, root, faults);
}

}  // namespace tributary
