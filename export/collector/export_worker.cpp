// SPDX-License-Identifier: Apache-2.0
#include "export/collector/export_worker.hpp"

#include <utility>

#include "export/export_error.hpp"

namespace tributary {
namespace {

const ExportOptions& checked(const ExportOptions& options, const MeteringProcess& metering,
                             const std::vector<RecordSource*>& queues) {
    if (options.collectors.empty()) {
        throw ExportError("there is no collector");
    }
    for (const RecordSource* queue : queues) {
        if (queue->record_bytes() != record_size(metering.layout)) {
            throw ExportError("a queue's records are not of the size of the export fields");
        }
    }
    return options;
}

}  // namespace

ExportWorker::ExportWorker(const ExportOptions& options, const MeteringProcess& metering,
                           std::vector<RecordSource*> queues, ExportCounters& counters,
                           const CollectorEventHandler& handler)
    : collectors_(checked(options, metering, queues), metering, counters, handler),
      queues_(std::move(queues)),
      record_bytes_(record_size(metering.layout)),
      batch_(std::make_unique<std::byte[]>(kBatchRecords * record_bytes_)) {}

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
    batch_end_ =
        queues_[queue]->drain({batch_.get(), kBatchRecords * record_bytes_}, kBatchRecords);
    return batch_end_ > 0;
}

bool ExportWorker::hand_on_batch(ExportTime now) {
    while (batch_next_ < batch_end_) {
        if (!collectors_.add(batch_.get() + batch_next_ * record_bytes_, batch_queue_, now)) {
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
