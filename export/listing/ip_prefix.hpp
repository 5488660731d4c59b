// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "parsers/packet_fields.hpp"

namespace tributary {

/// The address with the bits behind its prefix cleared.
///
/// @param bits  0 to 128; of an IPv4 address, to 32
[[nodiscard]] inline IpAddress prefix_of(const IpAddress& address, std::size_t bits) noexcept {
    IpAddress prefix{};
    std::copy_n(address.begin(), bits / 8, prefix.begin());
    if (bits % 8 != 0) {
        const auto mask = static_cast<std::byte>(0xFFU << (8 - bits % 8));
        prefix[bits / 8] = address[bits / 8] & mask;
    }
    return prefix;
}

}  // namespace tributary
