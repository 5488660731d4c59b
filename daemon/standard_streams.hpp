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

}  // namespace tributary
