// SPDX-License-Identifier: Apache-2.0
#include "conf/config_change.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "conf/keys.hpp"

namespace tributary {
namespace {

std::map<std::string, Setting> by_path(const Config& config) {
    std::map<std::string, Setting> settings;
    for (Setting& setting : settings_of(config)) {
        const std::string path = setting.path;
        settings.emplace(path, std::move(setting));
    }
    return settings;
}

/// Adds those of these settings that the others do not have, or that differ.
void add_differing(const std::map<std::string, Setting>& these,
                   const std::map<std::string, Setting>& others,
                   std::map<std::string, Apply>& differing) {
    for (const auto& [path, setting] : these) {
        const auto other = others.find(path);
        if (other == others.end() || other->second.value != setting.value) {
            differing.emplace(path, setting.apply);
        }
    }
}

/// The settings that only one of two configurations has, or that differ, by path.
std::map<std::string, Apply> differences(const Config& running, const Config& wanted) {
    const std::map<std::string, Setting> before = by_path(running);
    const std::map<std::string, Setting> after = by_path(wanted);
    std::map<std::string, Apply> differing;
    add_differing(before, after, differing);
    add_differing(after, before, differing);
    return differing;
}

/// The name of a changed setting: that of its list, if the place of an item there does not identify
/// the item, because one before it may be gone.
std::string name_of_change(const std::string& path) {
    constexpr std::array<std::string_view, 3> kLists{"export.collectors", "fields", "tables"};
    const auto* const list = std::ranges::find_if(kLists, [&path](std::string_view name) {
        return path == name || path.starts_with(std::string(name) + ".");
    });
    return list == kLists.end() ? path : std::string(*list);
}

}  // namespace

ConfigChange compare(const Config& running, const Config& wanted) {
    ConfigChange change;
    for (const auto& [path, apply] : differences(running, wanted)) {
        const std::string name = name_of_change(path);
        std::vector<std::string>& list =
            apply == Apply::at_restart ? change.needs_restart : change.reloadable;
        if (list.empty() || list.back() != name) {
            list.push_back(name);
        }
        if (apply != Apply::at_restart) {
            change.ways.insert(apply);
        }
    }
    return change;
}

std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    }
    return text;
}

}  // namespace tributary
