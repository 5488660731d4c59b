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

/// The use of a configuration.
enum class ConfigUse {
    probe,  ///< packets from NICs: needs an input and a collector
    /// Packets from captures: `inputs` and `export.collectors` are ignored unread, and so is a
    /// `log.file` that is not from the command line.
    offline,
    captures_to_collectors,  ///< the same, with the collectors of the command line
    /// `tributary preparse --from`: no collector, and no input but its own. It makes no flows, so
    /// `tables` and `fields` are ignored unread.
    preparse_device,
    preparse_captures,  ///< `tributary preparse --read`: the same, and no input either
};

struct LoadedConfig {
    Config config;
    std::vector<std::string> warnings;  ///< for the log, one line each
    YamlNode source;                    ///< the YAML, for the lines in later checks' messages
    std::string probe_log{};  ///< for captures: the file's log.file, which must not be overwritten
};

/// A program's own checks, outside conf/; they add to the faults. A value that Faults::is_unread()
/// is only a substitute.
using FurtherCheck = std::function<void(const Config&, const YamlNode& root, Faults&)>;

/// Reads a configuration, applies the command line's overrides, and checks all.
///
/// @param text  YAML; empty: all defaults
/// @param name  of the file, for messages
/// @param sets  "KEY=VALUE" each, dotted path and YAML value, applied in order
/// @param further  called once, after conf/'s own checks
/// @errors      ConfigError with a line for each fault, first those of single values: "FILE:LINE:
///              KEY is VALUE; must be LIMITS (HINT)", or "--set KEY=VALUE" in place of file and
///              line; no other exception, for any text
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
/// @param path    of a file; its inputs, collectors, tables and own fields are ignored unread.
///                Empty: no file, all defaults
/// @param device  becomes the one input, inputs.0 for `sets`; nullopt: packets come from captures
/// @errors        ConfigError, also when the file cannot be read
[[nodiscard]] LoadedConfig preparse_config(const std::string& path,
                                           const std::optional<std::string>& device,
                                           std::span<const std::string> sets,
                                           const FurtherCheck& further = {});

/// The configuration of `-i DEVICE -n COLLECTOR...`: one input and these collectors, otherwise
/// defaults.
///
/// @param collectors  HOST:PORT, [IPV6]:PORT, or HOST alone for the transport's own port; prefixed
///                    with udp://, tcp:// or tls://, without a prefix udp; export.collectors.N for
///                    `sets`
/// @errors            ConfigError
/// @thread            any
[[nodiscard]] LoadedConfig quick_config(const std::string& device,
                                        std::span<const std::string> collectors,
                                        std::span<const std::string> sets,
                                        const FurtherCheck& further = {});

/// The configuration of `--read CAPTURE... -n COLLECTOR...`.
///
/// @param path        of a file; its inputs and collectors are ignored unread. Empty: no file, all
///                    defaults
/// @param collectors  as for quick_config()
/// @errors            ConfigError, also when the file cannot be read
[[nodiscard]] LoadedConfig captures_config(const std::string& path,
                                           std::span<const std::string> collectors,
                                           std::span<const std::string> sets,
                                           const FurtherCheck& further = {});

}  // namespace tributary
