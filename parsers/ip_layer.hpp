// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "parsers/parse_status.hpp"

namespace tributary {

/// Where an IP packet and its payload lie. Offsets count from the frame's first byte.
///
/// Only inlined functions return it: through memory, a copy right behind narrower stores would wait
/// for them, which was half of all parsing.
struct IpLayer {
    ParseStatus status{};
    std::size_t payload_at{};  ///< behind options and extension headers
    std::size_t end{};         ///< where the IP packet ends, which may be behind the captured bytes
    std::size_t begins_at{};   ///< where its header begins
};

/// Octets from `at` to the end of the frame: the length of an IP packet whose header has length 0.
/// Hosts capture their own packets so before segmentation offload, and packets that their NICs put
/// together, when 16 bits do not suffice. Padding and trailers of the link layer are counted too,
/// because nothing marks them.
///
/// @param wire_bytes  the frame's length on the wire; inside a tunnel up to the outer packet's end
[[nodiscard]] constexpr std::size_t bytes_to_frame_end(std::size_t wire_bytes,
                                                       std::size_t at) noexcept {
    return std::max(wire_bytes, at) - at;
}

}  // namespace tributary
