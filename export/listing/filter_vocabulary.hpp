// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary {

/// A word of pcap filters that stands alone, or in front of a port.
struct ProtocolWord {
    std::string_view word;
    std::uint8_t protocol;
    bool has_ports;
};

/// @return  nullptr: it is none
[[nodiscard]] const ProtocolWord* find_protocol_word(std::string_view word) noexcept;

/// Whether it is a word of pcap filters for data that no flow has: frames, layers below IP, octets
/// of packets.
[[nodiscard]] bool is_packet_word(std::string_view word) noexcept;

/// The probable equivalent of a word of other flow tools.
///
/// @return  empty: unknown
[[nodiscard]] std::string_view likely_filter_words(std::string_view word) noexcept;

}  // namespace tributary
