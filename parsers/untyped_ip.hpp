// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/captured_bytes.hpp"
#include "parsers/link_layer.hpp"

namespace tributary {

/// Finds the ethertype of a payload that no header names, as in MPLS and GTP-U: a first nibble of 4
/// or 6 is the version of an IP packet, unless it is the first of an Ethernet frame's destination
/// address.
///
/// It is Ethernet where an IP header would contradict itself and one of the usual EtherTypes stands
/// where an Ethernet frame has it. IPv4 contradicts itself by its header length, by a total length
/// shorter than that, by its checksum, and, where options run past the captured bytes, by a total
/// length beyond the frame; IPv6 by a payload length that is neither 0 nor the frame's. So an IP
/// packet that is overlong, or has length 0, or a wrong checksum, still is one as long as its
/// source address is not an EtherType with the beginning of its payload.
///
/// @param at          where the payload begins
/// @param wire_bytes  the frame's length on the wire; inside a tunnel up to the outer packet's end
/// @return            the ethertype of IPv4 or IPv6
/// @errors            truncated_link_header: nothing of it is captured; not_ip: no IP packet
/// @cost              one pass over an IPv4 header, and only where such an EtherType is
/// @source            RFC 4928 §2 (the first nibble), RFC 4448 §4.4 (Ethernet without a control
///                    word), RFC 1071 (checksum)
[[nodiscard]] LinkLayer parse_untyped_ip(CapturedBytes frame, std::size_t at,
                                         std::size_t wire_bytes) noexcept;

}  // namespace tributary
