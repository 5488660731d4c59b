// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"
#include "daemon/base/file_uses.hpp"

namespace tributary {

/// Compares a configuration with the machine that it is checked on: TLS files and folders that are
/// missing, spools that cannot have their directories, two outputs in one file, and more memory
/// than there is are faults. Devices and cores that this machine lacks, and TLS files that this
/// user must not read, are warnings in the log, because the configuration may be for another
/// machine, and the probe may run as another user. So are certificates that are not valid today:
/// others may be there when the probe runs. Nothing is made, and no device is touched.
///
/// @param root    of what the configuration was read from
/// @param faults  gets faults with their places
/// @param files   that a run has beside those of collectors
/// @thread        main
void check_machine(const Config& config, const YamlNode& root, Faults& faults,
                   const std::vector<FileUse>& files);

}  // namespace tributary
