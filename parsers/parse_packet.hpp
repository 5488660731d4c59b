// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// Tunnels inside each other that are looked into. A packet in more of them is metered by the
/// header at that depth.
inline constexpr int kMostTunnels = 8;

/// Parses one frame from its link-layer header to the transport ports of the packet that is
/// metered.
///
/// With TunnelMode::inner that is the packet inside the innermost tunnel; where that is no IP
/// packet, or not a whole one, or a fragment stands around it, the packet around it. VLAN ids, MPLS
/// labels and MAC addresses are the frame's first, wherever they stand.
///
/// @param packet  may hold anything; only `captured` bytes are read
/// @param fields  written when the status is `ok`; otherwise its content is unspecified
/// @return        `ok`, or why the frame is in no flow
/// @thread        any; pure
/// @cost          no allocation; loops are bounded by the captured bytes
[[nodiscard]] ParseStatus parse_packet(const PacketView& packet, const ParseOptions& options,
                                       PacketFields& fields) noexcept;

/// The same, without the short way that parse_packet() tries first, and without a NIC's hint.
[[nodiscard]] ParseStatus parse_header_by_header(const PacketView& packet,
                                                 const ParseOptions& options,
                                                 PacketFields& fields) noexcept;

}  // namespace tributary
