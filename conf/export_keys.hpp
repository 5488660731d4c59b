// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/key.hpp"
#include "export/options.hpp"

namespace tributary {

/// The keys of `export`.
[[nodiscard]] std::vector<Key<ExportOptions>> export_keys();

/// Those of one item of export.collectors.
/// @thread  any; made once
[[nodiscard]] const std::vector<Key<CollectorOptions>>& collector_keys();

}  // namespace tributary
