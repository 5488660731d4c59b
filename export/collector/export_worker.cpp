// SPDX-License-Identifier: Apache-2.0
#include "export/collector/export_worker.hpp"

#include <algorithm>
#include <cstddef>

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

}  // namespace

ExportWorker::ExportWorker(const ExportOptions& options, const MeteringProcess& metering,
                           const std::vector<RecordSource*>& queues, ExportCounters& counters,
                           const CollectorEventHandler& handler, const CollectorFactory& factory)
    : queues_(queues_of(queues, metering.layouts())),
      collectors_(checked(options), metering, counters, handler, factory),
      batch_octets_(most_batch_octets(queues_)),
      batch_(std::make_unique<std::byte[]>(batch_octets_)) {}

/// @errors  ExportError
std::vector<ExportWorker::Queue> ExportWorker::queues_of(const std::vector<RecordSource*>& queues,
                                                         const std::vector<RecordLayout>& layouts) {
    std::vector<Queue> made;
    made.reserve(queues.size());
    for (RecordSource* const each : queues) {
        made.push_back({.records = each,
                        .layout = layout_index(*each, layouts),
                        .record_bytes = each->record_bytes()});
    }
    return made;
}

/// Of the largest records.
std::size_t ExportWorker::most_batch_octets(const std::vector<Queue>& queues) {
    std::size_t most = 0;
    for (const Queue& queue : queues) {
        most = std::max(most, queue.record_bytes);
    }
    return kBatchRecords * most;
}

bool ExportWorker::step(ExportTime now) {
    reserve_.fill();
    const std::uint64_t before = collectors_.progress();
    collectors_.advance(now);
    bool drained = false;
    bool all_taken = hand_on_batch(now);
    for (std::size_t visited = 0; visited < queues_.size() && all_taken && collectors_.ready();
         ++visited) {
        const std::size_t queue = first_queue_;
        first_queue_ = queue + 1 < queues_.size() ? queue + 1 : 0;
        drained = take_batch(queue) || drained;
        all_taken = hand_on_batch(now);
    }
    return drained || collectors_.progress() != before;
}

bool ExportWorker::take_batch(std::size_t queue) {
    batch_queue_ = queue;
    batch_next_ = 0;
    batch_end_ = queues_[queue].records->drain({batch_.get(), batch_octets_}, kBatchRecords);
    return batch_end_ > 0;
}

bool ExportWorker::hand_on_batch(ExportTime now) {
    if (batch_next_ == batch_end_) {
        return true;
    }
    const Queue& queue = queues_[batch_queue_];
    const CollectorGroup::Origin origin{.queue = batch_queue_, .layout = queue.layout};
    while (batch_next_ < batch_end_) {
        if (!collectors_.add(batch_.get() + batch_next_ * queue.record_bytes, origin, now)) {
            return false;
        }
        ++batch_next_;
    }
    return true;
}

bool ExportWorker::finish(ExportTime now, bool no_more) {
    const bool worked = step(now);
    return collectors_.finish(now, !worked && no_more && all_drained());
}

bool ExportWorker::all_drained() {
    for (std::size_t queue = 0; queue < queues_.size() && batch_next_ == batch_end_; ++queue) {
        take_batch(queue);
    }
    return batch_next_ == batch_end_;
}

}  // namespace tributary
