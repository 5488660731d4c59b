// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary {

/// In which order the packets of several queues are accounted in a table that is spread by key.
enum class SpreadOrder : std::uint8_t {
    arrival,  ///< live: as they come, between queues exact to one burst; a full ring is a loss
    capture,  ///< offline: that of the capture (FrameBurst::numbers); a full ring waits
};

/// How the packets of tables with `spread: key` reach the queues that own their keys.
struct TableSpreading {
    std::size_t queues = 1;  ///< of all inputs; with one queue there are no rings
    SpreadOrder order = SpreadOrder::arrival;
    std::uint32_t slots = 1024;  ///< of each ring, a power of two; one of them stays empty
};

}  // namespace tributary
