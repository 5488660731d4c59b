// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace tributary {

/// From now on the calling thread takes what others leave of its CPU: it has much to do that may
/// wait, and its CPU may be that of an input thread.
inline void let_others_go_first() noexcept {
    constexpr id_t kThisThread = 0;  // of Linux; elsewhere it is the process
    constexpr int kLast = 19;
    static_cast<void>(::setpriority(PRIO_PROCESS, kThisThread, kLast) == 0);
}

}  // namespace tributary
