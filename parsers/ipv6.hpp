// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "parsers/captured_bytes.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

namespace ipv6_extension {  // IANA "IPv6 Extension Header Types" with a length known to the walk
inline constexpr std::uint8_t kHopByHop = 0;
inline constexpr std::uint8_t kRouting = 43;
inline constexpr std::uint8_t kFragment = 44;
inline constexpr std::uint8_t kAuthentication = 51;
inline constexpr std::uint8_t kNoNextHeader = 59;  ///< no header: nothing follows (RFC 8200 §4.7)
inline constexpr std::uint8_t kDestination = 60;
inline constexpr std::uint8_t kMobility = 135;
inline constexpr std::uint8_t kHip = 139;
inline constexpr std::uint8_t kShim6 = 140;
}  // namespace ipv6_extension

inline constexpr std::size_t kIpv6HeaderBytes = 40;

[[nodiscard]] constexpr bool is_ipv6_extension(std::uint8_t protocol) noexcept {
    switch (protocol) {
        case ipv6_extension::kHopByHop:
        case ipv6_extension::kRouting:
        case ipv6_extension::kFragment:
        case ipv6_extension::kAuthentication:
        case ipv6_extension::kDestination:
        case ipv6_extension::kMobility:
        case ipv6_extension::kHip:
        case ipv6_extension::kShim6:
            return true;
        default:
            return false;
    }
}

/// Where the payload behind all extension headers lies.
struct Ipv6Payload {
    ParseStatus status{};
    std::size_t at{};
};

/// Steps over all extension headers of an IPv6 packet, up to the fragment header of a later
/// fragment.
///
/// @param packet  captured bytes, without those behind the packet's end
/// @param at      where the first extension header begins
/// @param fields  its protocol is the first extension header's, and becomes that of what follows
///                the last one; gets what a fragment header says
/// @return        where the payload lies behind all extension headers
/// @errors        truncated_ipv6_extension_header: one ends outside the captured bytes or outside
///                the packet (but one that is cut is only noted, and ends the walk)
/// @cost          one round per extension header, bounded by the captured bytes
/// @source        RFC 8200 §4; RFC 4302 §2.2 for the Authentication Header's length
[[nodiscard]] Ipv6Payload skip_ipv6_extensions(CapturedBytes packet, std::size_t at,
                                               PacketFields& fields) noexcept;

/// The payload's octets where the header says 0: the length in a hop-by-hop header's Jumbo option,
/// else all to the end of the frame; none if no header follows.
///
/// @param payload_at   behind the fixed header
/// @param next_header  what begins there
/// @param wire_bytes   the frame's length on the wire
/// @cost               one round per option of a hop-by-hop header, bounded by its length
/// @source             RFC 2675 §2, §3; RFC 8200 §4.7; for the end of the frame
/// bytes_to_frame_end()
[[nodiscard]] std::size_t payload_bytes_of_length_0(CapturedBytes frame, std::size_t payload_at,
                                                    std::uint8_t next_header,
                                                    std::size_t wire_bytes) noexcept;

/// Parses an IPv6 header with its extension headers.
///
/// @param at          where the header begins
/// @param wire_bytes  the frame's length on the wire, for payload_bytes_of_length_0()
/// @param fields      gets the headers' fields; cleared by the caller
/// @return            where the payload lies
/// @errors            truncated_ipv6_header, bad_ipv6_version, truncated_ipv6_extension_header
/// @source            RFC 8200 §3
[[nodiscard]] inline IpLayer parse_ipv6(CapturedBytes frame, std::size_t at, std::size_t wire_bytes,
                                        PacketFields& fields) noexcept {
    const auto header = frame.header<kIpv6HeaderBytes>(at);
    if (!header) {
        return {ParseStatus::truncated_ipv6_header};
    }
    const std::uint32_t version_class_label = header.u32<0>();
    if (version_class_label >> 28U != 6) {
        return {ParseStatus::bad_ipv6_version};
    }
    fields.ip_version = 6;
    fields.ip_class_of_service = static_cast<std::uint8_t>(version_class_label >> 20U);
    fields.flow_label = version_class_label & 0xf'ffffU;
    fields.protocol = header.u8<6>();
    fields.ttl = header.u8<7>();
    std::copy_n(header.bytes<8, 16>(), 16, fields.source.begin());
    std::copy_n(header.bytes<24, 16>(), 16, fields.destination.begin());

    const std::size_t payload_at = at + kIpv6HeaderBytes;
    std::size_t payload_bytes = header.u16<4>();
    if (payload_bytes == 0) [[unlikely]] {
        payload_bytes = payload_bytes_of_length_0(frame, payload_at, fields.protocol, wire_bytes);
    }
    // A jumbogram of the last 40 possible lengths does not fit; it counts as the longest that does.
    fields.ip_bytes = static_cast<std::uint32_t>(
        std::min<std::size_t>(kIpv6HeaderBytes + payload_bytes, UINT32_MAX));

    const std::size_t end = payload_at + payload_bytes;
    if (!is_ipv6_extension(fields.protocol)) {
        return {ParseStatus::ok, payload_at, end, at};
    }
    const Ipv6Payload payload = skip_ipv6_extensions(frame.before(end), payload_at, fields);
    return {payload.status, payload.at, end, at};
}

}  // namespace tributary
