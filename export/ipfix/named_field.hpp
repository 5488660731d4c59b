// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/ipfix/record_elements.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// The names by which a configuration can choose a field of records, sorted, each once: those of
/// all elements but reverse ones and those that only declared tables have, and for two elements
/// with the addresses of IPv4 and IPv6 one more name, as columns of CSV have it: sourceIPAddress of
/// sourceIPv4Address and sourceIPv6Address.
[[nodiscard]] std::vector<std::string> field_names();

/// The name of an address, whichever of the two IP versions it is of; empty: the element is no
/// address of one version.
[[nodiscard]] std::string name_of_both(std::string_view element);

/// By the index of RecordShapes: the field of this name; nothing: records of the shape have none.
[[nodiscard]] std::vector<std::optional<TemplateField>> fields_named(std::string_view name,
                                                                     const RecordLayout& layout,
                                                                     TimestampUnit timestamps,
                                                                     const ElementChoice& choice);

}  // namespace tributary
