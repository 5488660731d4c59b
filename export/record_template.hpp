// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "export/options.hpp"
#include "flowcache/flow_record.hpp"

namespace tributary {

/// How the encoder takes one value out of a flow record.
enum class Take : std::uint8_t {
    octets1,  ///< octets1 .. octets16: as they stand in the record
    octets2,
    octets4,
    octets6,
    octets8,
    octets16,
    ipv4_address,  ///< network to host order, because libfixbuf swaps an ipv4Address as an integer
    milliseconds,
    ntp_microseconds,
    ntp_nanoseconds,
};

/// One field of a template: which element, and where its value comes from.
struct TemplateField {
    const char* element;  ///< IANA name
    Take take;
    std::uint16_t from;  ///< offset in the record
};

[[nodiscard]] std::uint16_t octets_of(Take take) noexcept;

/// What a record's template depends on, beside the layout that all records share. A record is
/// written without the fields that would be meaningless in it, rather than with zeros.
struct RecordShape {
    bool ipv6{};
    bool icmp{};                ///< ICMP over IPv4 or ICMPv6 over IPv6
    bool vlan{};                ///< the key has a VLAN id
    std::uint8_t dot1q_tags{};  ///< group layer2: 0, 1, or 2 for two and more; otherwise 0

    /// The shapes that there can be under `layout` have the indexes 0 .. shape_count(layout) - 1.
    [[nodiscard]] std::size_t index() const noexcept {
        return (ipv6 ? 1U : 0U) + (icmp ? 2U : 0U) + (vlan ? 4U : 0U) + dot1q_tags * 8U;
    }
    [[nodiscard]] static RecordShape at(std::size_t index) noexcept;
    /// @param record  a record of `layout`, aligned to 8
    [[nodiscard]] static RecordShape of(const std::byte* record,
                                        const RecordLayout& layout) noexcept;
};
[[nodiscard]] std::size_t shape_count(const RecordLayout& layout) noexcept;

/// An IPFIX template and the way to fill it from a record.
struct RecordTemplate {
    std::uint16_t id{};  ///< 256 + shape index: the same layout gives the same ids in every run
    std::vector<TemplateField> fields;
    std::size_t record_octets{};  ///< of one data record on the wire

    /// Of the template record on the wire (RFC 7011 §3.4.1).
    [[nodiscard]] std::size_t template_octets() const noexcept { return 4 + 4 * fields.size(); }
    /// Writes the fields back to back, integers in host byte order, as libfixbuf takes them.
    ///
    /// @param record  aligned to 8
    /// @param out     at least record_octets bytes
    void write(const std::byte* record, std::byte* out) const noexcept;
};

/// The templates of a layout, in the order of RecordShape::index().
[[nodiscard]] std::vector<RecordTemplate> make_templates(const RecordLayout& layout,
                                                         TimestampUnit timestamps);

}  // namespace tributary
