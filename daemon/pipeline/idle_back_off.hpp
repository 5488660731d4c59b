// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_pause.h>

#include <cstdint>
#include <utility>

#include "daemon/port/idle_wait.hpp"

namespace tributary {

/// What a polling thread does when a poll brings nothing: it goes on at once, or after some empty
/// polls waits before each further one.
class IdleBackOff {
public:
    static constexpr std::uint32_t kEmptyPollsBeforeWait = 64;
    /// What an interrupt has told of may take a while to be seen: net_tap waits for a signal.
    static constexpr std::uint32_t kEmptyPollsAfterInterrupt = 1024;

    /// @param wait  empty: it polls on
    explicit IdleBackOff(IdleWait wait) : wait_(std::move(wait)) {}

    /// Call after each poll.
    ///
    /// @param found  whether it brought anything
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
        kEmptyPollsBeforeWait;  ///< empty ones until it waits, this included
};

}  // namespace tributary
