// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/packet.hpp"

namespace tributary {

/// Where the outermost IP packet of a frame ends, by what its own header says.
struct FrameExtent {
    bool is_ip = false;         ///< there is one, and its header was captured
    bool is_announced = false;  ///< it says how long it is. Those that segmentation offload still
                                ///< has to cut may be too long for that: their length is 0.
    std::size_t end = 0;        ///< of the packet in the frame, where it is announced
};

/// @param packet  may hold anything; only `captured` bytes are read
/// @thread        any; pure
/// @cost          a walk over the headers before IP; for frames whose length on the wire their
///                source does not know
/// @source        RFC 791 §3.1 (total length), RFC 8200 §3 (payload length), RFC 2675 §2 (jumbo)
[[nodiscard]] FrameExtent extent_of(const PacketView& packet) noexcept;

}  // namespace tributary
