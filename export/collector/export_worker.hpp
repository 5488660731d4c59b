// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "export/collector/collector.hpp"
#include "export/collector/collector_group.hpp"
#include "export/collector_events.hpp"
#include "export/export_counters.hpp"
#include "export/export_time.hpp"
#include "export/memory_reserve.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/record_stream.hpp"

namespace tributary {

/// Other further tables, while records are exported.
struct TableChange {
    std::vector<FurtherTable> further;  ///< by place, no fewer than before
    /// As many as at the start, each of the same table as the one at its place then, if there was
    /// one; nullptr: there is none now.
    std::vector<RecordSource*> sources;
    ChangeReason reason = ChangeReason::reload;
};

/// Drains the queues' record rings into IPFIX messages for the collectors. While no collector can
/// take the records of a table, its rings are not drained: they wait there, and behind them in the
/// caches. Those of other tables go on. Memory refused by the system has the effect of a full
/// buffer.
/// @thread  the export thread, construction apart
class ExportWorker {
public:
    static constexpr std::size_t kBatchRecords = 256;

    /// @param metering  describes the process that fills the queues
    /// @param queues    one source per queue, of metering's layouts, which outlive the worker, or
    ///                  the change that removes them; nullptr: it may come by a change
    /// @param counters  outlive the worker; with as many queues as there are here, and at least as
    /// many collectors. Where metering has further tables, they are split by table here, otherwise
    /// by the first change() of tables, for which ExportCounters::make_parts() was called
    /// @param handler   gets the events of the collectors; may be empty
    /// @param factory   makes the collectors
    /// @errors  ExportError: no collector, a file cannot be created, a source address is unusable,
    ///          or a source has a layout that metering does not have
    ExportWorker(const ExportOptions& options, const MeteringProcess& metering,
                 const std::vector<RecordSource*>& queues, ExportCounters& counters,
                 const CollectorEventHandler& handler,
                 const CollectorFactory& factory = make_collector);

    /// Changes the options of the export, and the further tables; see CollectorGroup::change().
    ///
    /// @param tables  nullptr: they stay. The sources of a table that goes are empty
    /// @return  collectors whose TLS files were read anew
    /// @errors  ExportError: nothing has changed; std::bad_alloc, likewise
    std::vector<std::string> change(const ExportOptions& options,
                                    std::span<const std::size_t> accounts,
                                    const TableChange* tables = nullptr);
    /// Whether records of a table that were drained from its sources may be here, as
    /// CollectorGroup::holds() has it.
    ///
    /// @param table  its index
    [[nodiscard]] bool holds(std::size_t table) const noexcept;
    /// Connects to absent collectors at once.
    void try_now() noexcept { collectors_.try_now(); }
    [[nodiscard]] bool is_retiring() const noexcept { return collectors_.is_retiring(); }
    /// Takes at most kBatchRecords records from each queue, and sends what is due. The tables take
    /// turns in being the first, so that none has all the room that collectors have.
    ///
    /// @return  false: there was nothing to do
    /// @cost    at most one batch per queue; never blocks on a socket
    bool step(ExportTime now);
    /// The end: drains, flushes, and gives up collectors that have taken nothing for drain_timeout.
    /// What is left for these is counted as lost. Call it until it returns true.
    ///
    /// @param no_more  no queue gets records any more, and the numbers in options records are final
    [[nodiscard]] bool finish(ExportTime now, bool no_more = true);
    /// From now on finish() waits for no collector.
    void end_now() noexcept { collectors_.end_now(); }
    /// Whether all that is left waits for a pace.
    [[nodiscard]] bool is_held_back() const noexcept { return collectors_.is_held_back(); }
    /// The end, after finish(): connections and files are closed. May wait for files to be
    /// finished.
    void close() { collectors_.close(); }
    /// The log line of a final failure of all collectors (files that cannot be written); empty:
    /// there was none. After it, all further records are counted as lost.
    [[nodiscard]] std::string error() const { return collectors_.error(); }

private:
    /// The queues of one table, and the batch that was taken last from one of them.
    struct Table {
        std::size_t layout;  ///< index in MeteringProcess
        std::size_t record_bytes;
        std::vector<std::size_t> queues{};     ///< their indexes
        std::size_t first{};                   ///< of these: where the next round begins
        std::unique_ptr<std::byte[]> batch{};  ///< room for kBatchRecords
        std::size_t batch_queue{};             ///< its index
        std::size_t batch_next{};              ///< records before this one are handed on
        std::size_t batch_end{};
    };

    [[nodiscard]] static std::vector<Table> tables_of(const std::vector<RecordSource*>& queues,
                                                      const std::vector<RecordLayout>& layouts);
    [[nodiscard]] bool step(Table& table, ExportTime now);
    [[nodiscard]] bool hand_on_batch(Table& table, ExportTime now);
    bool take_batch(Table& table, std::size_t queue);
    [[nodiscard]] bool all_drained();

    MemoryReserve reserve_;  ///< of the export thread
    ExportCounters& counters_;
    RecordLayout layout_;                ///< of the first table
    std::vector<RecordSource*> queues_;  ///< nullptr: there is none at present
    std::vector<Table> tables_;          ///< that have queues
    CollectorGroup collectors_;
    std::size_t first_table_{};  ///< of tables_: the first one of the next step
};

}  // namespace tributary
