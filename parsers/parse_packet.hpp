// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "parsers/captured_bytes.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/parse_status.hpp"
#include "parsers/plain_packet.hpp"
#include "parsers/transport.hpp"
#include "parsers/tunnel.hpp"

namespace tributary {

/// Nested tunnels that are parsed. A packet in more of them is metered by the header at that depth.
inline constexpr int kMostTunnels = 8;

/// The part of a frame that is parsed.
[[nodiscard]] inline std::span<const std::byte> part_to_parse(
    const PacketView& packet, const ParseOptions& options) noexcept {
    return packet.captured.first(std::min<std::size_t>(packet.captured.size(), options.most_bytes));
}
/// The same, with whether headers may be cut at its end.
[[nodiscard]] inline CapturedBytes bytes_to_parse(const PacketView& packet,
                                                  const ParseOptions& options) noexcept {
    const std::span<const std::byte> part = part_to_parse(packet, options);
    return CapturedBytes(part, options.keep_cut_headers && part.size() < packet.wire_bytes);
}

/// Parses any frame as parse_packet() does, without a test for plain packets first.
[[nodiscard]] ParseStatus parse_header_by_header(const PacketView& packet,
                                                 const ParseOptions& options,
                                                 PacketFields& fields) noexcept;

/// Parses a frame that is a plain packet: TCP or UDP over IP right behind Ethernet, no fragment,
/// without IPv4 options or IPv6 extension headers, captured up to its ports, of TCP up to the
/// control bits, and without a tunnel that is to be parsed.
///
/// @param fields  written where it is one; otherwise its content is unspecified
/// @return        false: it is not plain; parse_packet() parses it
/// @thread        any; pure
/// @cost          no call, no loop. It is inlined into loops over packets: with a call in between,
///                results go through memory.
[[nodiscard]] [[gnu::always_inline]] inline bool parse_plain(const PacketView& packet,
                                                             const ParseOptions& options,
                                                             PacketFields& fields) noexcept {
    fields = PacketFields{};
    if (packet.link_type != LinkType::ethernet) {
        return false;
    }
    const CapturedBytes frame(part_to_parse(packet, options));  // whole headers: none is cut here
    const auto go_on = [&](auto kind, const IpLayer& ip) __attribute__((always_inline)) {
        constexpr bool kIsTcp = kind == PlainKind::ipv4_tcp || kind == PlainKind::ipv6_tcp;
        if (kIsTcp && options.tcp_segments) {
            read_tcp_segment(frame, ip, kind == PlainKind::ipv4_tcp, fields);
        }
        return kIsTcp || options.tunnel == TunnelMode::outer || !has_tunnel_port(fields);
    };
    return parse_if_plain(frame, fields, go_on);
}

/// Parses one frame from its link-layer header to the transport ports of the packet that is
/// metered.
///
/// With TunnelMode::inner that is the packet inside the innermost tunnel. Where that is no IP
/// packet, or not a whole one, or lies in a fragment, it is the packet around it. VLAN ids and MPLS
/// labels are the frame's first, wherever they stand; MAC addresses follow MacMode.
///
/// @param packet  may hold anything; only `captured` bytes are read
/// @param fields  written when the status is `ok`; otherwise its content is unspecified
/// @return        `ok`, or why the frame is in no flow
/// @thread        any; pure
/// @cost          no allocation; loops are bounded by the captured bytes
[[nodiscard]] ParseStatus parse_packet(const PacketView& packet, const ParseOptions& options,
                                       PacketFields& fields) noexcept;

}  // namespace tributary
