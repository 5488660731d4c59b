// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "conf/yaml_tree.hpp"

namespace tributary {

/// Puts a value into the tree; adds missing maps, and an item at the end of a list.
///
/// @param path  dotted, list items by number from 0: "inputs.0.queues"
/// @errors      ConfigError at the value's place: impossible path
/// @thread      any; pure
void assign(YamlNode& root, std::string_view path, YamlNode value);

/// How messages name a `--set`: as it was given. One with the word `properties` anywhere, also
/// inside a YAML map, is named without its value, because librdkafka's properties may be secrets.
[[nodiscard]] std::string place_of_set(const std::string& key_value);

/// Applies a `--set`.
///
/// @param key_value  "KEY=VALUE", the value in YAML
/// @errors           ConfigError: no '=', the value is not YAML, or as assign()
/// @thread           any; pure
void apply_set(YamlNode& root, const std::string& key_value);

}  // namespace tributary
