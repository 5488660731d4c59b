// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/key.hpp"
#include "export/options.hpp"

namespace tributary {

/// The keys of `export`.
[[nodiscard]] std::vector<Key<ExportOptions>> export_keys();

}  // namespace tributary
