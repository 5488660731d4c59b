// SPDX-License-Identifier: Apache-2.0
#include "export/collector/group_spool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "export/spool/spooled_records.hpp"

namespace tributary {

GroupSpool::GroupSpool(const ExportOptions& options, const RecordLayout& layout,
                       RecordAccounting& accounting, CollectorEventHandler handler)
    : layout_(layout),
      record_bytes_(record_size(layout)),
      flush_interval_(options.flush_interval),
      accounting_(accounting),
      events_("failover", accounting.account(kGroupSpool), std::move(handler)),
      spool_queue_(options.spool, kGroupSpool,
                   {.fingerprint = fingerprint_of(layout), .record_bytes = record_bytes_},
                   accounting, events_) {
    if (is_on()) {
        batch_.records.reserve(kBatchOctets);
        batch_.entries.reserve(kBatchOctets / record_bytes_);
    }
}

void GroupSpool::add(const RecordToSend& record, ExportTime now) noexcept {
    if (batch_.entries.empty()) {
        batch_.opened_at = now.uptime;
    }
    batch_.entries.push_back(record.entry);
    batch_.records.insert(batch_.records.end(), record.bytes, record.bytes + record_bytes_);
    batch_.latest_end = std::max(batch_.latest_end, latest_packet(record.bytes, layout_));
    accounting_.stored(record.entry);
}

bool GroupSpool::is_due(ExportTime now) const noexcept {
    return !batch_.entries.empty() &&
           now.uptime - batch_.opened_at.value_or(now.uptime) >= flush_interval_;
}

bool GroupSpool::write(ExportTime now) {
    if (batch_.entries.empty()) {
        return true;
    }
    batch_.data_records = static_cast<std::uint32_t>(batch_.entries.size());
    batch_.octets.swap(batch_.records);  // the spool writes from there
    const bool is_stored = spool_queue_.store(batch_, now);
    batch_.octets.swap(batch_.records);
    return is_stored;
}

std::size_t GroupSpool::send_to(MessageCollector& collector, ExportTime now) {
    if (!holds_on_disk()) {
        const std::size_t octets = batch_.records.size();
        hand_over(batch_, batch_.records, collector, now);
        batch_.clear();
        return octets;
    }
    const std::optional<OutgoingMessage> batch = take(now);
    if (!batch) {
        return 0;
    }
    hand_over(*batch, batch->octets, collector, now);
    return batch->octets.size();
}

/// The oldest batch on the disk that can be sent. Nothing: there is none, or no memory for it.
std::optional<OutgoingMessage> GroupSpool::take(ExportTime now) {
    while (holds_on_disk()) {
        std::optional<OutgoingMessage> batch = spool_queue_.take(now);
        if (!batch || make_entries(*batch)) {
            return batch;
        }
        spool_queue_.refuse(*batch, now);
    }
    return std::nullopt;
}

/// A former process's records have no entries yet. Without memory for them, or if the octets are no
/// records, they are lost: they can be read from the disk only once.
///
/// @return  false: they are no records
bool GroupSpool::make_entries(OutgoingMessage& batch) const {
    if (!batch.entries.empty()) {
        return batch.entries.size() * record_bytes_ == batch.octets.size();
    }
    if (tally_of_all(batch.octets, layout_) != batch.inherited) {
        return false;
    }
    try {
        batch.entries.reserve(batch.data_records);
    } catch (const std::bad_alloc&) {
        return false;
    }
    for (std::size_t at = 0; at < batch.octets.size(); at += record_bytes_) {
        const RecordTally tally = tally_of(batch.octets.data() + at, layout_);
        batch.entries.push_back({.number = kNoQueue,
                                 .queue = kNoQueue,
                                 .packets = tally.packets,
                                 .octets = tally.octets});
    }
    batch.inherited = {};
    return true;
}

/// @param records  of the batch
void GroupSpool::hand_over(const OutgoingMessage& batch, std::span<const std::byte> records,
                           MessageCollector& collector, ExportTime now) {
    collector.begin_batch(now);
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
        accounting_.handed_over(batch.entries[i]);
        collector.add({.bytes = records.data() + i * record_bytes_, .entry = batch.entries[i]},
                      now);
    }
    collector.end_batch(batch.place, now);
}

void GroupSpool::take_back(MessageStages::Stage messages, ExportTime now) {
    while (!messages.empty()) {
        OutgoingMessage& message = messages.front();
        for (const RecordEntry& entry : message.entries) {
            accounting_.stored(entry);
        }
        message.octets.swap(message.records);
        message.data_records = static_cast<std::uint32_t>(message.entries.size());
        if (message.place && !message.place->is_shared && spool_queue_.is_kept(*message.place)) {
            kept_.waiting.splice(kept_.waiting.end(), messages, messages.begin());
            continue;
        }
        store_again(message, now);
        messages.pop_front();
    }
}

/// A place shared with messages that have arrived is not kept: the next process would send these
/// once more.
void GroupSpool::store_again(OutgoingMessage& message, ExportTime now) {
    OutgoingMessage former;
    former.place = std::exchange(message.place, std::nullopt);
    if (!message.entries.empty() && !spool_queue_.store(message, now)) {
        accounting_.lost(kGroupSpool, message.entries, {}, ExportLoss::write_failed);
    }
    spool_queue_.release(former);
}

void GroupSpool::keep_for_next_process(ExportTime now) {
    if (!is_on()) {
        return;
    }
    if (!write(now)) {
        accounting_.lost(kGroupSpool, batch_.entries, {}, ExportLoss::write_failed);
        batch_.clear();
    }
    spool_queue_.keep_for_next_process(kept_, now);
}

}  // namespace tributary
