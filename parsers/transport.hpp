// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parsers/captured_bytes.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Reads ports, ICMP type and code, and TCP control bits, as far as they are there. Fields behind
/// the end of a short header stay 0, and so do the ports of a protocol without ports.
///
/// @param packet  captured bytes up to the end of the IP packet
/// @param at      where the transport header begins
/// @param fields  holds the protocol; ports and control bits cleared by the caller. cut_header is
///                set where the bytes are cut inside what is read here.
/// @source        RFC 9293 §3.1, RFC 768, RFC 3828 §3.1, RFC 9260 §3.1, RFC 4340 §5.1
///                RFC 792, RFC 4443 §2.1
inline void parse_transport(CapturedBytes packet, std::size_t at, PacketFields& fields) noexcept {
    const auto note_cut = [&packet, &fields] {
        if (packet.cut() && fields.cut_header == CutHeader::none) {
            fields.cut_header = CutHeader::transport_header;
        }
    };
    switch (fields.protocol) {
        case ip_protocol::kTcp:
            if (const auto header = packet.header<14>(at)) {
                fields.tcp_control_bits = header.u16<12>() & 0x0fffU;
            } else {
                note_cut();
            }
            [[fallthrough]];
        case ip_protocol::kUdp:
        case ip_protocol::kUdpLite:
        case ip_protocol::kSctp:
        case ip_protocol::kDccp:
            if (const auto ports = packet.header<4>(at)) {
                fields.source_port = {ports.u16<0>()};
                fields.destination_port = {ports.u16<2>()};
            } else {
                note_cut();
            }
            return;
        case ip_protocol::kIcmp:
        case ip_protocol::kIcmpV6:
            if (const auto type_and_code = packet.header<2>(at)) {
                fields.destination_port = {type_and_code.u16<0>()};
            } else {
                note_cut();
            }
            return;
        default:
            return;
    }
}

/// Reads the fields of a segment for the analysis of TCP. The header, without options, is there.
/// Inlined, because for plain packets much of it is constant.
///
/// @param frame    the offsets in `ip` count from its beginning
/// @param ip       of the TCP packet in `fields`
/// @param is_ipv4  whether that is IPv4
/// @param fields   the other fields are set
/// @source         RFC 9293 §3.1
[[gnu::always_inline]] inline void read_tcp_segment(CapturedBytes frame, const IpLayer& ip,
                                                    bool is_ipv4, PacketFields& fields) noexcept {
    constexpr std::size_t kLeastHeader = 20;
    const auto header = frame.header<kLeastHeader>(ip.payload_at);
    if (!header || ip.payload_at + kLeastHeader > ip.end) {
        return;
    }
    const std::size_t bytes = ip.end - ip.payload_at;
    const std::uint32_t header_bytes = header.u8<12>() >> 2U & 0x3cU;  // of the octet's upper half
    const bool is_sound = header_bytes >= kLeastHeader && header_bytes <= bytes;
    fields.has_tcp_segment = bytes <= TcpSegment::kMostPayload;
    fields.tcp = {
        .sequence = header.u32<4>(),
        .acknowledgement = header.u32<8>(),
        .payload_bytes = static_cast<std::uint32_t>(is_sound ? bytes - header_bytes : 0),
        .window = header.u16<14>(),
        .copy_id = is_ipv4 ? static_cast<std::uint16_t>(fields.fragment_id) : header.u16<16>()};
}
/// The same for a packet of any protocol.
inline void parse_tcp_segment(CapturedBytes frame, const IpLayer& ip,
                              PacketFields& fields) noexcept {
    if (fields.protocol == ip_protocol::kTcp && !fields.is_later_fragment) {
        read_tcp_segment(frame, ip, fields.ip_version == 4, fields);
    }
}

}  // namespace tributary
