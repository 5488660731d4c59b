// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "parsers/captured_bytes.hpp"
#include "parsers/hinted_packet.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/parse_status.hpp"
#include "parsers/transport.hpp"

namespace tributary {

/// Tunnels inside each other that are looked into. A packet in more of them is metered by the
/// header at that depth.
inline constexpr int kMostTunnels = 8;

/// The part of a frame that is parsed.
[[nodiscard]] inline std::span<const std::byte> part_to_parse(
    const PacketView& packet, const ParseOptions& options) noexcept {
    return packet.captured.first(std::min(packet.captured.size(), options.most_bytes));
}
/// The same, with whether headers may be cut at its end.
[[nodiscard]] inline CapturedBytes bytes_to_parse(const PacketView& packet,
                                                  const ParseOptions& options) noexcept {
    const std::span<const std::byte> part = part_to_parse(packet, options);
    return CapturedBytes(part, options.keep_cut_headers && part.size() < packet.wire_bytes);
}

/// Parses any frame as parse_packet() says, without the short way that it tries first, and without
/// a NIC's hint.
[[nodiscard]] ParseStatus parse_header_by_header(const PacketView& packet,
                                                 const ParseOptions& options,
                                                 PacketFields& fields) noexcept;

/// Goes on to the packet inside the tunnels of a packet, as far as one is there and whole; the last
/// good one counts.
///
/// @param ip          of the packet that `fields` tells about
/// @param wire_bytes  the frame's length on the wire
void parse_tunnelled(CapturedBytes frame, IpLayer ip, const ParseOptions& options,
                     std::size_t wire_bytes, PacketFields& fields) noexcept;

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
/// @cost          no allocation; loops are bounded by the captured bytes. The short way is inlined:
///                its caller knows what a plain packet's fields cannot be.
[[nodiscard]] [[gnu::always_inline]] inline ParseStatus parse_packet(
    const PacketView& packet, const ParseOptions& options, PacketFields& fields) noexcept {
    fields = PacketFields{};
    const CapturedBytes frame(part_to_parse(packet, options));  // the short way wants whole headers
    NicHint hint = packet.nic_hint;
    if (hint == NicHint::none && packet.link_type == LinkType::ethernet) {
        hint = likely_hint(frame);
    }
    const IpLayer ip = parse_hinted(hint, frame, fields);
    if (ip.status != ParseStatus::ok) [[unlikely]] {
        return parse_header_by_header(packet, options, fields);
    }
    if (options.tcp_segments) {
        parse_tcp_segment(frame, ip, fields);
    }
    if (options.tunnel == TunnelMode::inner && fields.protocol == ip_protocol::kUdp) {
        parse_tunnelled(bytes_to_parse(packet, options), ip, options, packet.wire_bytes, fields);
    }
    return ParseStatus::ok;
}

}  // namespace tributary
