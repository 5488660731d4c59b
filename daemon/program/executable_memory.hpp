// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tributary {

/// Whether this process may make written memory executable. systemd's MemoryDenyWriteExecute= and
/// prctl(PR_SET_MDWE) forbid it.
///
/// @thread  any
/// @cost    three system calls
[[nodiscard]] bool may_make_memory_executable() noexcept;

}  // namespace tributary
