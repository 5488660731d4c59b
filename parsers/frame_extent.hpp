// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/packet.hpp"

namespace tributary {

/// Where the outermost IP packet of a frame ends, by its own header.
struct FrameExtent {
    bool is_ip = false;         ///< there is one, and its header was captured
    bool is_announced = false;  ///< its length is in its header. Segmentation offload may leave 0
                                ///< there, for packets that are too long for the field.
    std::size_t end = 0;        ///< of the packet in the frame, where it is announced
};

/// @param packet  may hold anything; only `captured` bytes are read
/// @thread        any; pure
/// @cost          a walk over the headers before IP; for frames whose source does not have their
///                length on the wire
/// @source        RFC 791 §3.1 (total length), RFC 8200 §3 (payload length), RFC 2675 §2 (jumbo)
[[nodiscard]] FrameExtent extent_of(const PacketView& packet) noexcept;

}  // namespace tributary
