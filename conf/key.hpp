// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "conf/config_error.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"
#include "flowcache/table/closest.hpp"

// A section of the configuration is a map that fills an options struct, its `Owner`. A section has
// a table with one row per key. Loading, the rejection of unknown keys, --dump-config, the
// reference page and reloading use only this row.

namespace tributary {

/// How a reload applies a changed key. MainLoop has a function for each value after at_restart.
enum class Apply : std::uint8_t {
    as_section,   ///< by the row of the key's section
    at_restart,   ///< a reload refuses the change: the key determines memory, threads, NICs or
                  ///< addresses
    to_export,    ///< sessions begin and end; collectors keep their accounts
    to_tables,    ///< tables come and go, and begin anew where they change
    to_filters,   ///< filters of inputs; compiled first
    to_timeouts,  ///< timeouts of the flow caches
    to_log_level,
};
/// Number of the values after at_restart.
inline constexpr std::size_t kReloadWays =
    static_cast<std::size_t>(Apply::to_log_level) - static_cast<std::size_t>(Apply::at_restart);

/// One key with its value, for --dump-config and the reference.
struct Setting {
    std::string path;    ///< dotted, list items by number
    std::string value;   ///< YAML
    std::string limits;  ///< permitted values
    std::string help;
    Apply apply = Apply::as_section;
};

/// An entry of a map that is not permitted.
struct EntryFault {
    const YamlEntry* entry{};
    std::string words;  ///< the rest of the error, behind the entry's path: what the user wrote,
                        ///< and what is permitted
};

/// The permitted values of a key, and how to read and write its member of `Owner`.
template <class Owner>
struct Rule {
    std::string limits;                                   ///< follows "must be"
    std::function<bool(const YamlNode&, Owner&)> accept;  ///< false: outside the limits
    std::function<std::string(const Owner&)> yaml;
    /// The probable meaning of a refused scalar; empty: unknown. Shown if the rule accepts it.
    std::function<std::string(std::string_view)> hint{};
    /// Advice for a refused scalar without a hint; empty: none.
    std::function<std::string(std::string_view)> advice{};
    /// The first entry of a refused map that is not permitted, and why; nullopt: the value is no
    /// map, or as a whole wrong.
    std::function<std::optional<EntryFault>(const YamlNode&)> entry_fault{};
};

/// The options of a section, or of a list's item, before their keys are read. Those of a kind that
/// takes what is left out from elsewhere are a specialisation (table_keys.hpp).
template <class Owner>
[[nodiscard]] Owner blank() {
    return {};
}

/// One row: reads its value from YAML, and lists itself as settings.
template <class Owner>
struct Key {
    std::string name;
    std::function<void(const YamlNode&, const std::string& path, Owner&, Faults&)> read;
    std::function<void(const Owner&, const std::string& path, std::vector<Setting>&)> list;
    /// For a section: applies to all keys inside whose own value is as_section.
    Apply apply = Apply::as_section;
    bool goes_first = false;  ///< read before the other keys of its section, which override it
};

/// @errors  ConfigError, always: no such key; with the probable key, or a list of the keys
[[noreturn]] void refuse_unknown_key(const YamlEntry& entry, const std::string& section,
                                     const std::vector<std::string>& names);

/// @param help  advice, a sentence; or empty
/// @errors      ConfigError, always: the value is outside the limits
[[noreturn]] void refuse_value(const YamlNode& node, const Setting& setting,
                               const std::string& help);

/// @errors  ConfigError, always: an entry of the map at `path` is not permitted
[[noreturn]] void refuse_entry(const EntryFault& fault, const std::string& path);

/// @errors  ConfigError: neither of this kind nor empty
void require_kind(const YamlNode& node, YamlNode::Kind kind, const std::string& path);

template <class Owner>
std::vector<std::string> names_of(const std::vector<Key<Owner>>& keys) {
    std::vector<std::string> names(keys.size());
    std::transform(keys.begin(), keys.end(), names.begin(),
                   [](const auto& key) { return key.name; });
    return names;
}

/// Reads one entry of a map.
///
/// @errors  ConfigError: no such key, or not its value
template <class Owner>
void read_entry(const YamlEntry& entry, const std::string& path,
                const std::vector<Key<Owner>>& keys, Owner& owner, Faults& faults) {
    const auto key = std::ranges::find(keys, entry.key, &Key<Owner>::name);
    if (key == keys.end()) {
        refuse_unknown_key(entry, path, names_of(keys));
    }
    key->read(entry.value, join_path(path, entry.key), owner, faults);
}

/// Fills `owner` from a map, key by key; keys that are missing or unreadable keep their values.
///
/// @param faults  gets the faults inside
/// @errors        ConfigError: not a map
template <class Owner>
void read_section(const YamlNode& node, const std::string& path,
                  const std::vector<Key<Owner>>& keys, Owner& owner, Faults& faults) {
    require_kind(node, YamlNode::Kind::map, path);
    const auto read = [&](const YamlEntry& entry) {
        faults.in(join_path(path, entry.key),
                  [&] { read_entry(entry, path, keys, owner, faults); });
    };
    const auto goes_first = [&](const YamlEntry& entry) {
        const auto key = std::ranges::find(keys, entry.key, &Key<Owner>::name);
        return key != keys.end() && key->goes_first;
    };
    std::ranges::for_each(node.entries | std::views::filter(goes_first), read);
    std::ranges::for_each(node.entries | std::views::filter(std::not_fn(goes_first)), read);
}

template <class Owner>
void list_section(const Owner& owner, const std::string& path, const std::vector<Key<Owner>>& keys,
                  std::vector<Setting>& settings) {
    for (const Key<Owner>& key : keys) {
        const std::size_t first = settings.size();
        key.list(owner, join_path(path, key.name), settings);
        for (Setting& setting : settings | std::views::drop(first)) {
            setting.apply = setting.apply == Apply::as_section ? key.apply : setting.apply;
        }
    }
}

/// The hint or the advice for a value; empty: none.
template <class Owner>
std::string help_with(const YamlNode& node, const Rule<Owner>& rule) {
    YamlNode meant = node;
    const bool is_scalar = node.kind == YamlNode::Kind::scalar;
    if (is_scalar && rule.hint) {
        meant.text = rule.hint(node.text);
    }
    Owner ignored{};
    if (!meant.text.empty() && meant.text != node.text && rule.accept(meant, ignored)) {
        return "did you mean " + shown(meant) + "?";
    }
    return is_scalar && rule.advice ? rule.advice(node.text) : std::string();
}

template <class Owner>
std::optional<EntryFault> entry_fault_in(const YamlNode& node, const Rule<Owner>& rule) {
    return rule.entry_fault ? rule.entry_fault(node) : std::nullopt;
}

/// A row with a value of its own.
template <class Owner>
Key<Owner> value(const std::string& name, const Rule<Owner>& rule, const std::string& help,
                 Apply apply = Apply::as_section) {
    const auto setting = [rule, help](const Owner& owner, const std::string& path) {
        return Setting{
            .path = path, .value = rule.yaml(owner), .limits = rule.limits, .help = help};
    };
    return {
        .name = name,
        .read =
            [rule, setting](const YamlNode& node, const std::string& path, Owner& owner,
                            Faults& /*faults*/) {
                if (rule.accept(node, owner)) {
                    return;
                }
                if (const auto fault = entry_fault_in(node, rule)) {
                    refuse_entry(*fault, path);
                } else {
                    refuse_value(node, setting(blank<Owner>(), path), help_with(node, rule));
                }
            },
        .list = [setting](
                    const Owner& owner, const std::string& path,
                    std::vector<Setting>& settings) { settings.push_back(setting(owner, path)); },
        .apply = apply};
}

/// A row that holds a section.
template <class Owner, class Inner>
Key<Owner> section(const std::string& name, Inner Owner::*member,
                   const std::vector<Key<Inner>>& keys, Apply apply = Apply::as_section) {
    return {.name = name,
            .read = [member, keys](
                        const YamlNode& node, const std::string& path, Owner& owner,
                        Faults& faults) { read_section(node, path, keys, owner.*member, faults); },
            .list =
                [member, keys](const Owner& owner, const std::string& path,
                               std::vector<Setting>& settings) {
                    list_section(owner.*member, path, keys, settings);
                },
            .apply = apply};
}

/// Reads one item of a list of sections.
template <class Item>
void read_item(const YamlNode& node, const std::string& path, const std::vector<Key<Item>>& keys,
               Item& item, Faults& faults) {
    faults.in(path, [&] { read_section(node, path, keys, item, faults); });
}

/// A row that holds a list of sections.
template <class Owner, class Item>
Key<Owner> list_of(const std::string& name, std::vector<Item> Owner::*member,
                   const std::vector<Key<Item>>& keys, Apply apply = Apply::as_section) {
    return {.name = name,
            .read =
                [member, keys](const YamlNode& node, const std::string& path, Owner& owner,
                               Faults& faults) {
                    require_kind(node, YamlNode::Kind::list, path);
                    (owner.*member).assign(node.entries.size(), blank<Item>());
                    for (std::size_t i = 0; i < node.entries.size(); ++i) {
                        read_item(node.entries[i].value, join_path(path, std::to_string(i)), keys,
                                  (owner.*member)[i], faults);
                    }
                },
            .list =
                [member, keys](const Owner& owner, const std::string& path,
                               std::vector<Setting>& settings) {
                    const auto& items = owner.*member;
                    if (items.empty()) {
                        settings.push_back({.path = path, .value = "[]", .limits = {}, .help = {}});
                    }
                    for (std::size_t i = 0; i < items.size(); ++i) {
                        list_section(items[i], join_path(path, std::to_string(i)), keys, settings);
                    }
                },
            .apply = apply};
}

}  // namespace tributary
