// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "parsers/packet_fields.hpp"

namespace tributary {

namespace tcp_signature {

/// The two halves of a product, one on the other: each bit of it depends on all of both.
[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace tcp_signature

/// What copies of one segment have in common, and other segments have not: sequence and
/// acknowledgement numbers, control bits, window, IP length, TTL, and IPv4's identification or
/// TCP's checksum. 32 bits of a hash, never 0: one in 2^32 other segments is taken for a copy. The
/// hash has no key: whoever makes two segments alike spoils the counts of a flow of his own.
///
/// @param segment  with `has_tcp_segment`
/// @source         gpu-tcp-flow-records (2015), 2.3, whose rule has addresses, ports, sequence
///                 number and identification only
[[nodiscard, gnu::always_inline]] inline std::uint32_t signature_of(
    const PacketFields& segment) noexcept {
    const TcpSegment& tcp = segment.tcp;
    const std::uint64_t numbers = tcp.sequence | std::uint64_t{tcp.acknowledgement} << 32U;
    const std::uint64_t header = tcp.window | std::uint64_t{tcp.copy_id} << 16U |
                                 std::uint64_t{segment.ttl} << 32U |
                                 std::uint64_t{segment.tcp_control_bits} << 48U;
    const std::uint64_t length = segment.ip_bytes * 0xA076'1D64'78BD'642FU;
    const std::uint64_t folded = tcp_signature::fold(numbers ^ 0x9E37'79B9'7F4A'7C15U,
                                                     header ^ length ^ 0xD6E8'FEB8'6659'FD93U);
    const auto signature = static_cast<std::uint32_t>(folded ^ (folded >> 32U));
    return signature + (signature == 0 ? 1 : 0);
}

}  // namespace tributary
