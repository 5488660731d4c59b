// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_command.hpp"

#include <chrono>
#include <optional>
#include <string>

#include "daemon/recorder/dump_command.hpp"
#include "daemon/trigger/trigger_arguments.hpp"

namespace tributary {
namespace {

std::optional<std::chrono::nanoseconds> duration_of(const std::optional<double>& seconds) {
    return seconds ? std::optional(std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::duration<double>(*seconds)))
                   : std::nullopt;
}

}  // namespace

ControlCommands trigger_commands(TriggerDumps& dumps) {
    ControlCommands commands;
    commands["trigger"] = [&dumps](const std::string& text, ControlReply& reply) {
        const TriggerArguments arguments = TriggerArguments::of(text);
        const std::string path = dumps.fire(arguments.name, {.filter = arguments.filter,
                                                             .last = duration_of(arguments.last),
                                                             .who = user_text(reply)});
        reply.write(path + "\n");
    };
    return commands;
}

}  // namespace tributary
