// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "flowcache/record/flow_hasher.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// What copies of one segment have in common, and other segments have not: sequence and
/// acknowledgement numbers, control bits, window, IP length, TTL, and IPv4's identification or
/// TCP's checksum. 32 bits of a hash, never 0: one in 2^32 comparisons takes another segment for a
/// copy. The hash has no key: a sender of two segments that are made alike spoils the counts of its
/// own flow only.
///
/// @param segment  with `has_tcp_segment`
/// @source         gpu-tcp-flow-records (2015), 2.3, whose rule has addresses, ports, sequence
///                 number and identification only
[[nodiscard, gnu::always_inline]] inline std::uint32_t signature_of(
    const PacketFields& segment) noexcept {
    const std::uint64_t header =
        segment.tcp.window_and_copy_id() | std::uint64_t{segment.control_bits_and_ttl()} << 32U;
    const std::uint64_t length = segment.ip_bytes * 0xA076'1D64'78BD'642FU;
    const auto signature = static_cast<std::uint32_t>(folded_product(
        segment.tcp.numbers() ^ 0x9E37'79B9'7F4A'7C15U, header ^ length ^ 0xD6E8'FEB8'6659'FD93U));
    return signature + (signature == 0 ? 1 : 0);
}

namespace tcp {

/// Of the last segment first; 0: none.
using RecentSignatures = std::array<std::uint32_t, 3>;

[[nodiscard, gnu::always_inline]] inline bool is_among(const RecentSignatures& recent,
                                                       std::uint32_t signature) noexcept {
    // No branches, which would hardly ever be taken.
    return (unsigned{recent[0] == signature} | unsigned{recent[1] == signature} |
            unsigned{recent[2] == signature}) != 0;
}
/// @return  the oldest one, which is dropped for it
[[gnu::always_inline]] inline std::uint32_t remember(RecentSignatures& recent,
                                                     std::uint32_t signature) noexcept {
    const std::uint32_t oldest = recent[2];
    recent = {signature, recent[0], recent[1]};
    return oldest;
}
/// Whether a segment that follows on those before it is none of them again. With data it cannot be:
/// the first one would have moved what it follows on.
[[nodiscard, gnu::always_inline]] inline bool is_new(const PacketFields& segment,
                                                     std::uint32_t signature,
                                                     const RecentSignatures& recent) noexcept {
    return segment.tcp.payload_bytes > 0 || !is_among(recent, signature);
}

}  // namespace tcp

}  // namespace tributary
