// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// Checks `when` of each trigger against the records of its table, and whether these have what
/// `packets` needs.
///
/// @param root    the configuration's text, for the places in messages
/// @param faults  receives a line for each
/// @thread        any; pure
/// @cost          some milliseconds for each
void check_conditions(const Config& config, const YamlNode& root, Faults& faults);

}  // namespace tributary
