// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/key.hpp"
#include "daemon/base/exit_codes.hpp"
#include "daemon/manual/command_reference.hpp"

// Parts of manual pages, in the macros of man(7).

namespace tributary {

/// A text for roff, to be printed letter by letter: dashes and quotes can be copied into a shell.
[[nodiscard]] std::string roff_text(std::string_view text);

/// Paragraphs of Markdown with only code in backticks marked up.
[[nodiscard]] std::string roff_paragraphs(std::string_view markdown);

/// The options of a program, by group.
[[nodiscard]] std::string roff_options(const CommandReference& program);

/// The subcommands of a program, each with its synopsis and its options.
[[nodiscard]] std::string roff_commands(const CommandReference& program);

/// The exit codes of a program.
[[nodiscard]] std::string roff_exit_codes(std::span<const ExitCode> codes);

/// The keys of a configuration, by section.
[[nodiscard]] std::string roff_keys(const std::vector<Setting>& keys);

}  // namespace tributary
