// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "export/ipfix/ipfix_template.hpp"

namespace tributary {

/// Writes a record as one JSON object, one member per element in the template's order, under its
/// IANA name.
///
/// Integers are numbers, addresses text, MAC addresses aa:bb:cc:dd:ee:ff, times integers since 1970
/// in the element's own unit; octet arrays, structured data and values of an impossible size are
/// hexadecimal text; a number without an octet is null. An element that occurs more than once
/// becomes an array. Members that begin with '@' are no elements, among them "@table" where the
/// input names tables; no two members have one name (element_names.hpp). Control characters and
/// those that hide text are escaped.
/// @return  without a line end
[[nodiscard]] std::string record_json(const IpfixRecord& record);

/// Whether a value of so many octets can be of its type; integers and float64 may be shorter than
/// the type, and octets and structured data are of any size.
/// @source  RFC 7011 §6.2
[[nodiscard]] bool is_possible_size(IpfixType type, std::size_t octets) noexcept;

/// A value for a cell of a table: as in JSON, but without quotes, times as time_text() writes them,
/// and long texts cut. "-" for no octets.
[[nodiscard]] std::string value_text(IpfixType type, std::span<const std::byte> octets);

}  // namespace tributary
