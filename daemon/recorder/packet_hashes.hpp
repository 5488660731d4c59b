// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "flowcache/record/address_words.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/flow_key.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// A keyed hash of a packet's addresses, ports and protocol, which the other direction has as well
/// where a biflow would have both.
///
/// @return  1 .. 2^32-1
/// @cost    some 30 instructions for IPv4
[[nodiscard]] inline std::uint32_t symmetric_hash(const FlowHasher& hasher,
                                                  const PacketFields& fields) noexcept {
    constexpr std::uint64_t kAllButVlan = ~(std::uint64_t{0xFFFF} << 32U);
    const bool is_swapped = needs_swap(fields);
    ShortKey::Words words = words_of_packet(fields, {});
    words[1] &= kAllButVlan;
    ShortKey key;
    write_key(key, words, is_swapped);
    FlowHash hash = hasher(key);
    if (fields.ip_version == 6) {
        hash = hasher(hash, swapped_addresses(fields, is_swapped));
    }
    return std::max(static_cast<std::uint32_t>(hash), 1U);
}

namespace rss {

/// The Toeplitz hash of 16 bits, under a key that is 0x6D5A again and again.
///
/// @param word  as the bits lie in the packet
[[nodiscard]] constexpr std::uint32_t toeplitz_of(std::uint16_t word) noexcept {
    constexpr std::uint32_t kKey = 0x6D5A'6D5A;
    constexpr unsigned kTop = 15;
    std::uint32_t hash = 0;
    for (unsigned bit = 0; bit <= kTop; ++bit) {
        if ((word >> (kTop - bit) & 1U) != 0) {
            hash ^= std::rotl(kKey, static_cast<int>(bit));
        }
    }
    return hash;
}

/// Of the upper and of the lower octet of such a word.
inline constexpr auto kToeplitz = [] {
    constexpr unsigned kOctet = 8;
    std::array<std::array<std::uint32_t, 256>, 2> tables{};
    for (unsigned octet = 0; octet < tables[0].size(); ++octet) {
        tables[0][octet] = toeplitz_of(static_cast<std::uint16_t>(octet << kOctet));
        tables[1][octet] = toeplitz_of(static_cast<std::uint16_t>(octet));
    }
    return tables;
}();

}  // namespace rss

/// The Toeplitz hash that a NIC computes with the symmetric key 0x6D5A, 0x6D5A, .. of a packet's
/// addresses and, of TCP, UDP and SCTP, its ports. Under that key each 16 bits of the input are
/// hashed alike, so that the hash of them all is that of their sum modulo 2.
///
/// @source  Woo and Park, Scalable TCP Session Monitoring with Symmetric Receive-side Scaling, 2012
/// @cost    some 20 instructions
[[nodiscard]] inline std::uint32_t symmetric_rss_hash(const PacketFields& fields) noexcept {
    constexpr unsigned kOctet = 8;
    constexpr unsigned kLast = 0xFF;
    const AddressWords source = words_of(fields.source, fields.ip_version);
    const AddressWords destination = words_of(fields.destination, fields.ip_version);
    std::uint64_t sum = source.low ^ source.high ^ destination.low ^ destination.high;
    sum ^= sum >> 32U;
    sum ^= sum >> 16U;
    std::uint16_t word = __builtin_bswap16(static_cast<std::uint16_t>(sum));
    if (fields.protocol == ip_protocol::kTcp || fields.protocol == ip_protocol::kUdp ||
        fields.protocol == ip_protocol::kSctp) {
        word ^= fields.source_port.value ^ fields.destination_port.value;
    }
    return rss::kToeplitz[0][word >> kOctet] ^ rss::kToeplitz[1][word & kLast];
}

}  // namespace tributary
