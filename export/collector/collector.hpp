// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "export/collector_events.hpp"
#include "export/export_time.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/record_accounting.hpp"
#include "export/taken_tables.hpp"

namespace tributary {

class GroupSpool;

/// A flow record on its way to a collector.
struct RecordToSend {
    const std::byte* bytes{};  ///< aligned to 8; valid during the call
    RecordEntry entry;
    std::size_t layout{};  ///< its index in MeteringProcess
};

/// A change of a collector's options that is prepared, and may still be dropped.
struct CollectorChange {
    CollectorChange() = default;
    CollectorChange(const CollectorChange&) = delete;
    CollectorChange& operator=(const CollectorChange&) = delete;
    virtual ~CollectorChange() = default;

    bool has_read_files{};  ///< files that its options name have changed, and were read anew
};

/// Other tables of a collector that are prepared, and may still be dropped.
struct CollectorTables {
    CollectorTables() = default;
    CollectorTables(const CollectorTables&) = delete;
    CollectorTables& operator=(const CollectorTables&) = delete;
    virtual ~CollectorTables() = default;
};

/// One collector, as a CollectorGroup sees it: it takes records, and reports what became of each
/// one, once, to the RecordAccounting: delivered(), lost(), or spooled() at the end. How it sends
/// them is its own matter. MessageCollector is one that sends messages of a MessageFormat over a
/// Transport; make_collector() chooses.
///
/// No call blocks. Records wait in the collector, in a buffer of its own with a limit, until it
/// knows that they have arrived.
/// @thread  the export thread
class Collector {
public:
    Collector() = default;
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    virtual ~Collector() = default;

    /// Does all that is due, by time or by the collector: connects, sends what waits.
    virtual void advance(ExportTime now) = 0;

    // What it can do

    /// Whether there is room for the next record. Cheap: asked for each record.
    [[nodiscard]] virtual bool has_room() const noexcept = 0;
    /// It has failed for good, or was given up: records given to it are lost.
    [[nodiscard]] virtual bool is_dead() const noexcept = 0;
    /// Whether records can leave now, and the collector takes them, as far as that can be known.
    [[nodiscard]] virtual bool is_up() const noexcept = 0;
    /// Whether there is a connection, so that records may be under way. Without one, hand_back()
    /// may be called.
    [[nodiscard]] virtual bool has_session() const noexcept = 0;
    /// Whether records wait here, or are under way.
    [[nodiscard]] virtual bool is_waiting() const noexcept = 0;
    /// The same without records that only wait for more to come.
    [[nodiscard]] virtual bool has_unsent() const noexcept { return is_waiting(); }
    /// Whether it has taken nothing for Transport::kStall although records have left.
    [[nodiscard]] virtual bool has_stalled(ExportTime /*now*/) const noexcept { return false; }
    /// Whether records wait for a pace.
    [[nodiscard]] virtual bool is_held_back() const noexcept { return false; }
    /// Without room: whether that is because of the pace, and of nothing else.
    [[nodiscard]] virtual bool is_full_by_pace() const noexcept { return false; }
    /// Whether that passes soon, because the pace follows what waits.
    [[nodiscard]] virtual bool has_own_pace() const noexcept { return false; }
    /// How long it may take until a collector that takes nothing is known to refuse what has left.
    [[nodiscard]] virtual std::chrono::nanoseconds refusal_wait() const noexcept { return {}; }
    /// Octets that may wait here.
    [[nodiscard]] virtual std::size_t buffer() const noexcept = 0;

    // Records

    /// Takes a record, when it has room. One record too many does no harm, and is lost if there is
    /// no memory for it.
    virtual void add(const RecordToSend& record, ExportTime now) = 0;
    /// Takes records that were in the group's spool before. When their outcome is known, the
    /// batch's place is given up by GroupSpool::release().
    virtual void add_batch(const RecordBatch& batch, ExportTime now) = 0;
    /// Whether there is room for such a batch: the other half of the buffer is for new records.
    [[nodiscard]] virtual bool has_room_for_batch() const noexcept { return is_up() && has_room(); }
    /// Whether records are kept for other collectors, so that those can be handed back that have
    /// not arrived: in mode failover all collectors do.
    [[nodiscard]] virtual bool keeps_records() const noexcept = 0;
    /// Gives away every record that has not arrived, the oldest first, with its entry. The caller
    /// accounts for them then. Only where keeps_records(), and without a session.
    virtual void hand_back(const RecordBatchHandler& taker, ExportTime now) = 0;
    /// The same at the end, also with a session: nothing is sent any more, and all new records are
    /// lost.
    virtual void end_and_hand_back(const RecordBatchHandler& taker, ExportTime now) = 0;
    /// Copies records that wait here to the group's spool, by GroupSpool::copy(), unless they are
    /// there. Only where keeps_records().
    ///
    /// @return  false: the disk refuses some of it
    [[nodiscard]] virtual bool copy_to_spool(ExportTime now) = 0;
    /// Whether records older than the new ones are in the group's spool.
    virtual void set_older_in_spool(bool /*are_there*/) noexcept {}
    /// So many octets of new records went to the group's spool.
    virtual void note_spooled(std::size_t /*octets*/) noexcept {}

