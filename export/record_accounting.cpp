// SPDX-License-Identifier: Apache-2.0
#include "export/record_accounting.hpp"

namespace tributary {

/// A block has records with states only, or records without only.
void RecordAccounting::set_copies(std::size_t most_copies) noexcept {
    const std::uint64_t begun = next_ % kBlockRecords;
    const auto block = blocks_.find(next_ / kBlockRecords);
    if (begun != 0) {
        next_ += kBlockRecords - begun;
    }
    if (block != blocks_.end()) {
        block->second.unsettled -= kBlockRecords - begun;
        if (block->second.unsettled == 0) {
            blocks_.erase(block);
        }
    }
    most_copies_ = most_copies;
}

/// Gives the next record its state.
void RecordAccounting::note_copies(std::size_t copies) {
    blocks_[next_ / kBlockRecords].states[next_ % kBlockRecords] = static_cast<State>(copies);
}

void RecordAccounting::delivered(std::size_t collector, const RecordEntry& record) noexcept {
    CollectorCounters& own = account(collector);
    own.records.add(record.tally());
    if (CollectorTableCounters* const part = table_part(own, record.queue)) {
        part->records.add(record.tally());
    }
    if (is_own(record) && (settle_copy(record.number, kExported).before & kExported) == 0) {
        counters_.queues[record.queue].exported.add(record.tally());
    }
}

void RecordAccounting::lost(std::size_t collector, const RecordEntry& record,
                            ExportLoss cause) noexcept {
    lose_copy(collector, record.queue, record.tally(), cause);
    if (!is_own(record)) {
        return;
    }
    const State after = settle_copy(record.number, 0).after;
    if (after == 0) {
        counters_.queues[record.queue].lose(cause, record.tally());
    }
    count_if_spooled(after, record);
}

/// Counts what a collector will not get.
///
/// @param queue  of the records, or kNoQueue
void RecordAccounting::lose_copy(std::size_t collector, std::size_t queue, const RecordTally& tally,
                                 ExportLoss cause) noexcept {
    CollectorCounters& own = account(collector);
    own.lose(cause, tally);
    if (CollectorTableCounters* const part = table_part(own, queue)) {
        part->lost.add(tally);
    }
}

/// Counts what stays in a collector's spool.
void RecordAccounting::spool_copy(std::size_t collector, std::size_t queue,
                                  const RecordTally& tally) noexcept {
    CollectorCounters& own = account(collector);
    own.spooled.add(tally);
    if (CollectorTableCounters* const part = table_part(own, queue)) {
        part->spooled.add(tally);
    }
}

void RecordAccounting::spooled(std::size_t collector, const RecordEntry& record) noexcept {
    spool_copy(collector, record.queue, record.tally());
    if (is_own(record)) {
        count_if_spooled(settle_copy(record.number, kSpooled).after, record);
    }
}

void RecordAccounting::lost(std::size_t collector, std::span<const RecordEntry> records,
                            const RecordTally& inherited, ExportLoss cause) noexcept {
    for (const RecordEntry& record : records) {
        lost(collector, record, cause);
    }
    account(collector).lose(cause, inherited);
}

void RecordAccounting::lost(std::size_t collector, const UnreadRecords& records,
                            ExportLoss cause) noexcept {
    for (std::size_t queue = 0; queue < records.queues.size(); ++queue) {
        lose_copy(collector, queue, records.queues[queue], cause);
    }
    const Last last = settle_copies(records, 0);
    if (last.are_all && !last.lie_in_another_spool && !unread_loss_) {
        for (std::size_t queue = 0; queue < records.queues.size(); ++queue) {
            counters_.queues[queue].lose(cause, records.queues[queue]);
        }
    } else if (last.are_some || last.lie_in_another_spool) {
        unread_loss_ = cause;  // its queue and packets are not known yet
    }
}

void RecordAccounting::spooled(std::size_t collector, const UnreadRecords& records) noexcept {
    for (std::size_t queue = 0; queue < records.queues.size(); ++queue) {
        spool_copy(collector, queue, records.queues[queue]);
    }
    const Last last = settle_copies(records, kSpooled);
    if (last.are_all) {
        for (std::size_t queue = 0; queue < records.queues.size(); ++queue) {
            counters_.queues[queue].spooled.add(records.queues[queue]);
        }
    } else if (last.are_some) {
        has_unread_spooled_ = true;
    }
}

/// Takes one copy of each of these records off.
RecordAccounting::Last RecordAccounting::settle_copies(const UnreadRecords& records,
                                                       State add) noexcept {
    std::uint64_t all = 0;
    for (const RecordTally& queue : records.queues) {
        all += queue.records;
    }
    std::uint64_t last = all;
    bool lie_in_another_spool = false;
    for (const auto& [first, end] : records.numbers) {
        for (std::uint64_t number = first; number < end; ++number) {
            const State after = settle_copy(number, add).after;
            // Another copy is under way, or has arrived, and has the record's account with it.
            last -= (after & (kExported | kUnderWay)) != 0 ? 1 : 0;
            lie_in_another_spool = lie_in_another_spool || (add == 0 && after == kSpooled);
        }
    }
    return {.are_all = last == all && !records.lacks_numbers,
            .are_some = last > 0,
            .lie_in_another_spool = lie_in_another_spool};
}

void RecordAccounting::settle_unread() noexcept {
    for (std::size_t queue = 0; queue < begun_.size(); ++queue) {
        if (unread_loss_) {
            counters_.queues[queue].lose(*unread_loss_, unaccounted(queue));
        } else if (has_unread_spooled_) {
            counters_.queues[queue].spooled.add(unaccounted(queue));
        }
    }
    unread_loss_.reset();
    has_unread_spooled_ = false;
}

/// Records that were begun, and are neither exported, lost nor spooled.
RecordTally RecordAccounting::unaccounted(std::size_t queue) const noexcept {
    const QueueExportCounters& counters = counters_.queues[queue];
    RecordTally known = counters.exported.read();
    known += counters.spooled.read();
    for (const RecordCounter& cause : counters.lost) {
        known += cause.read();
    }
    const RecordTally& begun = begun_[queue];
    return {begun.records - known.records, begun.packets - known.packets,
            begun.octets - known.octets};
}

/// Counts a record as spooled if no copy is under way any more, one is in a spool, and no collector
/// has the record.
void RecordAccounting::count_if_spooled(State state, const RecordEntry& record) noexcept {
    if (state == kSpooled) {
        counters_.queues[record.queue].spooled.add(record.tally());
    }
}

RecordAccounting::Change RecordAccounting::settle_copy(std::uint64_t number, State add) noexcept {
    const auto block = blocks_.empty() ? blocks_.end() : blocks_.find(number / kBlockRecords);
    if (block == blocks_.end()) {
        return {.before = 1, .after = add};
    }
    State& state = block->second.states[number % kBlockRecords];
    const State before = state;
    state = static_cast<State>((before - 1) | add);
    const State after = state;
    if ((after & kUnderWay) == 0) {
        --block->second.unsettled;
        if (block->second.unsettled == 0) {
            blocks_.erase(block);
        }
    }
    return {.before = before, .after = after};
}

}  // namespace tributary
