// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace tributary {

/// The daemon cannot start; a message for its operator. Only main() catches it: one line, then
/// exit.
class StartupError : public std::runtime_error {
public:
    /// @param exit_code  of sysexits.h
    /// @param message    the fault, and a hint
    StartupError(int exit_code, const std::string& message)
        : std::runtime_error(message), exit_code_(exit_code) {}

    [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

private:
    int exit_code_;
};

}  // namespace tributary
