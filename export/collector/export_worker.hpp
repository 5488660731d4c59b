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

/// Drains the queues' record rings into IPFIX messages for the collectors. While no collector can
/// take records, it drains nothing: they wait in the rings, and behind them in the caches. Memory
/// refused by the system has the effect of a full buffer.
/// @thread  the export thread, construction apart
class ExportWorker {
public:
    static constexpr std::size_t kBatchRecords = 256;

    /// @param metering  describes the process that fills the queues
    /// @param queues    one source per queue, of metering's layouts; they outlive the worker
    /// @param counters  outlive the worker; with as many queues as there are here, and at least as
    /// many collectors
    /// @param handler   gets the events of the collectors; may be empty
    /// @param factory   makes the collectors
    /// @errors  ExportError: no collector, a file cannot be created, a source address is unusable,
    ///          or a source has a layout that metering does not have
    ExportWorker(const ExportOptions& options, const MeteringProcess& metering,
                 const std::vector<RecordSource*>& queues, ExportCounters& counters,
                 const CollectorEventHandler& handler,
                 const CollectorFactory& factory = make_collector);

    /// Changes the options of the export; see CollectorGroup::change().
    ///
    /// @return  collectors whose TLS files were read anew
    /// @errors  ExportError: nothing has changed
    std::vector<std::string> change(const ExportOptions& options,
                                    std::span<const std::size_t> accounts) {
        return collectors_.change(options, accounts);
    }
    /// Connects to absent collectors at once.
    void try_now() noexcept { collectors_.try_now(); }
    [[nodiscard]] bool is_retiring() const noexcept { return collectors_.is_retiring(); }
    /// Takes at most kBatchRecords records from each queue, and sends what is due.
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
    struct Queue {
        RecordSource* records;
        std::size_t layout;  ///< index in MeteringProcess
        std::size_t record_bytes;
    };

    [[nodiscard]] static std::vector<Queue> queues_of(const std::vector<RecordSource*>& queues,
                                                      const std::vector<RecordLayout>& layouts);
    [[nodiscard]] static std::size_t most_batch_octets(const std::vector<Queue>& queues);
    [[nodiscard]] bool hand_on_batch(ExportTime now);
    bool take_batch(std::size_t queue);
    [[nodiscard]] bool all_drained();

    MemoryReserve reserve_;  ///< of the export thread
    std::vector<Queue> queues_;
    CollectorGroup collectors_;
    std::size_t batch_octets_;            ///< room for kBatchRecords of any queue
    std::unique_ptr<std::byte[]> batch_;  ///< records of one queue
    std::size_t batch_queue_{};
    std::size_t batch_next_{};  ///< records before this one are handed on
    std::size_t batch_end_{};
    std::size_t first_queue_{};  ///< where the next round begins
};

}  // namespace tributary
