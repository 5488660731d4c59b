// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/parse_status.hpp"

namespace tributary {

/// What an IP header says of the bytes behind it. Offsets count from the frame's first byte.
struct IpLayer {
    ParseStatus status{};
    bool is_later_fragment{};  ///< the payload does not begin with a transport header
    std::size_t payload_at{};  ///< behind options and extension headers
    std::size_t end{};         ///< where the IP packet ends, which may be behind the captured bytes
};

}  // namespace tributary
