// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parsers/packet_fields.hpp"

namespace tributary {

/// @param address  4 or 16 octets, network byte order
/// @return  dotted quad, or RFC 5952's form for IPv6
[[nodiscard]] std::string address_text(std::span<const std::byte> address);

/// @return  "TCP", "UDP", ..., or the number
/// @source  IANA Assigned Internet Protocol Numbers
[[nodiscard]] std::string protocol_text(std::uint8_t protocol);

/// @param text  a name in upper or lower case, or a number
/// @return      nothing when it is neither
[[nodiscard]] std::optional<std::uint8_t> parse_protocol(std::string_view text);

/// @return  "VXLAN", "GTP-U", ..., or "tunnel type" and the number of an unknown one
[[nodiscard]] std::string tunnel_kind_text(TunnelKind kind);

/// @param text  a result of tunnel_kind_text(), in upper or lower case
/// @return      nothing when it is no kind of tunnel
[[nodiscard]] std::optional<TunnelKind> parse_tunnel_kind(std::string_view text);

/// @param text  decimal digits only
/// @return      nothing when it is no number, or above `maximum`
[[nodiscard]] std::optional<std::uint32_t> parse_number(std::string_view text,
                                                        std::uint32_t maximum);

}  // namespace tributary
