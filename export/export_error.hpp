// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace tributary {

/// Export cannot start: the file cannot be created, an address is unusable, libfixbuf refuses a
/// template.
struct ExportError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace tributary
