// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// Gives tables without timeouts of their own those of `flows`, and own fields without a number of
/// octets those of their type.
void complete_tables(Config& config);

/// Checks own fields and declared tables, as packets of the inputs have fields.
///
/// @param config  after complete_tables()
/// @param root    the configuration's text, for the places in messages
/// @param faults  receives a line for each
/// @thread        any; pure
void check_tables_of_inputs(const Config& config, const YamlNode& root, Faults& faults);
/// The same for packets of captures.
void check_tables_of_captures(const Config& config, const YamlNode& root, Faults& faults);

}  // namespace tributary
