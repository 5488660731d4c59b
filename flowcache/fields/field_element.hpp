// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tributary {

/// How the value of an element lies in a record, and how it is sent. Integers are in host byte
/// order in the record, and in network byte order on the wire.
enum class Encoding : std::uint8_t {
    octets1,  ///< octets1 .. octets16: as they stand in the record
    octets3,
    octets4,
    octets6,
    octets16,
    unsigned2,  ///< unsigned2 .. unsigned8: integers of so many octets
    unsigned4,
    unsigned8,
    milliseconds,  ///< this and the next two: a Timestamp
    ntp_microseconds,
    ntp_nanoseconds,
    selector,       ///< selectorId: the number of the interface
    vxlan_segment,  ///< layer2SegmentId of a VXLAN's VNI
    text,           ///< a BoundedText: sent with its length in front (RFC 7011 §7)
    octet_array,    ///< any octets, which lie and are sent like a text
};

/// A string in a record: UTF-8, at most `kOctets` octets. Unused octets are 0.
template <std::size_t kOctets>
struct BoundedText {
    static_assert(kOctets < 255, "its length is one octet on the wire (RFC 7011 §7)");

    std::uint8_t length{};
    std::array<char, kOctets> octets{};

    /// Takes as much of a text as fits, and cuts no character of UTF-8.
    constexpr void set(std::string_view text) noexcept {
        std::size_t count = text.size() < kOctets ? text.size() : kOctets;
        constexpr unsigned kContinuationMask = 0xC0;
        constexpr unsigned kContinuation = 0x80;
        while (count < text.size() && count > 0 &&
               (static_cast<unsigned char>(text[count]) & kContinuationMask) == kContinuation) {
            --count;
        }
        *this = {};
        length = static_cast<std::uint8_t>(count);
        for (std::size_t place = 0; place < count; ++place) {
            octets[place] = text[place];
        }
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {octets.data(), length};
    }
};

/// Who has given an element its number.
enum class ElementOwner : std::uint8_t {
    iana,
    tributary,  ///< under export.enterprise-number
    ntop,       ///< exported with export.ntop-elements
    cert,       ///< exported with cert-elements of a collector
};

/// Which records have an element, by what every record has.
enum class Condition : std::uint8_t {
    always,
    ipv4,
    ipv6,
    icmp_over_ipv4,
    icmp_over_ipv6,
    vlan,    ///< the key has a VLAN id
    biflow,  ///< records are of biflows
    milliseconds,
    microseconds,
    nanoseconds,
};

/// The variants of a group in which it has an element: a bit for each.
using Variants = std::uint32_t;
inline constexpr Variants kEveryVariant = std::numeric_limits<Variants>::max();
/// @param variants  numbers, or enumerators of them
template <class... Variant>
[[nodiscard]] constexpr Variants in_variants(Variant... variants) noexcept {
    return (Variants{0} | ... | (Variants{1} << static_cast<unsigned>(variants)));
}

/// A member of a field group, and the IPFIX element as which it is exported.
struct FieldElement {
    const char* name;      ///< of the registry of its owner; at most 63 octets
    std::uint16_t number;  ///< in the registry of its owner; once used it is never changed
    Encoding encoding;
    std::uint16_t offset;  ///< in its group
    const char* meaning;   ///< for docs/fields.md: Markdown, one line
    Variants variants = kEveryVariant;
    Condition condition = Condition::always;
    ElementOwner owner = ElementOwner::iana;
    std::uint8_t text_octets = 0;  ///< of a text or an octet array: its most octets
    bool in_key = false;           ///< of the flow key, where the group is its extension
    /// Whether export.fields may name it. Others come with their group, unless another group of the
    /// record has the same element.
    bool may_be_chosen = true;
    /// Of ntop's: name and number in the other direction of a biflow, which for all others follow
    /// from RFC 5103.
    const char* reverse_name = nullptr;
    std::uint16_t reverse_number = 0;
    /// Of a count that `tributary flows` shows, sums, sorts by and compares: its word in filters.
    /// nullptr: JSON alone has it.
    const char* measure = nullptr;
    const char* column = nullptr;  ///< with a measure: the title of its column in tables
};

/// An element of tributary's own.
[[nodiscard]] constexpr FieldElement tributary_element(const char* name, std::uint16_t number,
                                                       Encoding encoding, std::size_t offset,
                                                       const char* meaning) noexcept {
    return {.name = name,
            .number = number,
            .encoding = encoding,
            .offset = static_cast<std::uint16_t>(offset),
            .meaning = meaning,
            .owner = ElementOwner::tributary};
}
/// The element, in these variants of its group alone.
[[nodiscard]] constexpr FieldElement limited_to(Variants variants, FieldElement element) noexcept {
    element.variants = variants;
    return element;
}

inline constexpr std::uint16_t kVariableLength = 0xFFFF;  ///< in a template: RFC 7011 §7

/// Whether values are sent with their length in front.
[[nodiscard]] constexpr bool has_length(Encoding encoding) noexcept {
    return encoding == Encoding::text || encoding == Encoding::octet_array;
}

/// The octets of a value on the wire; kVariableLength for texts and octet arrays.
[[nodiscard]] constexpr std::uint16_t octets_of(Encoding encoding) noexcept {
    switch (encoding) {
        case Encoding::octets1:
            return 1;
        case Encoding::unsigned2:
            return 2;
        case Encoding::octets3:
            return 3;
        case Encoding::octets4:
        case Encoding::unsigned4:
            return 4;
        case Encoding::octets6:
            return 6;
        case Encoding::octets16:
            return 16;
        case Encoding::text:
        case Encoding::octet_array:
            return kVariableLength;
        case Encoding::unsigned8:
        case Encoding::milliseconds:
        case Encoding::ntp_microseconds:
        case Encoding::ntp_nanoseconds:
        case Encoding::selector:
        case Encoding::vxlan_segment:
            break;
    }
    return 8;
}

/// Octets of an element's value in its group: as on the wire, but for three encodings.
[[nodiscard]] constexpr std::size_t octets_in_group(const FieldElement& element) noexcept {
    switch (element.encoding) {
        case Encoding::selector:
        case Encoding::vxlan_segment:
            return 4;
        case Encoding::text:
        case Encoding::octet_array:
            return std::size_t{1} + element.text_octets;
        default:
            return octets_of(element.encoding);
    }
}

}  // namespace tributary
