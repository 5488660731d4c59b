// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_pause.h>

#include <cstdint>
#include <utility>

#include "daemon/idle_wait.hpp"

namespace tributary {

/// What a polling thread does when a poll brings nothing: it goes on at once, or after some empty
/// polls waits before each further one.
class IdleBackOff {
public:
    static constexpr std::uint32_t kEmptyPollsBeforeWait = 64;

    /// @param wait  empty: it polls on
    explicit IdleBackOff(IdleWait wait) : wait_(std::move(wait)) {}

    /// Call after each poll.
    ///
    /// @param found  whether it brought anything
    void after_poll(bool found) {
        if (is_wait_due(found)) {
            wait_();
        } else if (!found) {
            rte_pause();
        }
    }

private:
    [[nodiscard]] bool is_wait_due(bool found) noexcept {
        if (found || !wait_) {
            empty_polls_ = 0;
            return false;
        }
        empty_polls_ += empty_polls_ < kEmptyPollsBeforeWait ? 1 : 0;
        return empty_polls_ == kEmptyPollsBeforeWait;
    }

    IdleWait wait_;
    std::uint32_t empty_polls_ = 0;
};

}  // namespace tributary
