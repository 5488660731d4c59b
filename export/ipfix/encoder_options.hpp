// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// The options of one collector's encoders: the export's options, changed by this collector's own.
[[nodiscard]] ExportOptions encoder_options(const ExportOptions& options,
                                            const CollectorOptions& collector,
                                            const MeteringProcess& metering);

/// Whether this collector gets the two uniflows of a biflow instead of it.
[[nodiscard]] bool is_split_for(const CollectorOptions& collector,
                                const RecordLayout& layout) noexcept;
/// The metering process as this collector gets it described: its layouts are those of the records
/// that are sent.
[[nodiscard]] MeteringProcess metering_as_sent(MeteringProcess metering,
                                               const CollectorOptions& collector);

/// The elements of these options, for the records of a table.
[[nodiscard]] ElementChoice element_choice(const ExportOptions& options,
                                           const TableElements& table = {});

}  // namespace tributary
