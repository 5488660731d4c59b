// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/ipfix/ipfix_template.hpp"

namespace tributary {

/// Writes a record as one JSON object, one member per element in the template's order, under its
/// IANA name.
///
/// Integers are numbers, addresses text, MAC addresses aa:bb:cc:dd:ee:ff, times integers since 1970
/// in the element's own unit; octet arrays, structured data and values of an impossible size are
/// hexadecimal text; a number without an octet is null. An element that occurs more than once
/// becomes an array. Members that begin with '@' are no elements; no two members have one name
/// (element_names.hpp). Control characters and those that hide text are escaped.
/// @return  without a line end
[[nodiscard]] std::string record_json(const IpfixRecord& record);

}  // namespace tributary
