// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"
#include "export/messages/flow_view.hpp"

namespace tributary {

/// A value of a record for which the table of flows has no column.
struct FurtherValue {
    std::string name;  ///< of the element
    std::string text;  ///< value_text()
    bool is_number{};
};

/// The values of a record of a declared table that the columns of flows do not show: fields of its
/// key other than those of FlowView, and its own values.
///
/// @param flow  the view of the record
[[nodiscard]] std::vector<FurtherValue> further_values(const IpfixRecord& record,
                                                       const FlowView& flow);

}  // namespace tributary
