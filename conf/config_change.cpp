// SPDX-License-Identifier: Apache-2.0
#include "conf/config_change.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "conf/keys.hpp"

namespace tributary {
namespace {

std::map<std::string, std::string> values_of(const Config& config) {
    std::map<std::string, std::string> values;
    for (const Setting& setting : settings_of(config)) {
        values.emplace(setting.path, setting.value);
    }
    return values;
}

/// Whether a running probe can apply a changed key: filters of inputs, and keys of these sections.
bool is_reloadable(std::string_view path) {
    constexpr std::array<std::string_view, 4> kKeys{"flows.idle-timeout", "flows.active-timeout",
                                                    "flows.tcp-end-timeout", "log.level"};
    const bool is_filter = path.starts_with("inputs.") && path.ends_with(".filter");
    const bool is_export = path.starts_with("export.") && path != "export.spool.directory";
    return is_filter || is_export || std::ranges::find(kKeys, path) != kKeys.end();
}

}  // namespace

ConfigChange compare(const Config& running, const Config& wanted) {
    std::map<std::string, std::string> before = values_of(running);
    const std::map<std::string, std::string> after = values_of(wanted);
    for (const auto& [path, value] : after) {
        const auto old = before.find(path);
        if (old != before.end() && old->second == value) {
            before.erase(old);
        } else {
            before[path];  // changed, or new
        }
    }
    ConfigChange change;
    for (const auto& [path, value] : before) {
        constexpr std::string_view kCollectors = "export.collectors";
        // Its place in the list does not identify a collector: one before it may be gone.
        const std::string name = path.starts_with(kCollectors) ? std::string(kCollectors) : path;
        std::vector<std::string>& list =
            is_reloadable(path) ? change.reloadable : change.needs_restart;
        if (list.empty() || list.back() != name) {
            list.push_back(name);
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
