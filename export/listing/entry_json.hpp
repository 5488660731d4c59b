// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/ipfix/ipfix_template.hpp"

namespace tributary {

/// Writes a record of flows as one JSON object in the form of IPFIXcol2's JSON output, as a
/// collector with `format: json` gets it: the record's elements, and then its observation domain,
/// and "tributary:tableName" where the input names tables.
///
/// An element that occurs more than once becomes an array. Elements that are not registered are
/// "en12345:peer" by the name that a record gives them, or else "en12345:id7", and structured data
/// is hexadecimal text.
/// @return  without a line end
[[nodiscard]] std::string entry_json(const IpfixRecord& record);

}  // namespace tributary
