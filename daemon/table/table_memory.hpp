// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tributary {

/// Octets that a declared table takes in a queue.
struct TableMemory {
    std::size_t cache;
    std::size_t ring;   ///< of records
    std::size_t inbox;  ///< rings of extracts that come to the queue; 0: it has none
};

}  // namespace tributary
