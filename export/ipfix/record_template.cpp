// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_template.hpp"

#include <bit>
#include <chrono>
#include <cstring>

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

std::byte* encode_value(Encoding encoding, const std::byte* from, std::byte* out) noexcept {
    switch (encoding) {
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
    }
    return out;
}

}  // namespace

std::uint16_t octets_of(Encoding encoding) noexcept {
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

void RecordTemplate::write(const std::byte* record, std::byte* out) const noexcept {
    for (const TemplateField& field : fields) {
        out = encode_value(field.encoding, record + field.from, out);
    }
}

std::vector<RecordTemplate> make_templates(const RecordLayout& layout, TimestampUnit timestamps,
                                           const ElementChoice& choice, std::uint16_t first_id) {
    std::vector<RecordTemplate> templates;
    for (std::size_t index = 0; index < shape_count(layout); ++index) {
        RecordTemplate& made = templates.emplace_back();
        made.id = static_cast<std::uint16_t>(first_id + index);
        made.fields = fields_of(RecordShape::at(index, layout), layout, timestamps, choice);
        for (const TemplateField& field : made.fields) {
            made.record_octets += octets_of(field.encoding);
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
