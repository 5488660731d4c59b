// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// Parses one frame from its link-layer header to its transport ports.
///
/// @param packet  may hold anything; only `captured` bytes are read
/// @param fields  written when the status is `ok`; otherwise its content is unspecified
/// @return        `ok`, or why the frame is in no flow
/// @thread        any; pure
/// @cost          no allocation; loops are bounded by the captured bytes
[[nodiscard]] ParseStatus parse_packet(const PacketView& packet, PacketFields& fields) noexcept;

}  // namespace tributary
