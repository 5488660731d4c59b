// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "parsers/packet_fields.hpp"

// Sequence numbers are modulo 2^32: only near ones have an order (RFC 9293 §3.4).
namespace tributary::tcp {

/// Numbers further apart are of two connections.
inline constexpr std::int32_t kFarthest = 1 << 30;

/// Octets of one direction, begin to end.
struct Range {
    std::uint32_t begin;
    std::uint32_t end;
};

/// How far `to` lies ahead of `from`; negative: behind.
[[nodiscard]] constexpr std::int32_t ahead(std::uint32_t from, std::uint32_t to) noexcept {
    return static_cast<std::int32_t>(to - from);
}
[[nodiscard]] constexpr std::uint32_t later(std::uint32_t a, std::uint32_t b) noexcept {
    return ahead(a, b) > 0 ? b : a;
}
[[nodiscard]] constexpr std::uint32_t earlier(std::uint32_t a, std::uint32_t b) noexcept {
    return ahead(a, b) > 0 ? a : b;
}

/// Whether a segment has one of these flags.
[[nodiscard]] inline bool has(const PacketFields& segment, std::uint16_t flags) noexcept {
    return (segment.tcp_control_bits & flags) != 0;
}

/// The segment's data. SYN takes one number before it.
[[nodiscard]] inline Range data_of(const PacketFields& segment) noexcept {
    const std::uint32_t begin = segment.tcp.sequence + (has(segment, tcp_flag::kSyn) ? 1 : 0);
    return {begin, begin + segment.tcp.payload_bytes};
}

/// Whether it probes an idle connection: it repeats the last octet, or has none at its place.
///
/// @param next  behind the highest octet seen
/// @source      RFC 9293 §3.8.4
[[nodiscard]] inline bool is_probe(const PacketFields& segment, std::uint32_t next) noexcept {
    constexpr std::uint16_t kNever =
        tcp_flag::kSyn | tcp_flag::kFin | tcp_flag::kRst | tcp_flag::kPsh;
    return segment.tcp.sequence + 1 == next && segment.tcp.payload_bytes <= 1 &&
           !has(segment, kNever);
}

}  // namespace tributary::tcp
