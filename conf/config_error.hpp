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

/// Refuses the configuration.
///
/// @param place    such as "FILE:LINE" or "--set KEY=VALUE"
/// @param message  the fault
/// @errors         ConfigError, always
[[noreturn]] void refuse(std::string_view place, std::string_view message);

/// Text from outside in a form for messages: one line, printable, of bounded length.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace tributary
