// SPDX-License-Identifier: Apache-2.0
#include "parsers/parse_status.hpp"

namespace tributary {

std::string_view name_of(ParseStatus status) noexcept {
    switch (status) {
        case ParseStatus::ok:
            return "ok";
        case ParseStatus::unknown_link_type:
            return "unknown_link_type";
        case ParseStatus::not_ip:
            return "not_ip";
        case ParseStatus::arp:
            return "arp";
        case ParseStatus::llc:
            return "llc";
        case ParseStatus::mpls_non_ip:
            return "mpls_non_ip";
        case ParseStatus::pppoe_discovery:
            return "pppoe_discovery";
        case ParseStatus::ppp_non_ip:
            return "ppp_non_ip";
        case ParseStatus::other_ethertype:
            return "other_ethertype";
        case ParseStatus::truncated_link_header:
            return "truncated_link_header";
        case ParseStatus::truncated_vlan_tag:
            return "truncated_vlan_tag";
        case ParseStatus::truncated_mpls_label:
            return "truncated_mpls_label";
        case ParseStatus::truncated_ppp_header:
            return "truncated_ppp_header";
        case ParseStatus::truncated_ipv4_header:
            return "truncated_ipv4_header";
        case ParseStatus::bad_ipv4_version:
            return "bad_ipv4_version";
        case ParseStatus::bad_ipv4_header_length:
            return "bad_ipv4_header_length";
        case ParseStatus::bad_ipv4_total_length:
            return "bad_ipv4_total_length";
        case ParseStatus::truncated_ipv6_header:
            return "truncated_ipv6_header";
        case ParseStatus::bad_ipv6_version:
            return "bad_ipv6_version";
        case ParseStatus::truncated_ipv6_extension_header:
            return "truncated_ipv6_extension_header";
        case ParseStatus::not_sampled:
            return "not_sampled";
        case ParseStatus::not_unified_header:
            return "not_unified_header";
        case ParseStatus::bad_unified_header_version:
            return "bad_unified_header_version";
        case ParseStatus::bad_unified_header_length:
            return "bad_unified_header_length";
        case ParseStatus::unknown_parse_status:
            return "unknown_parse_status";
        case ParseStatus::count:
            break;
    }
    return "unknown";
}

}  // namespace tributary
