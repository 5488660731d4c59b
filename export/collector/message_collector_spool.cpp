// SPDX-License-Identifier: Apache-2.0
// A session and the spools: the collector's own, and that of its group.
#include <algorithm>
#include <optional>

#include "export/collector/group_spool.hpp"
#include "export/collector/message_collector.hpp"

namespace tributary {

/// Takes messages back from the spool as long as there is room for them. A message that was taken
/// has the only account of its records, so nothing may fail from there on.
void MessageCollector::refill(ExportTime now) {
    const auto has_memory = [this] {
        return messages_.octets() == 0 || !MemoryReserve::is_given_out();
    };
    while (spool_queue_.holds_messages() && messages_.octets() < buffer_ / 2 && has_memory() &&
           refilled_octets_ < buffer_ / 2 &&  // other collectors and the rings wait meanwhile
           messages_.make_room()) {
        std::optional<OutgoingMessage> message = spool_queue_.take(now);
        if (!message) {
            return;
        }
        refilled_octets_ += message->octets.size();
        if (!format_->readmit(*message)) {
            spool_queue_.refuse(*message, now);
            continue;
        }
        messages_.add_last(messages_.waiting, *message);
    }
}

void MessageCollector::add_batch(const RecordBatch& batch, ExportTime now) {
    OutgoingMessage& open = open_[batch.layout];
    if (!open.entries.empty()) {
        close_message(open, now);
    }
    is_in_batch_ = true;
    batch_place_ = batch.place;
    const std::size_t octets = kept_octets_[batch.layout];
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
        add({.bytes = batch.records.data() + i * octets,
             .entry = batch.entries[i],
             .layout = batch.layout},
            now);
    }
    // Its last message takes the batch's own place.
    batch_place_.reset();
    if (batch.place) {
        open.place = batch.place;
        open.place->has_more = batch.place->has_more || open.entries.size() < batch.entries.size();
    }
    if (!open.entries.empty()) {
        close_message(open, now);
    } else {
        release(open);  // there was no memory for its last records
    }
    is_in_batch_ = false;
}

/// A message whose place has more records than the message is copied, too, and gives the place up:
/// the others have arrived, or are in messages that are copied as well. With both on the disk, the
/// next process would send them twice.
bool MessageCollector::copy_to_spool(ExportTime now) {
    close_all(now);
    const auto copy = [&](OutgoingMessage& message) {
        const bool is_there = message.place && !message.place->has_more;
        return is_there || message.entries.empty() || group_spool_->copy(message, now);
    };
    return std::ranges::all_of(messages_.oldest_first(), [&](MessageStages::Stage* stage) {
        return std::ranges::all_of(*stage, copy);
    });
}

/// Gives up the message's place on the disk: in this collector's spool, or in that of the group.
void MessageCollector::release(RecordBatch& message) noexcept {
    if (group_spool_ != nullptr) {
        group_spool_->release(message);
    } else {
        spool_queue_.release(message);
    }
}

}  // namespace tributary
