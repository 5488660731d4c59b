// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// How full a record ring is.
struct RingFill {
    std::uint64_t records{};
    std::uint64_t room{};  ///< most records that it holds
};

/// What a producer does when the ring is full.
enum class WhenRingFull : std::uint8_t {
    refuse,  ///< live: the record waits in its cache, the receive queue does not wait
    wait,    ///< offline: the reader pauses, nothing is lost
};

}  // namespace tributary
