// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "parsers/parse_status.hpp"

namespace tributary {

/// The payload behind a link layer's header.
struct LinkLayer {
    ParseStatus status{};
    std::uint16_t ethertype{};  ///< of what begins at `payload_at`
    std::size_t payload_at{};   ///< offset from the frame's first byte
};

}  // namespace tributary
