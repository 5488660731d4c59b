// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"
#include "parsers/link_layer.hpp"

namespace tributary {

/// Parses the protocol field of a PPP packet, one or two octets.
///
/// @param at  where it begins, behind address and control octets if there are any
/// @errors    truncated_ppp_header; ppp_non_ip: neither IPv4, IPv6 nor MPLS
/// @source    RFC 1661 §2, §6.5 (compressed to one octet), IANA "PPP DLL Protocol Numbers"
[[nodiscard]] inline LinkLayer parse_ppp(CapturedBytes frame, std::size_t at) noexcept {
    const auto header = frame.header<2>(at);
    if (!header) {
        return {ParseStatus::truncated_ppp_header};
    }
    const bool compressed = (header.u8<0>() & 1U) != 0;
    const std::uint16_t protocol = compressed ? header.u8<0>() : header.u16<0>();
    const std::size_t payload_at = at + (compressed ? 1 : 2);
    switch (protocol) {
        case 0x0021:
            return {ParseStatus::ok, ethertype::kIpv4, payload_at};
        case 0x0057:
            return {ParseStatus::ok, ethertype::kIpv6, payload_at};
        case 0x0281:
            return {ParseStatus::ok, ethertype::kMplsUnicast, payload_at};
        case 0x0283:
            return {ParseStatus::ok, ethertype::kMplsMulticast, payload_at};
        default:
            return {ParseStatus::ppp_non_ip};
    }
}

/// Parses a PPPoE session header and the PPP header behind it.
///
/// @errors  truncated_ppp_header, ppp_non_ip
/// @source  RFC 2516 §4
[[nodiscard]] inline LinkLayer parse_pppoe(CapturedBytes frame, std::size_t at) noexcept {
    constexpr std::size_t kHeader = 6;
    if (!frame.hold(at, kHeader)) {
        return {ParseStatus::truncated_ppp_header};
    }
    return parse_ppp(frame, at + kHeader);
}

}  // namespace tributary
