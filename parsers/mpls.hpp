// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/captured_bytes.hpp"
#include "parsers/link_layer.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Steps over an MPLS label stack. It does not name its payload: a first nibble of 4 or 6 is taken
/// for IP, as routers do, unless that contradicts itself (parse_untyped_ip()).
///
/// @param at           where the first label stack entry begins
/// @param wire_bytes   the frame's length on the wire
/// @param pseudowires  any other payload may be an Ethernet frame, with or without a control word;
///                     it is one if its ethertype leads to IP
/// @param fields       gets the first label stack of the frame, and a pseudo-wire's MAC addresses
/// @errors             truncated_mpls_label, mpls_non_ip; truncated_link_header of a pseudo-wire
/// @cost               one round per label, bounded by the captured bytes
/// @source             RFC 3032 §2.1, RFC 4928 §2 (the first nibble), RFC 4385 §3 (control word),
///                     RFC 4448 §4.6
[[nodiscard]] LinkLayer parse_mpls(CapturedBytes frame, std::size_t at, std::size_t wire_bytes,
                                   bool pseudowires, PacketFields& fields) noexcept;

}  // namespace tributary
