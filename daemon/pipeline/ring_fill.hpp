// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// How full a record ring is.
struct RingFill {
    std::uint64_t records{};
    std::uint64_t room{};  ///< records that it holds at most
};

/// What a producer does when the ring is full.
enum class WhenRingFull : std::uint8_t {
    refuse,  ///< live: the record waits in its cache, a receive queue never does
    wait,    ///< offline: the reader pauses, nothing is lost
};

}  // namespace tributary
