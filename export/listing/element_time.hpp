// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "export/ipfix/ipfix_template.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Whether values of the type are times.
[[nodiscard]] bool is_time(IpfixType type) noexcept;

/// @param type    of times
/// @param octets  of the value, a size that the type can have
/// @return  nothing: beyond 64 bits of nanoseconds
[[nodiscard]] std::optional<Timestamp> read_element_time(
    IpfixType type, std::span<const std::byte> octets) noexcept;

}  // namespace tributary
