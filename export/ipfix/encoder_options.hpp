// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// What one collector's encoders are told: the export's options, with what this collector wants
/// otherwise than the others.
[[nodiscard]] ExportOptions encoder_options(const ExportOptions& options,
                                            const CollectorOptions& collector,
                                            const MeteringProcess& metering);

}  // namespace tributary
