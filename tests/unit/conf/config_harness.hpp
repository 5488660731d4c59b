// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "conf/load_config.hpp"

namespace tributary {

/// Loads a string as the file "probe.yaml".
inline LoadedConfig load(const std::string& text, const std::vector<std::string>& sets = {},
                         ConfigUse use = ConfigUse::offline) {
    std::istringstream stream(text);
    return load_config(stream, "probe.yaml", sets, use);
}

/// All faults of loading, a line each; "accepted" without any.
inline std::string refusals(const std::string& text, const std::vector<std::string>& sets = {},
                            ConfigUse use = ConfigUse::offline) {
    try {
        (void)load(text, sets, use);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

/// The first of them.
inline std::string refusal(const std::string& text, const std::vector<std::string>& sets = {},
                           ConfigUse use = ConfigUse::offline) {
    const std::string all = refusals(text, sets, use);
    return all.substr(0, all.find('\n'));
}

/// The smallest configuration of a probe.
inline constexpr const char* kProbe =
    "inputs:\n"
    "  - device: net_null0\n"
    "export:\n"
    "  collectors:\n"
    "    - host: 192.0.2.1\n";

inline std::string probe_refusal(const std::string& text,
                                 const std::vector<std::string>& sets = {}) {
    return refusal(text, sets, ConfigUse::probe);
}

/// The same for the smallest probe with one key set.
inline std::string set_in_probe(const std::string& key_value) {
    return probe_refusal(kProbe, {key_value});
}

}  // namespace tributary
