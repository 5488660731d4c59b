// SPDX-License-Identifier: Apache-2.0
#include "export/delivery_book.hpp"

namespace tributary {

std::uint64_t DeliveryBook::begin() {
    states_.push_back(static_cast<State>(copies_));
    return first_ + states_.size() - 1;
}

void DeliveryBook::delivered(std::size_t collector, const RecordEntry& record) noexcept {
    counters_.collectors[collector].records.add(record.tally());
    State& state = state_of(record);
    --state;
    if ((state & kExported) == 0) {
        state |= kExported;
        counters_.queues[record.queue].exported.add(record.tally());
    }
    forget_settled();
}

void DeliveryBook::lost(std::size_t collector, const RecordEntry& record,
                        ExportLoss cause) noexcept {
    counters_.collectors[collector].lose(cause, record.tally());
    State& state = state_of(record);
    --state;
    if (state == 0) {
        counters_.queues[record.queue].lose(cause, record.tally());
    }
    forget_settled();
}

void DeliveryBook::forget_settled() noexcept {
    while (!states_.empty() && (states_.front() & ~kExported) == 0) {
        states_.pop_front();
        ++first_;
    }
}

}  // namespace tributary
