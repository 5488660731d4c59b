// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"
#include "parsers/ip_layer.hpp"
#include "parsers/ipv6.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// Where the headers of the metered packet lie. Offsets count from the frame's first byte. The
/// parser does not keep them, because few configurations need them.
struct HeaderPlaces {
    static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t network = kAbsent;    ///< its IP header
    std::uint32_t transport = kAbsent;  ///< behind IP's options and extension headers; absent in
                                        ///< later fragments
    std::uint32_t payload = kAbsent;    ///< behind the header of TCP, UDP, UDP-Lite, SCTP, DCCP,
                                        ///< ICMP or ICMPv6; absent with another protocol
    std::uint32_t end{};  ///< of the IP packet, or of the captured bytes, whichever comes first

    friend bool operator==(const HeaderPlaces&, const HeaderPlaces&) = default;
};

/// Octets of the transport header at `at`; 0: it is not known, or its data offset contradicts it.
///
/// @source  RFC 9293 §3.1, RFC 768, RFC 3828 §3.1, RFC 9260 §3.1 (the common header),
///          RFC 4340 §5.1, RFC 792, RFC 4443 §2.1 (with the four octets of each message)
[[nodiscard]] inline std::size_t transport_header_bytes(CapturedBytes packet, std::size_t at,
                                                        std::uint8_t protocol) noexcept {
    constexpr std::size_t kTcp = 20;
    constexpr std::size_t kUdp = 8;
    constexpr std::size_t kSctp = 12;
    constexpr std::size_t kDccp = 12;
    constexpr std::size_t kIcmp = 8;
    constexpr std::size_t kWord = 4;
    const auto at_least = [](std::size_t least, std::size_t bytes) {
        return bytes >= least ? bytes : 0;
    };
    switch (protocol) {
        case ip_protocol::kTcp: {
            const auto header = packet.header<kTcp>(at);
            return header ? at_least(kTcp, (header.u8<12>() >> 4U) * kWord) : 0;
        }
        case ip_protocol::kUdp:
        case ip_protocol::kUdpLite:
            return kUdp;
        case ip_protocol::kSctp:
            return kSctp;
        case ip_protocol::kDccp: {
            const auto header = packet.header<kDccp>(at);
            return header ? at_least(kDccp, header.u8<4>() * kWord) : 0;
        }
        case ip_protocol::kIcmp:
        case ip_protocol::kIcmpV6:
            return kIcmp;
        default:
            return 0;
    }
}

/// Up to which header places are wanted.
enum class LastHeader : std::uint8_t { transport, payload };

/// The places of a packet whose IP header was found.
///
/// @param fields  of the packet
/// @param ip      where it lies
[[nodiscard]] inline HeaderPlaces header_places(const PacketView& packet,
                                                const PacketFields& fields, const IpLayer& ip,
                                                LastHeader last) noexcept {
    const auto place = [](std::size_t at) { return static_cast<std::uint32_t>(at); };
    HeaderPlaces places{.network = place(ip.begins_at),
                        .end = place(std::min(ip.end, packet.captured.size()))};
    // A walk that was cut ends in front of an extension header.
    const bool ends_early = fields.ip_version == 6 && is_ipv6_extension(fields.protocol);
    if (fields.is_later_fragment || ends_early) {
        return places;
    }
    places.transport = place(ip.payload_at);
    if (last == LastHeader::transport) {
        return places;
    }
    const CapturedBytes bytes = CapturedBytes(packet.captured).before(ip.end);
    const std::size_t header = transport_header_bytes(bytes, ip.payload_at, fields.protocol);
    if (header != 0) {
        places.payload = place(ip.payload_at + header);
    }
    return places;
}