    // The connection

    /// Ends the session of a collector that has stalled. What has not arrived waits here.
    virtual void leave(ExportTime /*now*/) {}
    /// Ends a pause between two tries to connect.
    virtual void try_now() noexcept {}
    /// While a former session sends its last records to the same topic, this one sends nothing.
    virtual void let_former_go_first(bool /*goes_first*/) noexcept {}
    /// Sends what can leave now.
    virtual void send_what_can_leave(ExportTime now) = 0;

    // The end

    /// The end has begun: from now on it connects more often.
    virtual void hurry() noexcept {}
    /// The end begins: only records in rings and caches still come.
    virtual void begin_end(std::chrono::nanoseconds /*drain_timeout*/) noexcept {}
    /// Sends what waits, however little. When all records are accounted for, the last words.
    ///
    /// @return  nothing is left here
    [[nodiscard]] virtual bool flush(ExportTime now) = 0;
    /// Nothing is sent any more. All records here, and all new ones, are lost, or go to its spool.
    virtual void abandon(ExportTime now) = 0;
    /// Nothing is left here. Closes the connection, and may wait for a file to be finished.
    virtual void close() = 0;

    // Other options while the probe runs

    /// @param wanted  differs from today's options only in keys that fixed_changes() ignores, or
    ///                not at all
    /// @return        nullptr: nothing changes
    /// @errors  ExportError: these options, or files that they name, cannot be used; std::bad_alloc
    [[nodiscard]] virtual std::unique_ptr<CollectorChange> prepare_change(
        const CollectorOptions& today, const CollectorOptions& wanted) = 0;
    /// @param prepared  of this collector
    virtual void change(std::unique_ptr<CollectorChange> prepared) noexcept = 0;

    // Other tables while the probe runs

    /// Whether it may have a record of this table: in memory, or in a spool that holds anything.
    [[nodiscard]] virtual bool holds(std::size_t /*table*/) const noexcept { return is_waiting(); }
    /// As MessageFormat::prepare_tables().
    [[nodiscard]] virtual std::unique_ptr<CollectorTables> prepare_tables(
        const MeteringProcess& metering, const TableChoice& choice) = 0;
    /// @param prepared  of this collector
    virtual void take_tables(std::unique_ptr<CollectorTables> prepared) noexcept = 0;

    // What others see of it

    /// Grows with everything that arrives.
    [[nodiscard]] virtual std::uint64_t progress() const noexcept = 0;
    /// Grows with that, and with every session that begins.
    [[nodiscard]] virtual std::uint64_t signs_of_life() const noexcept { return progress(); }
    /// The log line of a final failure; empty: there was none.
    [[nodiscard]] virtual const std::string& error() const noexcept = 0;
    /// Makes the account's gauges those of this collector: another one may have set them before.
    virtual void show_state() noexcept = 0;
    /// Logs that this collector has the records from now on.
    virtual void log_takes_over(ExportTime now) = 0;
};

/// What a collector is made for. All but `option`, `account` and `group_spool` is used during
/// construction alone, except the accounting, which outlives the collector, as the spool does.
struct CollectorParts {
    const ExportOptions& options;
    std::size_t option{};  ///< index of its own options among options.collectors
    const MeteringProcess& metering;
    RecordAccounting& accounting;
    std::size_t account{};      ///< its own
    GroupSpool* group_spool{};  ///< of mode failover, whether it is on or not; otherwise nullptr
    const CollectorEventHandler& handler;

    [[nodiscard]] const CollectorOptions& collector() const noexcept {
        return options.collectors[option];
    }
};

/// Makes a collector.
/// @errors  ExportError
using CollectorFactory = std::function<std::unique_ptr<Collector>(const CollectorParts&)>;

/// A collector of the kind that its options name.
/// @errors  ExportError
[[nodiscard]] std::unique_ptr<Collector> make_collector(const CollectorParts& parts);

}  // namespace tributary
