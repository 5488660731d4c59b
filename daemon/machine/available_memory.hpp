// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// The kernel's estimate of memory in bytes available without swapping; the largest number:
/// unknown. Read before large blocks are touched: an error message is better than the kernel's OOM
/// killer.
[[nodiscard]] std::uint64_t available_memory();

/// Memory of the machine in bytes; the largest number: unknown.
[[nodiscard]] std::uint64_t installed_memory();

}  // namespace tributary
