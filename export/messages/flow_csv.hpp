// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "export/messages/flow_view.hpp"

namespace tributary {

/// The columns of flow_csv(), the same for every listing: IANA's names for columns of one element.
/// Without a line end.
[[nodiscard]] std::string flow_csv_header();

/// Octets that no line of put_flow_csv() exceeds.
inline constexpr std::size_t kMostCsvOctets = 2048;

/// A flow as one line of CSV (RFC 4180): numbers in decimal, times in milliseconds since 1970,
/// rounded down. Values that the flow does not have are empty; a prefix is an address with its
/// length, 10.1.2.0/24.
/// @return  without a line end
[[nodiscard]] std::string flow_csv(const FlowView& flow, const ListedCounts& counts);
/// The same without memory.
///
/// @param out  at least kMostCsvOctets
/// @return  the end of the line
[[nodiscard]] char* put_flow_csv(char* out, const FlowView& flow,
                                 const ListedCounts& counts) noexcept;

}  // namespace tributary
