// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/packet_field.hpp"

namespace tributary {

/// A declaration that is no table: one line for the user.
class TableError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A field as an entry of a key, or the argument of a value, names it: a row of the catalogue, or a
/// field of the user's own.
struct FieldReference {
    const PacketField* field{};  ///< nullptr: it is the user's own
    const OwnField* own{};
    std::size_t own_index{};     ///< of own, in the list of all
    bool has_prefix{};           ///< prefix lengths were given
    AddressPrefix prefix{};      ///< of an address
    std::uint32_t interval = 1;  ///< of a time, in seconds

    [[nodiscard]] std::string_view name() const noexcept {
        return field != nullptr ? field->name : std::string_view(own->name);
    }
    [[nodiscard]] bool is_numeric() const noexcept {
        return field != nullptr ? field->is_numeric : is_number(own->as);
    }
};

/// The longest interval of a time: a day.
inline constexpr std::uint32_t kLongestInterval = 86'400;

/// Reads a name, with prefix lengths or an interval behind it.
///
/// @param own  all fields of the user's own; they outlive the result
/// @errors     TableError: no such field, with a similar name if there is one; numbers that it
///             cannot have
[[nodiscard]] FieldReference read_reference(std::string_view text, std::span<const OwnField> own);

/// Functions whose results records have. The numbers of elements follow from these, so that new
/// ones come at the end.
enum class ValueFunction : std::uint8_t {
    none,
    sum,
    minimum,
    maximum,
    first,
    last,
    bits,
    distinct
};
inline constexpr std::size_t kValueFunctions = 8;

/// A value as a declaration names it.
struct ValueReference {
    /// none: one that each record has, such as packetDeltaCount; there is no field.
    ValueFunction function = ValueFunction::none;
    FieldReference field{};
};

/// The word in declarations, for instance "min", and in names of elements.
[[nodiscard]] std::string_view name_of(ValueFunction function) noexcept;

/// @errors  TableError
[[nodiscard]] ValueReference read_value(std::string_view text, std::span<const OwnField> own);

}  // namespace tributary
