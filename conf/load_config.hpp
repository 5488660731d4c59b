// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <span>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "conf/config_error.hpp"

namespace tributary {

/// What a configuration is for.
enum class ConfigUse {
    probe,    ///< packets from NICs: needs an input and a collector
    offline,  ///< packets from captures: `inputs` and `export.collectors` are ignored unread
};

struct LoadedConfig {
    Config config;
    std::vector<std::string> warnings;  ///< for the log, one line each
};

/// Reads a configuration, applies what the command line overrides, and checks it all.
///
/// @param text  YAML; nothing at all means every default
/// @param name  of the file, for messages
/// @param sets  "KEY=VALUE" each, dotted path and YAML value, applied in order
/// @errors      ConfigError: "FILE:LINE: KEY is VALUE; must be LIMITS (HINT)", or "--set KEY=VALUE"
///              in place of file and line; nothing else leaves it, whatever the text
/// @thread      any
[[nodiscard]] LoadedConfig load_config(std::istream& text, const std::string& name,
                                       std::span<const std::string> sets, ConfigUse use);

/// The same from a file.
///
/// @errors  ConfigError, also when the file cannot be read
[[nodiscard]] LoadedConfig load_config_file(const std::string& path,
                                            std::span<const std::string> sets, ConfigUse use);

/// The configuration of `-i DEVICE -n HOST:PORT`: one input, one UDP collector, all else default.
///
/// @param collector  HOST:PORT, [IPV6]:PORT, or HOST alone for port 4739
/// @errors           ConfigError
/// @thread           any
[[nodiscard]] LoadedConfig quick_config(const std::string& device, const std::string& collector,
                                        std::span<const std::string> sets);

}  // namespace tributary
