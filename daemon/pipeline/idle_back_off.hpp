// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_pause.h>

#include <cstdint>
#include <utility>

#include "daemon/port/idle_wait.hpp"

namespace tributary {

/// Decides what a polling thread does after an empty poll: it polls on, or, after several empty
/// polls, waits before each further one.
class IdleBackOff {
public:
    static constexpr std::uint32_t kEmptyPollsBeforeWait = 64;
    /// After an interrupt the packets may come a little later: net_tap waits for a signal.
    static constexpr std::uint32_t kEmptyPollsAfterInterrupt = 1024;

    /// @param wait  empty: the thread polls on
    explicit IdleBackOff(IdleWait wait) : wait_(std::move(wait)) {}

    /// Call after each poll.
    ///
    /// @param found  whether the poll brought anything
    void after_poll(bool found) {
        if (found) {
            polls_left_ = kEmptyPollsBeforeWait;
        } else if (!wait_ || polls_left_ > 1) {
            polls_left_ -= polls_left_ > 1 ? 1 : 0;
            rte_pause();
        } else if (wait_()) {
            polls_left_ = kEmptyPollsAfterInterrupt;
        }
    }

private:
    IdleWait wait_;
    std::uint32_t polls_left_ =
        kEmptyPollsBeforeWait;  ///< empty polls until the wait, this one included
};

}  // namespace tributary
