// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "parsers/packet.hpp"

namespace tributary {

/// The parser's hint for a NIC's packet type.
///
/// @param packet_type  rte_mbuf::packet_type; 0: unknown
/// @return             none, except for Ethernet with IP with TCP or UDP, without a tunnel
/// @cost               no loop
[[nodiscard]] PlainKind nic_hint_of(std::uint32_t packet_type) noexcept;

/// Whether a driver with these packet types can give any hint: all three layers of one are among
/// them.
///
/// @param packet_types  of rte_eth_dev_get_supported_ptypes()
/// @thread              any; pure
[[nodiscard]] bool are_hints_supported(std::span<const std::uint32_t> packet_types) noexcept;

}  // namespace tributary
