// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// Memory in bytes that can be had without swapping, as the kernel estimates it; the largest number
/// where it does not say. Asked before large blocks are touched: a refusal in words is better than
/// the kernel's OOM killer.
[[nodiscard]] std::uint64_t available_memory();

/// Memory of the machine in bytes; the largest number where the kernel does not say.
[[nodiscard]] std::uint64_t installed_memory();

}  // namespace tributary
