// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

/// Abstract data types of information elements, numbered as informationElementDataType (IE 339).
/// @source  RFC 7012 §3.1, RFC 5610 §3.1
enum class IpfixType : std::uint8_t {
    octet_array,
    unsigned8,
    unsigned16,
    unsigned32,
    unsigned64,
    signed8,
    signed16,
    signed32,
    signed64,
    float32,
    float64,
    boolean,
    mac_address,
    string,
    date_time_seconds,
    date_time_milliseconds,
    date_time_microseconds,
    date_time_nanoseconds,
    ipv4_address,
    ipv6_address,
    basic_list,
    sub_template_list,
    sub_template_multi_list,
    count,
};

/// Elements of tributary's own, by their number under its enterprise (enterprise_elements.hpp).
enum class TributaryElement : std::uint16_t {
    none = 0,
    tunnel_type = 1,
    tunnel_id = 2,
    tunnel_source_ipv4_address = 3,
    tunnel_destination_ipv4_address = 4,
    tunnel_source_ipv6_address = 5,
    tunnel_destination_ipv6_address = 6,
    segments = 7,
    data_segments = 8,
    retransmissions = 9,
    retransmitted_octets = 10,
    duplicates = 11,
    out_of_order = 12,
    zero_window = 13,
    keep_alives = 14,
    flow_size = 15,
    flow_duration_nanoseconds = 16,
    tcp_analysis_overflow = 17,
    tcp_handshake_nanoseconds = 18,
    tunnel_source_ipv4_prefix_length = 20,
    tunnel_destination_ipv4_prefix_length = 21,
    tunnel_source_ipv6_prefix_length = 22,
    tunnel_destination_ipv6_prefix_length = 23,
};

/// The description of an element (element_names.hpp).
struct IpfixElement {
    std::string name;                ///< printable, and unique
    std::uint32_t enterprise{};      ///< 0: IANA
    std::uint16_t number{};          ///< without the enterprise bit
    IpfixType type{};                ///< octet_array when the element is unknown
    TributaryElement own{};          ///< none: it is none of our own by name and number
    TributaryElement own_reverse{};  ///< none: it is not the reverse of one either
    /// Places among the ListedCounts, as itself and as a reverse element; nothing: it is none.
    std::optional<std::uint8_t> listed{};
    std::optional<std::uint8_t> listed_reverse{};
    bool is_padding{};  ///< paddingOctets: no value of the record
};

/// One field specifier of a template.
struct IpfixField {
    const IpfixElement* element{};      ///< the reader's
    std::uint16_t length{};             ///< octets, at least 1, or kVariableLength
    std::uint16_t next_same_element{};  ///< index of the next field with this element; 0: none
    bool repeated{};                    ///< an earlier field has the same element
};

struct IpfixTemplate {
    std::uint16_t id{};
    bool options{};                  ///< describes options records
    std::uint16_t scope_fields{};    ///< the first so many fields are the scope
    std::size_t minimum_bytes{};     ///< of a record; at least 1
    std::vector<IpfixField> fields;  ///< without those of no octets, which have no value
    /// Of flows: the name of the table whose records it describes, which is the reader's; nullptr:
    /// options records have named none.
    const std::string* table{};
};

/// What stands for the name of a table where an input names tables, and not that of a record.
inline constexpr std::string_view kUnnamedTable = "unnamed";

/// One data record, of flows or of options. Borrowed: valid until the reader's next record.
struct IpfixRecord {
    const IpfixTemplate* layout{};
    std::uint32_t domain{};
    std::uint32_t export_time{};  ///< of its message, seconds since 1970
    std::uint32_t sequence{};     ///< of its message
    /// Of flows: the name of its table, or kUnnamedTable; empty: the input has named no table yet.
    std::string_view table{};
    /// Of options with a template as their scope: this template; nullptr: it is not known.
    const IpfixTemplate* about{};
    std::span<const std::span<const std::byte>> values;  ///< per field, network byte order
};

/// @param bytes  an unsigned integer of any encoded size, network byte order; of more than 8 octets
/// the last 8 count
/// @source       RFC 7011 §6.2
[[nodiscard]] constexpr std::uint64_t read_unsigned(std::span<const std::byte> bytes) noexcept {
    std::uint64_t value = 0;
    for (const std::byte octet : bytes) {
        value = (value << 8U) | std::to_integer<std::uint64_t>(octet);
    }
    return value;
}

}  // namespace tributary
