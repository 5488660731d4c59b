// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "export/listing/flow_condition.hpp"

namespace tributary {

// Parsers for the values behind the words of a filter. Each returns nothing for any other text.

/// @param text  an IPv4 or IPv6 address
[[nodiscard]] std::optional<NetCondition> parse_host(std::string_view text);
/// @param text  ADDRESS/BITS, or one to four numbers of an IPv4 address, each 8 bits of the prefix
[[nodiscard]] std::optional<NetCondition> parse_net(std::string_view text);
/// Gives a net of an IPv4 address the prefix of a mask such as 255.255.0.0.
[[nodiscard]] std::optional<NetCondition> with_mask(const NetCondition& net, std::string_view mask);

/// @param text  a number, a range such as 8000-8099, or a name of the system's table of services
[[nodiscard]] std::optional<PortCondition> parse_ports(std::string_view text);
/// @param text  a number or a name
/// @return      the ports with this comparison; nothing also when there are none
[[nodiscard]] std::optional<PortCondition> parse_ports(Comparison comparison,
                                                       std::string_view text);

/// What parse_quantity() reads, for messages.
inline constexpr std::string_view kCountForm =
    "a number such as 1500, 64k, 10MB or 1MiB (units: k, M, G, T, Ki, Mi, Gi, Ti, with or without "
    "B)";
inline constexpr std::string_view kTimeForm =
    "a time such as 30s, 250ms or 1h30m (units: ns, us, ms, s, m, h, d, w)";

/// @param text  a whole number, with k, M, G or T for powers of 1000 or Ki, Mi, Gi or Ti for those
///              of 1024, with or without B; or nanoseconds as a number of ns, us, ms, s, m (min),
///              h, d or w, seconds where there is no unit, or several of these: 1h30m
[[nodiscard]] std::optional<std::uint64_t> parse_quantity(std::string_view text, MeasureUnit unit);

/// @param text  = == != < <= > >=
[[nodiscard]] std::optional<Comparison> parse_comparison(std::string_view text) noexcept;

}  // namespace tributary
