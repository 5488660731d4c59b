// SPDX-License-Identifier: Apache-2.0
#include "export/export_worker.hpp"

#include <utility>

#include "export/export_error.hpp"

namespace tributary {
namespace {

const ExportOptions& checked(const ExportOptions& options, const RecordLayout& layout,
                             const std::vector<RecordSource*>& queues) {
    if (options.collectors.size() != 1) {
        throw ExportError("exactly one collector is supported, there are " +
                          std::to_string(options.collectors.size()));
    }
    for (const RecordSource* queue : queues) {
        if (queue->record_bytes() != record_size(layout)) {
            throw ExportError("a queue's records are not of the size of the export fields");
        }
    }
    return options;
}

}  // namespace

ExportWorker::ExportWorker(const ExportOptions& options, const RecordLayout& layout,
                           std::vector<RecordSource*> queues, ExportCounters& counters,
                           CollectorEventHandler handler)
    : session_(checked(options, layout, queues), layout, counters, 0, std::move(handler)),
      queues_(std::move(queues)),
      layout_(layout),
      record_bytes_(record_size(layout)),
      drain_timeout_(options.drain_timeout),
      batch_(std::make_unique<std::byte[]>(kBatchRecords * record_bytes_)) {}

bool ExportWorker::step(ExportTime now) {
    const std::uint64_t sent_before = session_.messages_sent();
    session_.advance(now);
    bool drained = false;
    bool all_encoded = encode_batch(now);
    for (std::size_t visited = 0; visited < queues_.size() && all_encoded && session_.ready();
         ++visited) {
        const std::size_t queue = first_queue_;
        first_queue_ = queue + 1 < queues_.size() ? queue + 1 : 0;
        drained = take_batch(queue) || drained;
        all_encoded = encode_batch(now);
    }
    return drained || session_.messages_sent() != sent_before;
}

bool ExportWorker::take_batch(std::size_t queue) {
    batch_queue_ = queue;
    batch_next_ = 0;
    batch_end_ =
        queues_[queue]->drain({batch_.get(), kBatchRecords * record_bytes_}, kBatchRecords);
    return batch_end_ > 0;
}

bool ExportWorker::encode_batch(ExportTime now) {
    while (batch_next_ < batch_end_) {
        if (!session_.add(batch_.get() + batch_next_ * record_bytes_, batch_queue_, now)) {
            return false;
        }
        ++batch_next_;
    }
    return true;
}

bool ExportWorker::finish(ExportTime now) {
    if (!last_progress_) {
        last_progress_ = finish_began_ = now.uptime;
    }
    const std::uint64_t sent_before = session_.messages_sent();
    const bool worked = step(now);
    if (!worked && all_drained() && session_.flush(now)) {
        return true;
    }
    if (worked || session_.messages_sent() != sent_before) {
        last_progress_ = now.uptime;
    }
    const bool stalled = now.uptime - *last_progress_ >= drain_timeout_;
    const bool too_slow = now.uptime - finish_began_ >= kSlowestDrain * drain_timeout_;
    if (!stalled && !too_slow) {
        return false;
    }
    abandon(now);
    return true;
}

bool ExportWorker::all_drained() {
    for (std::size_t queue = 0; queue < queues_.size() && batch_next_ == batch_end_; ++queue) {
        take_batch(queue);
    }
    return batch_next_ == batch_end_;
}

void ExportWorker::abandon(ExportTime now) {
    session_.abandon(now);
    for (std::size_t queue = 0; queue < queues_.size();) {
        for (; batch_next_ < batch_end_; ++batch_next_) {
            const std::byte* const record = batch_.get() + batch_next_ * record_bytes_;
            session_.lose(batch_queue_, tally_of(record, layout_));
        }
        if (!take_batch(queue)) {
            ++queue;
        }
    }
}

}  // namespace tributary
