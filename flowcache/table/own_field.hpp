// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "flowcache/fields/field_element.hpp"

namespace tributary {

/// Fields that a user may declare.
inline constexpr std::size_t kMostOwnFields = 64;

/// Where the offset of a user's own field counts from.
enum class OwnFieldBase : std::uint8_t {
    frame,    ///< the frame's first octet, the outermost header
    l3,       ///< the IP header of the metered packet
    l4,       ///< what follows IP's options and extension headers; none in later fragments
    payload,  ///< what follows the header of TCP, UDP, UDP-Lite, SCTP, DCCP, ICMP or ICMPv6
};

/// The abstract data type as which a user's own field is exported.
enum class OwnFieldType : std::uint8_t {
    unsigned8,
    unsigned16,
    unsigned32,
    unsigned64,
    ipv4_address,
    ipv6_address,
    mac_address,
    string,  ///< up to the first octet 0; an octet that is no printable ASCII becomes '.'
    octet_array,
};

/// A field that a user declares by its place. A packet that ends before the field, or whose
/// captured octets do, has none.
struct OwnField {
    std::string name;  ///< a letter, then letters and digits; at most kLongestName
    OwnFieldBase from = OwnFieldBase::l4;
    std::uint16_t offset{};
    std::uint8_t octets = 1;  ///< 1 .. kMostOctets; of a number at most those of its type
    OwnFieldType as = OwnFieldType::unsigned8;
    std::string when{};  ///< pcap filter: other packets do not have the field; empty: all have it
    /// 1 .. kSlots: which numbers the field's elements have. 0: they follow from its name.
    std::uint16_t number{};

    static constexpr std::size_t kLongestName = 48;  // with a function in front, an element's 63
    static constexpr std::size_t kMostOctets = 32;
    static constexpr std::uint16_t kSlots = 1792;

    friend bool operator==(const OwnField&, const OwnField&) = default;
};

/// Whether a text has the form of a field's name.
[[nodiscard]] bool is_own_field_name(std::string_view text) noexcept;

/// The name of a type in configurations, as in RFC 7012 §3.1: "unsigned8", "ipv4Address", ...
[[nodiscard]] std::string_view name_of(OwnFieldType type) noexcept;
[[nodiscard]] std::string_view name_of(OwnFieldBase base) noexcept;

[[nodiscard]] constexpr bool is_number(OwnFieldType type) noexcept {
    return type <= OwnFieldType::unsigned64;
}
/// How a value lies in a record.
[[nodiscard]] Encoding encoding_of(OwnFieldType type) noexcept;

/// Which of the kSlots places in the numbers of elements a field has, from 0. Without a number of
/// its own it is a hash of name, type and octets: it stays the same over restarts and reloads,
/// wherever the field stands in the configuration, and is another one if the type changes.
[[nodiscard]] std::uint16_t slot_of(const OwnField& field) noexcept;

/// What is wrong with fields of the user's own, by themselves and with one another.
///
/// @return  one line that begins with the name of the field; nothing: they are good
[[nodiscard]] std::optional<std::string> fault_of(std::span<const OwnField> fields);

}  // namespace tributary
