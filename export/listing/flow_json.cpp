// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_json.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "export/characters.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/ntp_time.hpp"
#include "export/listing/element_time.hpp"
#include "export/listing/flow_table.hpp"
#include "export/listing/printable_text.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

using Bytes = std::span<const std::byte>;
using nlohmann::json;

/// @param separator  between octets; 0: nothing
std::string hexadecimal(Bytes bytes, char separator = '\0') {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte octet : bytes) {
        if (separator != '\0' && !text.empty()) {
            text += separator;
        }
        text += kDigits[std::to_integer<std::size_t>(octet >> 4U)];
        text += kDigits[std::to_integer<std::size_t>(octet & std::byte{0x0F})];
    }
    return text;
}

/// @param bytes  at most 8; shorter ones are extended by their sign
std::int64_t read_signed(Bytes bytes) noexcept {
    if (bytes.empty()) {
        return 0;
    }
    const std::size_t unused = 64 - 8 * bytes.size();
    return static_cast<std::int64_t>(read_unsigned(bytes) << unused) >> unused;
}

bool is_between(IpfixType type, IpfixType first, IpfixType last) noexcept {
    return type >= first && type <= last;
}

json number_value(IpfixType type, Bytes bytes) {
    if (is_between(type, IpfixType::signed8, IpfixType::signed64)) {
        return read_signed(bytes);
    }
    if (is_between(type, IpfixType::float32, IpfixType::float64)) {
        return bytes.size() == 4
                   ? json(std::bit_cast<float>(static_cast<std::uint32_t>(read_unsigned(bytes))))
                   : json(std::bit_cast<double>(read_unsigned(bytes)));
    }
    if (type == IpfixType::date_time_microseconds) {
        return read_ntp_time(bytes, 1'000'000);
    }
    if (type == IpfixType::date_time_nanoseconds) {
        return read_ntp_time(bytes, 1'000'000'000);
    }
    return read_unsigned(bytes);
}

bool size_fits(IpfixType type, std::size_t octets) noexcept {
    switch (type) {
        case IpfixType::boolean:
            return octets == 1;
        case IpfixType::mac_address:
            return octets == 6;
        case IpfixType::ipv4_address:
        case IpfixType::float32:
            return octets == 4;
        case IpfixType::float64:
            return octets == 4 || octets == 8;
        case IpfixType::ipv6_address:
            return octets == 16;
        case IpfixType::date_time_microseconds:
        case IpfixType::date_time_nanoseconds:
            return octets == 8;
        case IpfixType::string:
            return true;
        default:
            return octets >= 1 && octets <= 8;
    }
}

bool is_octets(IpfixType type) noexcept {
    return type == IpfixType::octet_array || type >= IpfixType::basic_list;
}

json value_json(IpfixType type, Bytes bytes) {
    if (bytes.empty() && type != IpfixType::string && !is_octets(type)) {
        return nullptr;
    }
    if (!size_fits(type, bytes.size())) {
        return hexadecimal(bytes);
    }
    switch (type) {
        case IpfixType::octet_array:
        case IpfixType::basic_list:
        case IpfixType::sub_template_list:
        case IpfixType::sub_template_multi_list:
            return hexadecimal(bytes);
        case IpfixType::string:
            return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        case IpfixType::boolean:
            return bytes[0] == std::byte{1};  // 2 is false, RFC 7011 §6.1.5
        case IpfixType::mac_address:
            return hexadecimal(bytes, ':');
        case IpfixType::ipv4_address:
        case IpfixType::ipv6_address:
            return address_text(bytes);
        default:
            return number_value(type, bytes);
    }
}

/// Octets that are no UTF-8 are replaced: an exporter's text must not end the listing.
std::string dump(const json& value) {
    const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    return value.is_string() ? printable_json(text) : text;
}

std::string element_name(const IpfixElement& element) { return dump(json(element.name)); }

std::string scope_names(const IpfixTemplate& layout) {
    std::string names;
    for (std::size_t index = 0; index < layout.scope_fields; ++index) {
        names += (index == 0 ? "" : ",") + element_name(*layout.fields[index].element);
    }
    return '[' + names + ']';
}

std::string element_value(const IpfixRecord& record, std::size_t index) {
    const std::vector<IpfixField>& fields = record.layout->fields;
    const IpfixType type = fields[index].element->type;
    std::string value = dump(value_json(type, record.values[index]));
    if (fields[index].next_same_element == 0) {
        return value;
    }
    while ((index = fields[index].next_same_element) != 0) {
        value += ',' + dump(value_json(type, record.values[index]));
    }
    return '[' + value + ']';
}

/// A text for a cell of a table, cut between characters.
std::string cell_of(std::string_view text) {
    constexpr std::size_t kLongest = 64;
    const std::string_view all = text;
    std::size_t octets = 0;
    while (!text.empty() && octets < kLongest) {
        const std::size_t next = std::max<std::size_t>(first_character(text).octets, 1);
        octets += next;
        text.remove_prefix(next);
    }
    return printable(all.substr(0, octets)) + (text.empty() ? "" : "...");
}

}  // namespace

bool is_possible_size(IpfixType type, std::size_t octets) noexcept {
    return is_octets(type) || size_fits(type, octets);
}

std::string value_text(IpfixType type, std::span<const std::byte> octets) {
    if (octets.empty()) {
        return "-";
    }
    if (is_time(type) && size_fits(type, octets.size())) {
        const std::optional<Timestamp> time = read_element_time(type, octets);
        return time ? time_text(*time) : "-";
    }
    const json value = value_json(type, octets);
    return value.is_string() ? cell_of(value.get<std::string>()) : dump(value);
}

// The object is written here, value by value: nlohmann's ordered object would search all earlier
// members for each new one, and a template may have thousands of fields.
std::string record_json(const IpfixRecord& record) {
    const IpfixTemplate& layout = *record.layout;
    std::string line =
        layout.options ? R"({"@type":"options","@template":)" : R"({"@type":"data","@template":)";
    line += std::to_string(layout.id);
    if (!record.table.empty()) {
        line += ",\"@table\":" + dump(json(std::string(record.table)));
    }
    line += ",\"@domain\":" + std::to_string(record.domain);
    line += ",\"@exportTime\":" + std::to_string(record.export_time);
    line += ",\"@sequence\":" + std::to_string(record.sequence);
    if (layout.options) {
        line += ",\"@scope\":" + scope_names(layout);
    }
    for (std::size_t index = 0; index < layout.fields.size(); ++index) {
        const IpfixField& field = layout.fields[index];
        if (!field.repeated && !field.element->is_padding) {
            line += ',' + element_name(*field.element) + ':' + element_value(record, index);
        }
    }
    return line + '}';
}

}  // namespace tributary
