// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_template.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/ntp_time.hpp"
#include "export/ipfix/record_shape.hpp"

namespace tributary {
namespace {

/// Puts an integer in network byte order.
template <class Value>
std::byte* put(std::byte* out, Value value) noexcept {
    static_assert(std::endian::native == std::endian::little);
    if constexpr (sizeof value == sizeof(std::uint16_t)) {
        value = __builtin_bswap16(value);
    } else if constexpr (sizeof value == sizeof(std::uint32_t)) {
        value = __builtin_bswap32(value);
    } else {
        static_assert(sizeof value == sizeof(std::uint64_t));
        value = __builtin_bswap64(value);
    }
    std::memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

template <std::size_t kOctets>
std::byte* copy(std::byte* out, const std::byte* from) noexcept {
    std::memcpy(out, from, kOctets);
    return out + kOctets;
}

template <class Value>
Value get(const std::byte* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

std::uint64_t to_milliseconds(Timestamp time) noexcept {
    return static_cast<std::uint64_t>(time.time_since_epoch() / std::chrono::milliseconds{1});
}

/// @source  IANA's description of layer2SegmentId (IE 351): the highest octet is the overlay's type
std::uint64_t to_segment(std::uint32_t vni) noexcept {
    constexpr std::uint64_t kVxlan = 0x01;
    return kVxlan << 56U | vni;
}

/// The length of a BoundedText, also of one that was read from a damaged disk.
std::uint8_t text_length(const TemplateField& field, const std::byte* record) noexcept {
    return std::min(std::to_integer<std::uint8_t>(record[field.from]), field.text_octets);
}

/// @source  RFC 7011 §7: below 255 octets the length in front is one octet
std::byte* put_text(std::byte* out, const TemplateField& field, const std::byte* record) noexcept {
    const std::uint8_t length = text_length(field, record);
    *out = std::byte{length};
    std::memcpy(out + 1, record + field.from + 1, length);
    return out + 1 + length;
}

std::byte* encode_value(const TemplateField& field, const std::byte* record,
                        std::byte* out) noexcept {
    const std::byte* const from = record + field.from;
    switch (field.encoding) {
        case Encoding::octets1:
            return copy<1>(out, from);
        case Encoding::octets3:
            return copy<3>(out, from);
        case Encoding::octets4:
            return copy<4>(out, from);
        case Encoding::octets6:
            return copy<6>(out, from);
        case Encoding::octets16:
            return copy<16>(out, from);
        case Encoding::unsigned2:
            return put(out, get<std::uint16_t>(from));
        case Encoding::unsigned4:
            return put(out, get<std::uint32_t>(from));
        case Encoding::unsigned8:
            return put(out, get<std::uint64_t>(from));
        case Encoding::milliseconds:
            return put(out, to_milliseconds(get<Timestamp>(from)));
        case Encoding::ntp_microseconds:
            return put(out, to_ntp_microseconds(get<Timestamp>(from)));
        case Encoding::ntp_nanoseconds:
            return put(out, to_ntp_nanoseconds(get<Timestamp>(from)));
        case Encoding::selector:
            return put(out, std::uint64_t{get<std::uint32_t>(from)});
        case Encoding::vxlan_segment:
            return put(out, to_segment(get<std::uint32_t>(from)));
        case Encoding::text:
        case Encoding::octet_array:
            return put_text(out, field, record);
    }
    return out;
}

}  // namespace

void RecordTemplate::write(const std::byte* record, std::byte* out) const noexcept {
    for (const TemplateField& field : fields) {
        out = encode_value(field, record, out);
    }
}

std::size_t RecordTemplate::octets_with_text(const std::byte* record) const noexcept {
    std::size_t octets = record_octets;
    for (const TemplateField& field : fields) {
        if (has_length(field.encoding)) {
            octets += text_length(field, record);
        }
    }
    return octets;
}

std::optional<std::size_t> RecordTemplate::octets_at(MessageView records) const noexcept {
    std::size_t octets = record_octets;
    std::size_t at = 0;
    for (const TemplateField& field : fields) {
        if (!has_length(field.encoding)) {
            at += tributary::octets_of(field.encoding);
        } else if (at < records.size()) {
            const auto length = std::to_integer<std::size_t>(records[at]);
            octets += length;
            at += 1 + length;
        }
    }
    return octets <= records.size() ? std::optional(octets) : std::nullopt;
}

std::vector<RecordTemplate> make_templates(const RecordLayout& layout, TimestampUnit timestamps,
                                           const ElementChoice& choice, std::uint16_t first_id) {
    std::vector<RecordTemplate> templates;
    const RecordShapes shapes(layout);
    for (std::size_t index = 0; index < shapes.count(); ++index) {
        RecordTemplate& made = templates.emplace_back();
        made.id = static_cast<std::uint16_t>(first_id + index);
        made.fields = fields_of(shapes.at(index), layout, timestamps, choice);
        for (const TemplateField& field : made.fields) {
            const bool is_text = has_length(field.encoding);
            made.record_octets += is_text ? 1 : octets_of(field.encoding);
            made.text_octets += field.text_octets;
        }
    }
    return templates;
}

std::vector<WireTemplate> wire_templates(const std::vector<RecordTemplate>& templates) {
    std::vector<WireTemplate> made;
    for (const RecordTemplate& each : templates) {
        WireTemplate& wire = made.emplace_back();
        wire.id = each.id;
        for (const TemplateField& field : each.fields) {
            wire.fields.push_back({.element = field.element,
                                   .octets = octets_of(field.encoding),
                                   .of_enterprise = field.of_enterprise});
        }
    }
    return made;
}

}  // namespace tributary
