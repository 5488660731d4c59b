// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/key.hpp"
#include "conf/rules.hpp"
#include "export/options.hpp"

namespace tributary {

/// The words of a collector's `format`.
/// @thread  any; made once
[[nodiscard]] const std::vector<Word<RecordFormatKind>>& format_words();

/// The word of a format.
[[nodiscard]] std::string format_name(RecordFormatKind format);

/// The keys of `export`.
[[nodiscard]] std::vector<Key<ExportOptions>> export_keys();

/// Those of one item of export.collectors.
/// @thread  any; made once
[[nodiscard]] const std::vector<Key<CollectorOptions>>& collector_keys();

}  // namespace tributary