/// locate_headers() up to the transport header, of what most packets are: IPv4 right behind an
/// Ethernet header without tags, in no tunnel. Few instructions, without a branch on what differs
/// between such packets.
///
/// @return  false: the packet is another one
[[nodiscard]] inline bool locate_transport_of_plain_ipv4(const PacketView& packet,
                                                         const PacketFields& fields,
                                                         HeaderPlaces& places) noexcept {
    constexpr std::uint32_t kIpAt = 14;
    constexpr std::size_t kLeastIpv4Bytes = 20;
    constexpr std::uint32_t kIpv4Begins = ethertype::kIpv4 << 4U | 4U;  // with the version
    constexpr unsigned kBelowVersion = 12;  // bits of the four octets from the type on
    const auto frame = CapturedBytes(packet.captured).header<kIpAt + kLeastIpv4Bytes>(0);
    if (!frame || packet.link_type != LinkType::ethernet ||
        fields.tunnel.kind != TunnelKind::none || fields.ip_version != 4 ||
        frame.u32<kIpAt - 2>() >> kBelowVersion != kIpv4Begins) {
        return false;
    }
    const std::uint32_t header = (frame.u8<kIpAt>() & 0x0fU) * 4U;
    const auto captured = static_cast<std::uint32_t>(packet.captured.size());
    places.network = kIpAt;
    places.transport = fields.is_later_fragment ? HeaderPlaces::kAbsent : kIpAt + header;
    places.payload = HeaderPlaces::kAbsent;
    places.end = std::min(kIpAt + fields.ip_bytes, captured);
    return true;
}

/// locate_headers() of any frame, which is parsed again.
[[nodiscard]] HeaderPlaces walk_to_headers(const PacketView& packet, const PacketFields& fields,
                                           const ParseOptions& options,
                                           LastHeader last = LastHeader::payload) noexcept;

/// Finds an IP packet right behind Ethernet and VLAN tags, without IPv6 extension headers.
///
/// @param fields  of that packet, if it is metered
/// @return        false: there is none; walk_to_headers() finds it
[[nodiscard]] inline bool find_plain_ip(const PacketView& packet, const PacketFields& fields,
                                        IpLayer& ip) noexcept {
    constexpr std::size_t kTypeAt = 12;
    constexpr std::size_t kLeastFrame = 34;  // with an IPv4 header
    const CapturedBytes frame(packet.captured);
    const auto untagged = frame.header<kLeastFrame>(0);
    if (untagged && untagged.u16<kTypeAt>() == ethertype::kIpv4 && fields.ip_version == 4)
        [[likely]] {
        constexpr std::size_t kIpAt = kTypeAt + 2;
        ip = {ParseStatus::ok, kIpAt + (untagged.u8<kIpAt>() & 0x0fU) * std::size_t{4},
              kIpAt + fields.ip_bytes, kIpAt};
        return untagged.u8<kIpAt>() >> 4U == 4;
    }
    const std::optional<std::size_t> type_at = type_behind_tags(frame);
    if (!type_at) {
        return false;
    }
    const auto type = frame.header<2>(*type_at);
    const std::size_t at = *type_at + 2;
    if (type.u16<0>() == ethertype::kIpv4) {
        const auto header = frame.header<1>(at);
        ip = {ParseStatus::ok, at + (header ? (header.u8<0>() & 0x0fU) * std::size_t{4} : 0),
              at + fields.ip_bytes, at};
        return header && header.u8<0>() >> 4U == 4 && fields.ip_version == 4;
    }
    constexpr std::size_t kNextHeaderAt = 6;
    const auto next = frame.header<1>(at + kNextHeaderAt);
    ip = {ParseStatus::ok, at + kIpv6HeaderBytes, at + fields.ip_bytes, at};
    return next && type.u16<0>() == ethertype::kIpv6 && fields.ip_version == 6 &&
           !is_ipv6_extension(next.u8<0>());
}

/// Finds the headers of a packet that was parsed.
///
/// @param packet   may hold anything; only `captured` bytes are read
/// @param fields   what parse_packet() returned of this packet, with `ok`
/// @param options  with which it was parsed
/// @param last     with `transport` the payload's place stays absent
/// @return         all absent: the frame was parsed again, and does not hold the packet of these
///                 fields
/// @thread         any; pure
/// @cost           some instructions where IP is right behind Ethernet and its tags and in no
///                 tunnel; otherwise the frame is parsed once more
[[nodiscard]] inline HeaderPlaces locate_headers(const PacketView& packet,
                                                 const PacketFields& fields,
                                                 const ParseOptions& options,
                                                 LastHeader last = LastHeader::payload) noexcept {
    IpLayer ip;
    if (packet.link_type == LinkType::ethernet && fields.tunnel.kind == TunnelKind::none &&
        find_plain_ip(packet, fields, ip)) {
        return header_places(packet, fields, ip, last);
    }
    return walk_to_headers(packet, fields, options, last);
}

}  // namespace tributary
