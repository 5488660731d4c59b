// SPDX-License-Identifier: Apache-2.0
#include "export/collector/export_worker.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "export/export_error.hpp"

namespace tributary {
namespace {

const ExportOptions& checked(const ExportOptions& options) {
    if (options.collectors.empty()) {
        throw ExportError("there is no collector");
    }
    return options;
}

/// The index of a source's layout.
std::size_t layout_index(const RecordSource& source, const std::vector<RecordLayout>& layouts) {
    const std::size_t table = source.table();
    if (table >= layouts.size() || layouts[table] != source.layout()) {
        throw ExportError("a queue's records do not have the export fields");
    }
    return table;
}

/// Splits the collectors' accounts, if there is more than one table.
ExportCounters& split_by_table(ExportCounters& counters, const MeteringProcess& metering,
                               const std::vector<RecordSource*>& queues) {
    if (metering.further.empty()) {
        return counters;
    }
    if (counters.queue_tables.empty()) {
        std::vector<std::size_t> tables;
        tables.reserve(queues.size());
        for (const RecordSource* const each : queues) {
            tables.push_back(each == nullptr ? 0 : each->table());
        }
        counters.make_parts(std::move(tables), 1 + metering.further.size());
    }
    counters.split();
    return counters;
}

}  // namespace

ExportWorker::ExportWorker(const ExportOptions& options, const MeteringProcess& metering,
                           const std::vector<RecordSource*>& queues, ExportCounters& counters,
                           const CollectorEventHandler& handler, const CollectorFactory& factory)
    : counters_(counters),
      layout_(metering.layout),
      queues_(queues),
      tables_(tables_of(queues, metering.layouts())),
      collectors_(checked(options), metering, split_by_table(counters, metering, queues), handler,
                  factory) {}

/// @errors  ExportError
std::vector<ExportWorker::Table> ExportWorker::tables_of(const std::vector<RecordSource*>& queues,
                                                         const std::vector<RecordLayout>& layouts) {
    std::vector<std::vector<std::size_t>> by_layout(layouts.size());
    for (std::size_t queue = 0; queue < queues.size(); ++queue) {
        if (queues[queue] != nullptr) {
            by_layout[layout_index(*queues[queue], layouts)].push_back(queue);
        }
    }
    std::vector<Table> made;
    for (std::size_t layout = 0; layout < layouts.size(); ++layout) {
        if (by_layout[layout].empty()) {
            continue;
        }
        const std::size_t octets = record_size(layouts[layout]);
        made.push_back({.layout = layout,
                        .record_bytes = octets,
                        .queues = std::move(by_layout[layout]),
                        .batch = std::make_unique<std::byte[]>(kBatchRecords * octets)});
    }
    return made;
}

std::vector<std::string> ExportWorker::change(const ExportOptions& options,
                                              std::span<const std::size_t> accounts,
                                              const TableChange* tables) {
    if (tables == nullptr) {
        return collectors_.change(options, accounts);
    }
    std::vector<RecordLayout> layouts{layout_};
    for (const FurtherTable& table : tables->further) {
        layouts.push_back(table.layout);
    }
    std::vector<RecordSource*> queues = tables->sources;
    std::vector<Table> next = tables_of(queues, layouts);
    for (const Table& table : tables_) {
        const bool stays = std::ranges::any_of(
            table.queues, [&](std::size_t queue) { return queues[queue] == queues_[queue]; });
        if (table.batch_next < table.batch_end && !stays) {
            throw ExportError("records of a former table still wait for a collector");
        }
    }
    std::vector<std::string> with_new_files =
        collectors_.change(options, accounts, &tables->further, tables->reason);
    for (Table& table : tables_) {
        const auto same = std::ranges::find(next, table.layout, &Table::layout);
        if (same != next.end() && table.batch_next < table.batch_end) {
            same->batch.swap(table.batch);
            same->batch_queue = table.batch_queue;
            same->batch_next = table.batch_next;
            same->batch_end = table.batch_end;
        }
    }
    counters_.split();
    tables_ = std::move(next);
    queues_ = std::move(queues);
    first_table_ = 0;
    return with_new_files;
}

bool ExportWorker::holds(std::size_t table) const noexcept {
    const auto found = std::ranges::find(tables_, table, &Table::layout);
    return (found != tables_.end() && found->batch_next < found->batch_end) ||
           collectors_.holds(table);
}

bool ExportWorker::step(ExportTime now) {
    reserve_.fill();
    const std::uint64_t before = collectors_.progress();
    collectors_.advance(now);
    bool drained = false;
    std::size_t next = first_table_;
    for (std::size_t stepped = 0; stepped < tables_.size(); ++stepped) {
        drained = step(tables_[next], now) || drained;
        next = next + 1 < tables_.size() ? next + 1 : 0;
    }
    first_table_ = first_table_ + 1 < tables_.size() ? first_table_ + 1 : 0;
    return drained || collectors_.progress() != before;
}

/// @return  a queue had records
bool ExportWorker::step(Table& table, ExportTime now) {
    bool drained = false;
    bool all_taken = hand_on_batch(table, now);
    for (std::size_t visited = 0;
         visited < table.queues.size() && all_taken && collectors_.ready(table.layout); ++visited) {
        const std::size_t queue = table.queues[table.first];
        table.first = table.first + 1 < table.queues.size() ? table.first + 1 : 0;
        drained = take_batch(table, queue) || drained;
        all_taken = hand_on_batch(table, now);
    }
    return drained;
}

bool ExportWorker::take_batch(Table& table, std::size_t queue) {
    table.batch_queue = queue;
    table.batch_next = 0;
    table.batch_end = queues_[queue]->drain({table.batch.get(), kBatchRecords * table.record_bytes},
                                            kBatchRecords);
    return table.batch_end > 0;
}

/// @return  false: some records were not taken, and stay in the batch
bool ExportWorker::hand_on_batch(Table& table, ExportTime now) {
    const CollectorGroup::Origin origin{.queue = table.batch_queue, .layout = table.layout};
    while (table.batch_next < table.batch_end) {
        if (!collectors_.add(table.batch.get() + table.batch_next * table.record_bytes, origin,
                             now)) {
            return false;
        }
        ++table.batch_next;
    }
    return true;
}

bool ExportWorker::finish(ExportTime now, bool no_more) {
    const bool worked = step(now);
    return collectors_.finish(now, !worked && no_more && all_drained());
}

bool ExportWorker::all_drained() {
    bool are_all = true;
    for (Table& table : tables_) {
        for (std::size_t place = 0;
             place < table.queues.size() && table.batch_next == table.batch_end; ++place) {
            take_batch(table, table.queues[place]);
        }
        are_all = are_all && table.batch_next == table.batch_end;
    }
    return are_all;
}

}  // namespace tributary
