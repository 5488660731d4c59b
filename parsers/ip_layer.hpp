// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/parse_status.hpp"

namespace tributary {

/// What an IP header says of the bytes behind it. Offsets count from the frame's first byte.
///
/// It is returned by inlined functions only: through memory it would be copied right behind the
/// narrower stores that the copy waits for, which was half of all parsing.
struct IpLayer {
    ParseStatus status{};
    std::size_t payload_at{};  ///< behind options and extension headers
    std::size_t end{};         ///< where the IP packet ends, which may be behind the captured bytes
    std::size_t begins_at{};   ///< where its header begins
};

}  // namespace tributary
