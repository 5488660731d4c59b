// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "export/collector/collector.hpp"
#include "export/export_counters.hpp"
#include "export/export_time.hpp"
#include "export/message.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/record_accounting.hpp"

namespace tributary {

/// Hands records as IPFIX messages, templates first, to a function of the caller's: a collector of
/// one session, whose transport is that function.
/// @thread  any one
class RecordWriter {
public:
    /// @param message  whole
    /// @return  false: no more messages
    using Write = std::function<bool(MessageView message)>;

    /// Of records of the main table.
    ///
    /// @param options  of the export: how records are encoded
    /// @errors  ExportError
    RecordWriter(const ExportOptions& options, const RecordLayout& layout, Write write);
    /// Of records of another table, with the types of its elements.
    RecordWriter(const ExportOptions& options, const FurtherTable& table, Write write);

    /// @param records  whole ones of the layout, back to back, aligned to 8
    /// @return  false: `write` has returned false; the remaining records are discarded
    [[nodiscard]] bool add(std::span<const std::byte> records, Timestamp now);
    /// Writes what is left.
    void end(Timestamp now);

private:
    RecordWriter(ExportOptions options, MeteringProcess metering, std::size_t table, Write write);

    ExportOptions options_;
    MeteringProcess metering_;
    std::size_t table_;  ///< of the records: its index in metering_
    RecordLayout layout_;
    CollectorEventHandler no_handler_;
    ExportCounters counters_{0, 1};
    RecordAccounting accounting_{counters_, 1};
    bool is_over_{};  ///< `write` has returned false
    std::unique_ptr<Collector> collector_;
};

}  // namespace tributary
