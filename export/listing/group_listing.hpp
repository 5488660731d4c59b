// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "export/listing/flow_groups.hpp"

namespace tributary {

using GroupRows = std::vector<const FlowGroup*>;

/// A table with columns as wide as they need to be: first packet, time from it to the last one, the
/// fields, flows, packets and octets, and those of the reverse direction where a group has some.
void print_group_table(const std::vector<GroupField>& fields, const GroupRows& groups,
                       std::ostream& out);

/// The fields under the names that the user gave, then deltaFlowCount (RFC 7015) and the sums, and
/// first and last packet time in milliseconds since 1970. A number that the records do not have is
/// null, and empty in CSV. Without a line end.
[[nodiscard]] std::string group_json(const std::vector<GroupField>& fields, const FlowGroup& group);
[[nodiscard]] std::string group_csv_header(const std::vector<GroupField>& fields);
[[nodiscard]] std::string group_csv(const std::vector<GroupField>& fields, const FlowGroup& group);

}  // namespace tributary
