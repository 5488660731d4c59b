// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "export/ipfix/ipfix_template.hpp"

namespace tributary {

// Values as IPFIXcol2's JSON output writes them with its default options: times, protocols and TCP
// flags formatted, short octet arrays as numbers. Functions that write return the end of what they
// wrote. None takes memory, and none checks the room: see most_json_octets().

/// How the octets of a value become JSON.
enum class JsonForm : std::uint8_t {
    unsigned_number,
    signed_number,
    float_number,  ///< NaN and infinities are texts
    boolean,
    mac_address,  ///< "0A:0B:0C:0D:0E:0F"
    text,
    seconds,  ///< this and the next three: "2018-05-11T19:44:29.006Z", cut off at milliseconds
    milliseconds,
    microseconds,
    nanoseconds,
    address,      ///< of IPv4 or IPv6, by its octets
    octet_array,  ///< of up to 8 octets: a number; else "0x" and digits
    protocol,     ///< "TCP"; without a name: its number as text
    tcp_flags,    ///< ".AP.S.": the lower six
};

/// @return  that of all elements of this type, except for protocolIdentifier and tcpControlBits
[[nodiscard]] JsonForm json_form(IpfixType type) noexcept;
/// @param name  of one of IANA's elements, or of the element of which it is the reverse
[[nodiscard]] JsonForm json_form(IpfixType type, std::string_view name) noexcept;

/// Octets that no value of the form exceeds.
///
/// @param octets  of the value
[[nodiscard]] std::size_t most_json_octets(JsonForm form, std::size_t octets) noexcept;

/// Writes one value. A value of an impossible size is null.
///
/// @param value  in network byte order
/// @param out    at least most_json_octets()
[[nodiscard]] char* put_json_value(char* out, JsonForm form,
                                   std::span<const std::byte> value) noexcept;

/// Writes a text in quotes. Control characters and those that hide text are escaped, and octets
/// that are no UTF-8 become U+FFFD.
///
/// @param out  at least kMostJsonTextOctets for each octet, and 2
[[nodiscard]] char* put_json_text(char* out, std::string_view text) noexcept;
inline constexpr std::size_t kMostJsonTextOctets = 6;

/// @param out  at least kMostNumberOctets
[[nodiscard]] char* put_number(char* out, std::uint64_t number) noexcept;
inline constexpr std::size_t kMostNumberOctets = 20;

[[nodiscard]] inline char* put_octets(char* out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

/// @param address  4 or 16 octets
/// @param out      at least kMostAddressOctets
/// @source  RFC 5952; IPv4-mapped addresses as inet_ntop() writes them
[[nodiscard]] char* put_address(char* out, std::span<const std::byte> address) noexcept;
inline constexpr std::size_t kMostAddressOctets = 45;

}  // namespace tributary
