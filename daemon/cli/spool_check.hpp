// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {

/// Checks the directories of spools on this machine, and makes none. A directory that cannot be
/// made or written to is a fault; one where this user must not write is a warning, because the
/// probe may run as another user.
///
/// @param root    of the configuration's text
/// @param faults  gets faults with their places
void check_spools(const Config& config, const YamlNode& root, Faults& faults);

/// Warns of records in the spool of mode failover that this configuration would lose, because they
/// were made for other fields.
void warn_of_unusable_records(const Config& config, const YamlNode& root);

}  // namespace tributary
