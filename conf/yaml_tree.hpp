// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "conf/faults.hpp"

namespace tributary {

struct YamlEntry;

/// A YAML value with its place. A tree of our own, because yaml-cpp's nodes keep duplicate keys
/// silently, share aliased nodes (even in circles), and lose the place of a key.
struct YamlNode {
    enum class Kind { null, scalar, list, map };
    Kind kind = Kind::null;
    std::string text;                ///< of a scalar
    std::string place;               ///< for messages: "FILE:LINE" or the command-line option
    std::vector<YamlEntry> entries;  ///< of a list or map, in order
};

struct YamlEntry {
    std::string key;  ///< empty in a list
    YamlNode value;
};

/// A configuration has a few kilobytes; a longer text is a mistake.
inline constexpr std::size_t kLongestYaml = 1U << 20U;

/// The origin of YAML text.
struct YamlOrigin {
    std::string name;        ///< the file, or the command-line option
    bool has_lines = false;  ///< messages show its line numbers
};

/// Reads one YAML document.
///
/// @param path  of the document in the configuration, dotted; empty for the whole configuration
/// @return      its root; null for an empty text. Keys are unique, the depth is bounded.
/// @errors      ConfigError: no YAML, no text, more than kLongestYaml
///              octets, several documents, a key given twice, an alias, a
/// tag
/// @thread      any; pure
[[nodiscard]] YamlNode parse_yaml(std::string_view text, const YamlOrigin& origin,
                                  const std::string& path);
/// The same, but duplicate keys and indenting tabs go into `faults`: the last value of a key holds,
/// and such a tab counts as two spaces, so that later faults are found, too.
[[nodiscard]] YamlNode parse_yaml(std::string_view text, const YamlOrigin& origin,
                                  const std::string& path, Faults& faults);

/// The value of `key` in a map or, with a number as key, in a list; nullptr if there is none.
[[nodiscard]] YamlNode* find(YamlNode& node, std::string_view key);
[[nodiscard]] const YamlNode* find(const YamlNode& node, std::string_view key);

/// The place of the value of a dotted path, or of the nearest value around it.
[[nodiscard]] std::string place_of(const YamlNode& root, std::string_view path);

/// "flows" and "max-flows" give "flows.max-flows".
[[nodiscard]] std::string join_path(const std::string& path, std::string_view key);

/// The parts of a dotted path.
[[nodiscard]] std::vector<std::string> split_path(std::string_view path);

/// A value in the form for messages: the text itself, or "a list", "a map", "empty", "without a
/// value".
[[nodiscard]] std::string shown(const YamlNode& node);

}  // namespace tributary
