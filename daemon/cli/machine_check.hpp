// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/config.hpp"
#include "conf/faults.hpp"
#include "conf/yaml_tree.hpp"
#include "daemon/base/file_uses.hpp"

namespace tributary {

/// Compares a configuration with this machine. Faults are: missing TLS files and folders,
/// impossible spool directories, two outputs in one file, and too little memory. Warnings in the
/// log are: missing devices and cores, because the configuration may be for another machine; TLS
/// files that this user must not read, because the probe may run as another user; and certificates
/// that are not valid today, because others may be there when the probe runs. It makes no file and
/// touches no device.
///
/// @param root    of the configuration's text
/// @param faults  gets faults with their places
/// @param files   of a run, beside the collectors'
/// @thread        main
void check_machine(const Config& config, const YamlNode& root, Faults& faults,
                   const std::vector<FileUse>& files);

}  // namespace tributary
