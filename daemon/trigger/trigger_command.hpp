// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/control/control_reply.hpp"
#include "daemon/trigger/trigger_dumps.hpp"

namespace tributary {

/// The commands of triggers:
///
///     trigger ARGUMENTS    fires one; answers with the path that its file will have
///
/// @param dumps   outlive the commands
/// @thread        of the server's commands
[[nodiscard]] ControlCommands trigger_commands(TriggerDumps& dumps);

}  // namespace tributary
