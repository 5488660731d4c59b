// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/listing/flow_view.hpp"

namespace tributary {

/// The columns of flow_csv(), the same for every listing: IANA's names for columns of one element.
/// Without a line end.
[[nodiscard]] std::string flow_csv_header();

/// A flow as one line of CSV (RFC 4180): numbers in decimal, times in milliseconds since 1970,
/// rounded down. Values that the flow does not have are empty.
/// @return  without a line end
[[nodiscard]] std::string flow_csv(const FlowView& flow, const ListedCounts& counts);

}  // namespace tributary
