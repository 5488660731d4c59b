// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/own_field.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "flowcache/fields/field_groups.hpp"
#include "flowcache/table/packet_field.hpp"
#include "flowcache/table/table_text.hpp"

namespace tributary {

namespace {

struct TypeRow {
    std::string_view name;
    Encoding encoding;
    std::size_t least;
    std::size_t most;
};
/// By OwnFieldType.
constexpr std::array<TypeRow, 9> kTypes{{
    {"unsigned8", Encoding::octets1, 1, 1},
    {"unsigned16", Encoding::unsigned2, 1, 2},
    {"unsigned32", Encoding::unsigned4, 1, 4},
    {"unsigned64", Encoding::unsigned8, 1, 8},
    {"ipv4Address", Encoding::octets4, 4, 4},
    {"ipv6Address", Encoding::octets16, 16, 16},
    {"macAddress", Encoding::octets6, 6, 6},
    {"string", Encoding::text, 1, OwnField::kMostOctets},
    {"octetArray", Encoding::octet_array, 1, OwnField::kMostOctets},
}};

const TypeRow& row_of(OwnFieldType type) noexcept {
    return kTypes[std::min(static_cast<std::size_t>(type), kTypes.size() - 1)];
}

/// Further elements of records: the names of their members in JSON and columns in CSV are theirs.
constexpr std::array<std::string_view, 23> kFurtherElements{
    "packetDeltaCount",
    "flowStartMilliseconds",
    "flowEndMilliseconds",
    "flowStartMicroseconds",
    "flowEndMicroseconds",
    "flowStartNanoseconds",
    "flowEndNanoseconds",
    "flowEndReason",
    "biflowDirection",
    "selectorId",
    "unionTCPFlags",
    "minimumLayer2TotalLength",
    "maximumLayer2TotalLength",
    "distinctCountOfSourceIPAddress",
    "distinctCountOfDestinationIPAddress",
    "sourceIPv4PrefixLength",
    "destinationIPv4PrefixLength",
    "sourceIPv6PrefixLength",
    "destinationIPv6PrefixLength",
    "tunnelSourceIPv4PrefixLength",
    "tunnelDestinationIPv4PrefixLength",
    "tunnelSourceIPv6PrefixLength",
    "tunnelDestinationIPv6PrefixLength",
};

/// Whether tributary itself exports an element of this name, or the reverse of one has it.
bool is_taken(std::string_view name) noexcept {
    constexpr std::string_view kReverse = "reverse";  // RFC 5103 §6.1
    if (find_packet_field(name) != nullptr || !field_instead_of(name).empty() ||
        std::ranges::find(kFurtherElements, name) != kFurtherElements.end() ||
        name.starts_with(kReverse)) {
        return true;
    }
    const auto has_it = [name](const FieldGroup* group) {
        return std::ranges::any_of(
            group->elements, [name](const FieldElement& element) { return name == element.name; });
    };
    return std::ranges::any_of(StandardFieldGroups::kRows, has_it);
}

std::optional<std::string> fault_of(const OwnField& field) {
    const std::string name = in_quotes(field.name);
    if (!is_own_field_name(field.name)) {
        return name + " is no name of a field: a letter, then letters and digits, at most " +
               std::to_string(OwnField::kLongestName);
    }
    if (is_taken(field.name)) {
        return name + " is the name of an element that tributary has; choose another one";
    }
    const TypeRow& type = row_of(field.as);
    if (field.octets < type.least || field.octets > type.most) {
        const std::string least = std::to_string(type.least);
        return name + ": " + std::string(type.name) + " has " + least +
               (type.least == type.most ? "" : " to " + std::to_string(type.most)) +
               " octets, not " + std::to_string(field.octets);
    }
    if (field.number > OwnField::kSlots) {
        return name + ": its number is from 1 to " + std::to_string(OwnField::kSlots) + ", not " +
               std::to_string(field.number);
    }
    return std::nullopt;
}

std::optional<std::string> fault_between(const OwnField& one, const OwnField& other) {
    if (one.name == other.name) {
        return in_quotes(one.name) + " is there twice";
    }
    if (slot_of(one) == slot_of(other)) {
        return in_quotes(other.name) + " and " + in_quotes(one.name) +
               " would have the same element numbers; give one of them another name or a number "
               "(1 to " +
               std::to_string(OwnField::kSlots) + ") that is not " +
               std::to_string(slot_of(one) + 1);
    }
    return std::nullopt;
}

/// @param others  those before a field
std::optional<std::string> fault_with(std::span<const OwnField> others, const OwnField& field) {
    for (const OwnField& other : others) {
        if (auto fault = fault_between(other, field)) {
            return fault;
        }
    }
    return std::nullopt;
}

}  // namespace

bool is_own_field_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= OwnField::kLongestName && is_letter(text.front()) &&
           std::ranges::all_of(text, is_letter_or_digit);
}

std::string_view name_of(OwnFieldType type) noexcept { return row_of(type).name; }

std::string_view name_of(OwnFieldBase base) noexcept {
    switch (base) {
        case OwnFieldBase::frame:
            return "frame";
        case OwnFieldBase::l3:
            return "l3";
        case OwnFieldBase::l4:
            return "l4";
        case OwnFieldBase::payload:
            break;
    }
    return "payload";
}

Encoding encoding_of(OwnFieldType type) noexcept { return row_of(type).encoding; }

std::uint16_t slot_of(const OwnField& field) noexcept {
    if (field.number != 0) {
        return static_cast<std::uint16_t>((field.number - 1U) % OwnField::kSlots);
    }
    // FNV-1a: element numbers at collectors depend on it, so it is written out and never changed.
    constexpr std::uint32_t kBasis = 2'166'136'261U;
    constexpr std::uint32_t kPrime = 16'777'619U;
    std::uint32_t hash = kBasis;
    const auto add = [&hash](unsigned octet) { hash = (hash ^ octet) * kPrime; };
    for (const char letter : field.name) {
        add(static_cast<unsigned char>(letter));
    }
    add(static_cast<unsigned>(field.as));
    add(field.octets);
    return static_cast<std::uint16_t>((hash ^ hash >> 16U) % OwnField::kSlots);
}

std::optional<std::string> fault_of(std::span<const OwnField> fields) {
    for (std::size_t index = 0; index < fields.size(); ++index) {
        auto fault = fault_of(fields[index]);
        if (!fault) {
            fault = fault_with(fields.first(index), fields[index]);
        }
        if (fault) {
            return fault;
        }
    }
    return std::nullopt;
}

}  // namespace tributary
