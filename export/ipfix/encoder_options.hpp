// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "flowcache/record/key_descriptor.hpp"

namespace tributary {

/// The options of one collector's encoders: the export's options, changed by this collector's own.
[[nodiscard]] ExportOptions encoder_options(const ExportOptions& options,
                                            const CollectorOptions& collector,
                                            const MeteringProcess& metering);

/// The elements of these options.
///
/// @param key  of the records' table
[[nodiscard]] ElementChoice element_choice(const ExportOptions& options,
                                           const KeyDescriptor& key = {});

}  // namespace tributary
