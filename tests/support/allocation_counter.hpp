// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tributary::test {

/// Calls of operator new in this program so far. Linking allocation_counter.cpp replaces operator
/// new.
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace tributary::test
