// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "conf/yaml_tree.hpp"

namespace tributary {

/// Puts a value into the tree; missing maps, and an item just behind a list's end, come into being.
///
/// @param path  dotted, list items by number from 0: "inputs.0.queues"
/// @errors      ConfigError at the value's place: no such path can be
/// @thread      any; pure
void assign(YamlNode& root, std::string_view path, YamlNode value);

/// Applies a `--set`.
///
/// @param key_value  "KEY=VALUE", the value in YAML
/// @errors           ConfigError: no '=', the value is no YAML, or as assign()
/// @thread           any; pure
void apply_set(YamlNode& root, const std::string& key_value);

}  // namespace tributary
