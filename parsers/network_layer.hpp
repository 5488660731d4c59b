// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/captured_bytes.hpp"
#include "parsers/link_layer.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// Parses the header with which a frame of this type begins.
///
/// @param fields  gets the header's fields; cleared by the caller
/// @return        what follows it, with its ethertype
/// @errors        unknown_link_type, not_ip, truncated_link_header, truncated_ppp_header,
///                ppp_non_ip
/// @source        tcpdump.org/linktypes.html
[[nodiscard]] LinkLayer parse_link_layer(LinkType type, CapturedBytes frame,
                                         PacketFields& fields) noexcept;

/// Steps over VLAN tags, MPLS label stacks, PPPoE and, with the option, SNAP headers, in any order
/// and depth, until an IP header comes.
///
/// @param link        what comes first
/// @param wire_bytes  the frame's length on the wire; inside a tunnel up to the outer packet's end
/// @return            status `ok` with ethertype IPv4 or IPv6, or why the frame is in no flow
/// @cost              one round per header, bounded by the captured bytes
[[nodiscard]] LinkLayer find_network_layer(CapturedBytes frame, LinkLayer link,
                                           std::size_t wire_bytes, const ParseOptions& options,
                                           PacketFields& fields) noexcept;

}  // namespace tributary
