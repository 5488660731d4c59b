// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/key.hpp"
#include "conf/yaml_tree.hpp"
#include "daemon/base/options.hpp"

namespace tributary {

/// The keys of an item of `triggers`.
[[nodiscard]] std::vector<Key<TriggerOptions>> trigger_keys();

/// Gives the tables that triggers name the field for the number of a file.
/// @thread  any; pure
void complete_triggers(Config& config);

/// Checks names and tables; what `when` names is checked where its language is known.
///
/// @param root    the configuration's text, for the places in messages
/// @param faults  receives a line for each
/// @thread        any; pure
void check_triggers(const Config& config, const YamlNode& root, Faults& faults);
/// Checks that a probe has packets for its triggers.
void check_triggers_of_probe(const Config& config, const YamlNode& root, Faults& faults);
/// Checks that captures have packets for them.
void check_triggers_of_captures(const Config& config, const YamlNode& root, Faults& faults);

}  // namespace tributary
