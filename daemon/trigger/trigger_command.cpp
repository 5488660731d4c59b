// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_command.hpp"

#include <optional>
#include <string>

#include "daemon/recorder/dump_command.hpp"
#include "daemon/trigger/trigger_arguments.hpp"

namespace tributary {

ControlCommands trigger_commands(TriggerDumps& dumps) {
    ControlCommands commands;
    commands["trigger"] = [&dumps](const std::string& text, ControlReply& reply) {
        const TriggerArguments arguments = TriggerArguments::of(text);
        const std::string path = dumps.fire(
            arguments.name,
            {.filter = arguments.filter,
             .last = arguments.last ? std::optional(duration_of(*arguments.last)) : std::nullopt,
             .who = user_text(reply)});
        reply.write(path + "\n");
    };
    return commands;
}

}  // namespace tributary
