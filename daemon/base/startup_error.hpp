// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace tributary {

/// What keeps the daemon from starting, in words for its operator. Only main() catches it: one
/// line, then exit.
class StartupError : public std::runtime_error {
public:
    /// @param exit_code  one of sysexits.h
    /// @param message    what is wrong, and a hint what to do
    StartupError(int exit_code, const std::string& message)
        : std::runtime_error(message), exit_code_(exit_code) {}

    [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

private:
    int exit_code_;
};

}  // namespace tributary
