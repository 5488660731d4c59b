// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tributary {

// '-' on a command line means a standard stream; a file of that name is ./-

[[nodiscard]] inline std::string or_standard_input(const std::string& word) {
    return word == "-" ? "/dev/stdin" : word;
}
[[nodiscard]] inline std::string or_standard_output(const std::string& word) {
    return word == "-" ? "/dev/stdout" : word;
}

/// Flushes std::cout at its end. A closed pipe is no fault: its reader has ended.
///
/// @param program  for the line on standard error about a failed write
/// @return         exit code
[[nodiscard]] int end_output(const std::string& program);

}  // namespace tributary
