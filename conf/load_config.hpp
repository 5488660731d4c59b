// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "conf/config_error.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// What a configuration is for.
enum class ConfigUse {
    probe,  ///< packets from NICs: needs an input and a collector
    /// Packets from captures: `inputs` and `export.collectors` are ignored unread, and a `log.file`
    /// that is not of the command line.
    offline,
    captures_to_collectors,  ///< the same, with the collectors of the command line
    preparse_device,    ///< `tributary preparse --from`: no collector, and no input but its own
    preparse_captures,  ///< `tributary preparse --read`: neither collector nor input
};

struct LoadedConfig {
    Config config;
    std::vector<std::string> warnings;  ///< for the log, one line each
    YamlNode source;                    ///< the YAML: later checks name its lines in their messages
    std::string probe_log{};  ///< of captures: the file's log.file, which nothing may write over
};

/// What a program checks that conf/ cannot know: it notes its faults among the others. The values
/// of paths that Faults::is_unread() were not meant.
using FurtherCheck = std::function<void(const Config&, const YamlNode& root, Faults&)>;

/// Reads a configuration, applies what the command line overrides, and checks it all.
///
/// @param text  YAML; nothing at all means every default
/// @param name  of the file, for messages
/// @param sets  "KEY=VALUE" each, dotted path and YAML value, applied in order
/// @param further  called once, after all checks of conf/
/// @errors      ConfigError with a line for each fault, those of values before those of how they
///              fit: "FILE:LINE: KEY is VALUE; must be LIMITS (HINT)", or "--set KEY=VALUE" in
///              place of file and line; nothing else leaves it, whatever the text
/// @thread      any
[[nodiscard]] LoadedConfig load_config(std::istream& text, const std::string& name,
                                       std::span<const std::string> sets, ConfigUse use,
                                       const FurtherCheck& further = {});

/// The same from a file.
///
/// @errors  ConfigError, also when the file cannot be read
[[nodiscard]] LoadedConfig load_config_file(const std::string& path,
                                            std::span<const std::string> sets, ConfigUse use,
                                            const FurtherCheck& further = {});

/// The configuration of `tributary preparse`: how packets are parsed.
///
/// @param path    of a file, whose inputs and collectors are ignored unread; empty: none, all else
///                is default
/// @param device  becomes the one input, inputs.0 for `sets`; nothing: packets come from captures
/// @errors        ConfigError, also when the file cannot be read
[[nodiscard]] LoadedConfig preparse_config(const std::string& path,
                                           const std::optional<std::string>& device,
                                           std::span<const std::string> sets,
                                           const FurtherCheck& further = {});

/// The configuration of `-i DEVICE -n COLLECTOR...`: one input and these collectors, all else
/// default.
///
/// @param collectors  HOST:PORT, [IPV6]:PORT, or HOST alone for the transport's own port, behind
///                    udp://, tcp:// or tls://, or nothing for udp; export.collectors.N for `sets`
/// @errors            ConfigError
/// @thread            any
[[nodiscard]] LoadedConfig quick_config(const std::string& device,
                                        std::span<const std::string> collectors,
                                        std::span<const std::string> sets,
                                        const FurtherCheck& further = {});

/// The configuration of `--read CAPTURE... -n COLLECTOR...`.
///
/// @param path        of a file, whose inputs and collectors are ignored unread; empty: none, all
///                    else is default
/// @param collectors  as for quick_config()
/// @errors            ConfigError, also when the file cannot be read
[[nodiscard]] LoadedConfig captures_config(const std::string& path,
                                           std::span<const std::string> collectors,
                                           std::span<const std::string> sets,
                                           const FurtherCheck& further = {});

}  // namespace tributary
