// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "parsers/packet_fields.hpp"

namespace tributary {

/// An address as two integers of this machine's byte order: equal for equal addresses, and ordered
/// somehow.
struct AddressWords {
    std::uint64_t low;
    std::uint64_t high;
};

/// The mask of an address's leading bits.
///
/// @param bits  0 .. 128; of IPv4 0 .. 32
[[nodiscard]] inline AddressWords prefix_mask(unsigned bits) noexcept {
    constexpr unsigned kOctet = 8;
    IpAddress mask{};
    for (std::byte& octet : mask) {
        const unsigned of_octet = std::min(bits, kOctet);
        octet = static_cast<std::byte>(0xFF00U >> of_octet);
        bits -= of_octet;
    }
    return std::bit_cast<AddressWords>(mask);
}

/// Without the octets that IPv4 does not use. An input path need not clear them, and a sender of
/// unified headers may leave anything there.
///
/// @cost  no branch
[[nodiscard]] inline AddressWords words_of(const IpAddress& address,
                                           std::uint8_t ip_version) noexcept {
    AddressWords words;
    static_assert(sizeof words == sizeof address);
    std::memcpy(&words, address.data(), sizeof words);
    const bool is_ipv4 = ip_version == 4;
    words.low &= is_ipv4 ? 0xFFFF'FFFFU : ~std::uint64_t{0};
    words.high &= is_ipv4 ? 0 : ~std::uint64_t{0};
    return words;
}

}  // namespace tributary
