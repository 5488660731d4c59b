// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tributary {

// What '-' means where a command line names a file; a file of that name is ./-

[[nodiscard]] inline std::string or_standard_input(const std::string& word) {
    return word == "-" ? "/dev/stdin" : word;
}
[[nodiscard]] inline std::string or_standard_output(const std::string& word) {
    return word == "-" ? "/dev/stdout" : word;
}

/// Ends what was written to std::cout. A reader that has gone away wants no more: that is no fault.
///
/// @param program  for the line on standard error that tells why it could not be written
/// @return         exit code
[[nodiscard]] int end_output(const std::string& program);

}  // namespace tributary
