// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary {

/// The configuration cannot be used. The text has one line for each fault: file and line, the key,
/// its allowed values, and a hint.
struct ConfigError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Gives up on the configuration.
///
/// @param place    "FILE:LINE", "--set KEY=VALUE" or the like
/// @param message  what is wrong there
/// @errors         ConfigError, always
[[noreturn]] void refuse(std::string_view place, std::string_view message);

/// Text from outside made fit for a message: one line, printable, of bounded length.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace tributary
