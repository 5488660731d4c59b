// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// Checks the collectors' keys together.
///
/// @param root  the document, for the places in error messages
/// @param faults  receives a line for each collector key that does not fit: key, value, allowed
/// values
void check_collectors(const Config& config, const YamlNode& root, Faults& faults);

}  // namespace tributary
