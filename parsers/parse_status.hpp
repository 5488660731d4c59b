// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary {

/// The outcome of a frame. Every value but `ok` is a reason in the ledger's `ignored_by_reason`, by
/// this name. The numbers are on the wire of unified headers: new ones come at the end.
enum class ParseStatus : std::uint8_t {
    ok,
    // Frames without an IP packet, or without one that the configuration lets the parser find.
    unknown_link_type,  ///< the parser does not support the capture's link type
    not_ip,             ///< a link type without ethertypes, and no IP packet behind it
    arp,
    llc,              ///< an 802.3 length field: LLC, and no IP behind a SNAP header
    mpls_non_ip,      ///< behind the label stack there is no IP packet
    pppoe_discovery,  ///< not the session
    ppp_non_ip,       ///< a PPP protocol such as LCP
    other_ethertype,
    // Frames that should carry an IP packet whose headers are not usable.
    truncated_link_header,
    truncated_vlan_tag,
    truncated_mpls_label,
    truncated_ppp_header,  ///< PPPoE or PPP
    truncated_ipv4_header,
    bad_ipv4_version,
    bad_ipv4_header_length,  ///< IHL < 5 words
    bad_ipv4_total_length,   ///< smaller than the header
    truncated_ipv6_header,
    bad_ipv6_version,
    truncated_ipv6_extension_header,  ///< ends outside the captured bytes or outside the packet
    // Frames that the configuration leaves out.
    not_sampled,  ///< `sampling` did not take it
    // Frames on the unified-header path.
    not_unified_header,          ///< another ethertype, or too short for the header
    bad_unified_header_version,  ///< this reader does not support the version
    bad_unified_header_length,   ///< records that end behind the frame, or of another size
    unknown_parse_status,        ///< this reader does not support the sender's status
    count,
};
inline constexpr std::size_t kParseStatusCount = static_cast<std::size_t>(ParseStatus::count);

/// The name under which the ledger counts a status, for instance "bad_ipv4_header_length".
[[nodiscard]] std::string_view name_of(ParseStatus status) noexcept;

}  // namespace tributary
