// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/key.hpp"
#include "daemon/manual/command_reference.hpp"

namespace tributary {

/// A bash script that completes a program's subcommands, options and values. The name of a value
/// gives its kind: FILE and CAPTURE are files, DIRECTORY is one, KEY=VALUE overrides a
/// configuration key.
///
/// @param keys  of the configuration, by general path
[[nodiscard]] std::string bash_completion(const CommandReference& program,
                                          const std::vector<Setting>& keys);

}  // namespace tributary
