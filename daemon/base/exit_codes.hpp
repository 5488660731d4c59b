// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tributary {

/// An exit code of a program. The table of them is the source of help and manual pages.
struct ExitCode {
    std::string_view code;
    std::string_view meaning;  ///< part of a sentence, without a full stop
};

/// Those of tributaryd, and those of tributary.
/// @source  sysexits(3) for the numbers from 64 to 78
[[nodiscard]] std::span<const ExitCode> tributaryd_exit_codes() noexcept;
[[nodiscard]] std::span<const ExitCode> tributary_exit_codes() noexcept;

/// "Exit codes:" and a line for each, for --help.
[[nodiscard]] std::string exit_code_help(std::span<const ExitCode> codes);

}  // namespace tributary
