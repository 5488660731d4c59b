// SPDX-License-Identifier: Apache-2.0
// A session and the spools: the collector's own, and that of its group.
#include <algorithm>
#include <optional>

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
        if (encoder_.announce_for(message->octets) != message->data_records) {
            spool_queue_.refuse(*message, now);
            continue;
        }
        messages_.add_last(messages_.waiting, *message);
    }
}

void MessageCollector::begin_batch(ExportTime now) {
    if (!open_.entries.empty()) {
        close_message(now);
    }
    is_in_batch_ = true;
}

void MessageCollector::end_batch(const std::optional<SpoolPlace>& place, ExportTime now) noexcept {
    if (place) {
        open_.place = SpoolPlace{.file = place->file, .at = place->at, .is_shared = true};
    }
    if (!open_.entries.empty()) {
        close_message(now);
    } else {
        release(open_);  // its last records could not be encoded
    }
    is_in_batch_ = false;
}

bool MessageCollector::copy_to_spool(ExportTime now) {
    if (!open_.entries.empty()) {
        close_message(now);
    }
    const auto copy = [&](OutgoingMessage& message) {
        if (message.place || message.entries.empty()) {
            return true;
        }
        const std::uint32_t sent_records = message.data_records;
        message.data_records = static_cast<std::uint32_t>(message.entries.size());
        message.octets.swap(message.records);  // the group's spool stores these
        const bool is_copied = group_spool_->copy(message, now);
        message.octets.swap(message.records);
        message.data_records = sent_records;
        return is_copied;
    };
    return std::ranges::all_of(messages_.oldest_first(), [&](MessageStages::Stage* stage) {
        return std::ranges::all_of(*stage, copy);
    });
}

/// Gives up the message's place on the disk: in this collector's spool, or in that of the group.
void MessageCollector::release(OutgoingMessage& message) noexcept {
    if (group_spool_ != nullptr) {
        group_spool_->release(message);
    } else {
        spool_queue_.release(message);
    }
}

}  // namespace tributary
