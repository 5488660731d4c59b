// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace tributary {

/// Groups of fields that a record carries beside the default ones (`export.fields`). What is not
/// chosen costs nothing per packet and no memory.
struct FieldGroups {
    bool extremes{};    ///< minimum/maximumTTL, minimum/maximumIpTotalLength
    bool layer2{};      ///< MAC addresses, layer2OctetDeltaCount, dot1qVlanId, dot1qCustomerVlanId
    bool tcp_counts{};  ///< tcpSynTotalCount .. tcpUrgTotalCount (IE 218-223)
    friend bool operator==(const FieldGroups&, const FieldGroups&) = default;
};

struct FlowCacheOptions {
    std::uint32_t max_flows = 1'048'576;    ///< per queue, IPv4 and IPv6 together; 1 .. 2^30
    std::chrono::seconds idle_timeout{30};  ///< 1 .. 2^31 s
    std::chrono::seconds active_timeout{
        300};                 ///< 1 .. 2^31 s; no relation to idle_timeout is demanded
    bool vlan_in_key = true;  ///< the outer VLAN id parts flows
    bool tcp_end = false;     ///< a TCP packet with FIN or RST ends its record
};

}  // namespace tributary
