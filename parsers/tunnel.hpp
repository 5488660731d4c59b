// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "parsers/captured_bytes.hpp"
#include "parsers/link_layer.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// The content of a tunnel's own headers.
struct Tunnel {
    TunnelKind kind{};  ///< none: the packet is in no tunnel
    std::uint32_t id{};
    LinkLayer payload;  ///< what the tunnel carries; its status names missing headers
};

namespace tunnel_port {  // registered for UDP
inline constexpr L4Port kGtpU{2152};
inline constexpr L4Port kVxlan{4789};
inline constexpr L4Port kGeneve{6081};
}  // namespace tunnel_port

/// Whether a UDP packet has a port of a supported tunnel; without such a port it is in none.
[[nodiscard]] inline bool has_tunnel_port(const PacketFields& fields) noexcept {
    return fields.destination_port == tunnel_port::kVxlan ||
           fields.destination_port == tunnel_port::kGeneve ||
           fields.destination_port == tunnel_port::kGtpU ||
           fields.source_port == tunnel_port::kGtpU;
}

/// Looks for a tunnel in a packet that is no fragment: IP in IP, GRE and ERSPAN (types I and II),
/// VXLAN, GENEVE, GTP-U. UDP tunnels are recognised by their registered ports.
///
/// @param packet      captured bytes up to the end of the IP packet
/// @param at          where its payload begins
/// @param wire_bytes  the frame's length on the wire, up to the end of the IP packet
/// @param fields      of the outer packet; an Ethernet frame inside leaves its MAC addresses here
/// @errors            in the payload's status: truncated_link_header; not_ip for a GTP-U packet
///                    without an IP packet in it
/// @cost              one round per GTP-U extension header, bounded by the captured bytes
/// @source            RFC 2003, RFC 2473; RFC 2784 and RFC 2890, draft-foschiano-erspan-03 §4;
///                    RFC 7348 §5; RFC 8926 §3; 3GPP TS 29.281 §5
[[nodiscard]] Tunnel find_tunnel(CapturedBytes packet, std::size_t at, std::size_t wire_bytes,
                                 PacketFields& fields) noexcept;

}  // namespace tributary
