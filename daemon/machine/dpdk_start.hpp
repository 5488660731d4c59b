// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace tributary {

/// Held while DPDK starts, and by each other thread while it calls functions of DPDK that may log:
/// the drivers that are loaded at the start enter their log types in a table without a lock.
///
/// @thread  any, but no input or export thread
[[nodiscard]] std::mutex& dpdk_start_mutex() noexcept;

}  // namespace tributary
