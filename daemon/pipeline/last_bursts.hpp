// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tributary {

/// The result of one step of a stopping thread.
enum class LastBurst : std::uint8_t {
    none,   ///< no packet received
    part,   ///< part of a burst; the rest follows
    whole,  ///< a burst, or the last part of one
};

/// Takes the packets that a stopping thread's source has already received: whole bursts until one
/// is empty, at most 1024, which is more than the longest receive ring holds.
///
/// @param take  takes the next burst, or a part of it; returns a LastBurst
/// @thread      the stopping thread
template <class Take>
void take_last_bursts(Take take) noexcept {
    constexpr int kMost = 1024;
    LastBurst last = LastBurst::part;
    for (int bursts = 0; bursts < kMost && last != LastBurst::none;) {
        last = take();
        bursts += last == LastBurst::whole ? 1 : 0;
    }
}

}  // namespace tributary
