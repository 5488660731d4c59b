// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "export/collector/collector.hpp"
#include "export/collector_events.hpp"
#include "export/export_time.hpp"
#include "export/message_stages.hpp"
#include "export/options.hpp"
#include "export/record_accounting.hpp"
#include "export/spool/spool_fingerprints.hpp"
#include "export/spool/spool_queue.hpp"
#include "export/taken_tables.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Mode failover: records on disk while no collector can take them. Which collector will get them
/// is not known, so they are not encoded as messages: they lie there in the cache's format, in
/// batches of one layout, with its fingerprint. The first collector that is reached gets them, the
/// oldest first.
///
///     add() -> batch --write()--> SpoolQueue --send_to()--> a collector
///                 `--------------------------------------^    where nothing older is on the disk
///
/// A batch stays on the disk until the last message with a record of it is settled: it has arrived,
/// is lost, or was copied. So a process that is killed loses no record of a batch, though those
/// that had arrived come again. When the first batch goes to the disk, records that wait in a
/// collector's memory are copied there too.
/// @thread  the export thread
class GroupSpool {
    /// The records of one layout.
    struct Kind {
        RecordLayout layout;
        std::size_t record_bytes{};
        OutgoingMessage batch{};  ///< before write(); memory is kept
    };

public:
    /// Octets of records in a batch, at the most.
    static constexpr std::size_t kBatchOctets = 32'768;

    /// @param options  of the group; there may be no spool
    /// @param metering  has the layouts and keys of the records
    /// @errors         ExportError: the spool cannot be used
    GroupSpool(const ExportOptions& options, const MeteringProcess& metering,
               RecordAccounting& accounting, CollectorEventHandler handler);

    [[nodiscard]] bool is_on() const noexcept { return spool_queue_.is_on(); }
    /// Whether there is a spool, and its disk has not just refused a write.
    [[nodiscard]] bool takes_records() const noexcept { return spool_queue_.takes_messages(); }
    /// Whether records wait here.
    [[nodiscard]] bool holds_records() const noexcept {
        return holds_on_disk() || next_batch() != nullptr;
    }
    /// Whether records wait on the disk.
    [[nodiscard]] bool holds_on_disk() const noexcept { return spool_queue_.holds_messages(); }
    /// The spool may take so many octets from now on.
    void set_max_octets(std::uint64_t octets) noexcept { spool_queue_.set_max_octets(octets); }
    /// A collector's records that wait: writes them, and sets their place, with which it gives up
    /// the one before. They stay with it.
    ///
    /// @return  false: the disk refuses it
    [[nodiscard]] bool copy(RecordBatch& batch, ExportTime now);
    /// A collector makes one more message of a batch: until release() was called for it, too, the
    /// batch stays on the disk.
    ///
    /// @return  the message's place; nothing: there is no memory to note that
    [[nodiscard]] std::optional<SpoolPlace> share(const SpoolPlace& place) noexcept;
    /// The outcome of a collector's records is known: gives up their place.
    void release(RecordBatch& batch) noexcept;

    /// Does all that is due by time, except write().
    void advance(ExportTime now) {
        events_.advance(now.uptime);
        spool_queue_.advance(now);
    }
    /// Logs that no collector can be reached.
    void log_none_reached(ExportTime now) noexcept {
        events_.report(CollectorEventKind::none_reached, now.uptime, {});
    }
    [[nodiscard]] bool has_room(std::size_t layout) const noexcept {
        const Kind& kind = kinds_[layout];
        return kind.batch.records.size() + kind.record_bytes <= kBatchOctets;
    }
    /// What prepare_tables() has made.
    struct Tables {
        std::vector<Kind> kinds;
        TakenTables staying;
        SpoolFingerprints content;
    };
    /// As MessageFormat::prepare_tables(), of all tables.
    [[nodiscard]] std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                         const TakenTables& staying) const;
    void take_tables(std::unique_ptr<Tables> prepared) noexcept;
    /// Whether records of a table may be here; true while any are on the disk.
    [[nodiscard]] bool holds(std::size_t table) const noexcept {
        return holds_on_disk() || kept_.octets() > 0 || !kinds_[table].batch.entries.empty();
    }

    /// Takes a record; only where has_room().
    void add(const RecordToSend& record, ExportTime now) noexcept;
    /// Whether a batch has waited longer than a message would.
    [[nodiscard]] bool is_due(ExportTime now) const noexcept;
    /// Writes the batches. The records in the collectors' memory must have been copied.
    ///
    /// @return  false: the disk refuses some of it, which is still here
    [[nodiscard]] bool write(ExportTime now);
    /// Gives the oldest batch to a collector.
    ///
    /// @return  its octets; 0: there is none, or no memory for it
    [[nodiscard]] std::size_t send_to(Collector& collector, ExportTime now);
    /// Takes over a batch that a collector has given back.
    void take_back(RecordBatch& batch, ExportTime now);
    /// The end: all that is here stays here for the next process; records that the disk refuses are
    /// lost.
    void keep_for_next_process(ExportTime now);
    /// After that, when nothing more happens: logs the last lines.
    void close() noexcept { events_.end(); }

private:
    [[nodiscard]] std::vector<Kind> make_kinds(const MeteringProcess& metering,
                                               const TakenTables& staying) const;
    [[nodiscard]] const Kind* next_batch() const noexcept;
    [[nodiscard]] std::optional<OutgoingMessage> take(ExportTime now);
    [[nodiscard]] bool make_entries(OutgoingMessage& batch) const;
    void note_latest_end(RecordBatch& batch) const noexcept;
    [[nodiscard]] bool store(OutgoingMessage& batch, ExportTime now);
    void hand_over(const RecordBatch& batch, Collector& collector, ExportTime now);
    [[nodiscard]] bool keep(OutgoingMessage& batch);
    void store_again(OutgoingMessage& batch, ExportTime now);
    [[nodiscard]] std::size_t find_shared(const SpoolPlace& place) const noexcept;

    std::chrono::nanoseconds flush_interval_;
    RecordAccounting& accounting_;
    CollectorEvents events_;
    SpoolQueue spool_queue_;
    std::vector<Kind> kinds_;  ///< by layout
    MessageStages kept_;       ///< given back, and on the disk

    /// A batch that several messages were made of.
    struct SharedBatch {
        SpoolPlace place;
        std::size_t others{};  ///< messages with this place beside one
    };
    std::vector<SharedBatch> shared_;  ///< in the order in which they were handed over
};

}  // namespace tributary
